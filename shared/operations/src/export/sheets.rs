//! The columns of each list that can be had as a spreadsheet.

use super::sheet::CellForm::{Count, Json, Plain, Time};
use super::sheet::{CellForm, Column, Named, Sheet};

const fn column(name: &'static str, at: &'static [&'static str], form: CellForm) -> Column {
    Column { name, at, form }
}

/// What is counted by name, wherever it is told.
const KINDS: &[(&str, &str)] = &[
    ("budget", "/budgets"),
    ("limit", "/limits"),
    ("meter", "/meters"),
    ("guard", "/guards"),
    ("overload", "/overload"),
];

const WEIGHT: Column = column("weight", &["/weight"], Plain);
const GUARANTEE: Column = column("guarantee_units", &["/guarantee"], Plain);
const ADMITTED_CALLS: Column = column(
    "admitted_calls",
    &["/total/admitted_calls", "/admitted_calls", "/allowed"],
    Count,
);
const USED_UNITS: Column = column(
    "used_units",
    &["/total/admitted_units", "/admitted_units"],
    Count,
);
const RESERVED_UNITS: Column = column(
    "reserved_units",
    &["/total/reserved_units", "/reserved_units"],
    Count,
);
const BORROWED_UNITS: Column = column(
    "borrowed_units",
    &["/total/borrowed_units", "/borrowed_units"],
    Count,
);
const DENIED_CALLS: Column = column(
    "denied_calls",
    &["/total/denied_calls", "/denied_calls"],
    Count,
);
const DENIED_UNITS: Column = column(
    "denied_units",
    &["/total/denied_units", "/denied_units"],
    Count,
);
const SHED_CALLS: Column = column("shed_calls", &["/shed_calls"], Count);
const SHED_UNITS: Column = column("shed_units", &["/shed_units"], Count);
const WOULD_DENY_CALLS: Column = column(
    "would_deny_calls",
    &[
        "/total/would_deny_calls",
        "/would_deny_calls",
        "/would_deny",
    ],
    Count,
);
const WOULD_DENY_UNITS: Column = column(
    "would_deny_units",
    &["/total/would_deny_units", "/would_deny_units"],
    Count,
);
const REJECTED_CONCURRENCY: Column =
    column("rejected_concurrency", &["/rejected_concurrency"], Count);
const REJECTED_BUDGET: Column = column("rejected_budget", &["/rejected_budget"], Count);
const REJECTED_OTHER: Column = column("rejected_other", &["/rejected_other"], Count);

/// What is told of everything that is counted; each kind has some of them.
const TALLY: &[Column] = &[
    ADMITTED_CALLS,
    USED_UNITS,
    RESERVED_UNITS,
    BORROWED_UNITS,
    DENIED_CALLS,
    DENIED_UNITS,
    SHED_CALLS,
    SHED_UNITS,
    WOULD_DENY_CALLS,
    WOULD_DENY_UNITS,
    REJECTED_CONCURRENCY,
    REJECTED_BUDGET,
    REJECTED_OTHER,
];

/// `GET /operator/v1/fairness`: a line for each tenant and what it was counted for.
///
/// ```
/// use weir_operations::export::file_form::FileForm::Csv;
/// use weir_operations::export::sheets::FAIRNESS;
/// let entry = serde_json::json!({
///     "tenant": "acme", "tier": "pro", "weight": 2,
///     "budgets": { "tokens": { "weight": 6, "guarantee": 600, "total": {
///         "admitted_calls": 3, "admitted_units": 450, "denied_calls": 1, "denied_units": 200
///     } } },
///     "guards": { "queries": { "allowed": 7, "rejected_concurrency": 1 } },
/// });
/// let mut lines = FAIRNESS.header(Csv);
/// FAIRNESS.write(Csv, &entry.to_string(), &mut lines).unwrap();
/// let lines: Vec<&str> = lines.lines().collect();
/// assert!(lines[0].starts_with("tenant,tier,kind,name,weight,guarantee_units,admitted_calls,used_units,"));
/// assert_eq!(lines[1], "acme,pro,budget,tokens,6,600,3,450,0,0,1,200,0,0,0,0,0,0,0");
/// assert_eq!(lines[2], "acme,pro,guard,queries,,,7,0,0,0,0,0,0,0,0,0,1,0,0");
/// ```
pub const FAIRNESS: Sheet = Sheet {
    name: "fairness",
    entry: &[
        column("tenant", &["/tenant"], Plain),
        column("tier", &["/tier"], Plain),
    ],
    named: Some(Named {
        kinds: KINDS,
        every_entry: false,
        columns: &[&[WEIGHT, GUARANTEE], TALLY],
    }),
};

/// `GET /operator/v1/series`: a line for each interval and what was counted in it.
pub const SERIES: Sheet = Sheet {
    name: "series",
    entry: &[column("time", &["/at"], Time)],
    named: Some(Named {
        kinds: KINDS,
        every_entry: false,
        columns: &[TALLY],
    }),
};

/// `GET /operator/v1/tenants`: a line a tenant, with what it got of the budget that the list tells of.
pub const TENANTS: Sheet = Sheet {
    name: "tenants",
    entry: &[
        column("tenant", &["/tenant"], Plain),
        column("named", &["/named"], Plain),
        column("tier", &["/tier"], Plain),
        WEIGHT,
        column("parent", &["/parent"], Plain),
        column("overrides", &["/overrides"], Count),
    ],
    named: Some(Named {
        kinds: &[("budget", "/budgets")],
        every_entry: true,
        columns: &[&[
            column("guarantee_units", &["/guarantee"], Count),
            column("used_units", &["/used"], Count),
            column("borrowed_units", &["/borrowed"], Count),
            column("denied_calls", &["/denied"], Count),
            DENIED_UNITS,
        ]],
    }),
};

/// `GET /operator/v1/budgets/{name}/windows`: a line a window.
pub const WINDOWS: Sheet = Sheet {
    name: "windows",
    entry: &[
        column("budget", &["/budget"], Plain),
        column("region", &["/region"], Plain),
        column("window", &["/label"], Plain),
        column("ends_at", &["/ends_at"], Time),
        column("limit", &["/limit"], Plain),
        column("complete", &["/complete"], Plain),
        column("granted_units", &["/granted"], Plain),
        column("used_units", &["/admitted"], Count),
        column("reserved_units", &["/reserved"], Count),
        column("beyond_units", &["/beyond"], Count),
        column("returned_units", &["/returned"], Count),
        column("unaccounted_units", &["/unaccounted"], Plain),
        column("exact", &["/exact"], Plain),
        column("denied_units", &["/denied"], Count),
        column("would_deny_units", &["/would_deny"], Count),
        column("jain", &["/jain"], Plain),
        column("tenants_seen", &["/tenants_seen"], Count),
    ],
    named: None,
};

/// `GET /operator/v1/decisions`: a line a decision.
pub const DECISIONS: Sheet = Sheet {
    name: "decisions",
    entry: &[
        column("time", &["/at"], Time),
        column("region", &["/region"], Plain),
        column("tenant", &["/tenant"], Plain),
        column("outcome", &["/outcome"], Plain),
        column("binding", &["/binding"], Plain),
        column("reason", &["/reason"], Plain),
    ],
    named: None,
};

/// `GET /operator/v1/audit/export`: a line a record. It cannot be verified: the lines of [`weir_audit::export`] can.
///
/// ```
/// use weir_operations::export::file_form::FileForm::Csv;
/// use weir_operations::export::sheets::AUDIT;
/// let entry = serde_json::json!({
///     "sequence": 7, "previous": "", "at": 1_700_000_000_123_u64, "actor": "ada", "token": "AbCdEfGhIjKlMnOp", "role": "editor",
///     "action": "tenant.patch", "target": "acme", "before": null, "after": { "a": 1 }, "why": "say \"why\"",
///     "outcome": "done", "hash": "ab"
/// });
/// let mut lines = AUDIT.header(Csv);
/// AUDIT.write(Csv, &entry.to_string(), &mut lines).unwrap();
/// assert_eq!(
///     lines,
///     "sequence,time,actor,token,role,action,target,outcome,why,before,after,hash\r\n\
///      7,2023-11-14T22:13:20.123Z,ada,AbCdEfGhIjKlMnOp,editor,tenant.patch,acme,done,\"say \"\"why\"\"\",null,\"{\"\"a\"\":1}\",ab\r\n",
/// );
/// ```
pub const AUDIT: Sheet = Sheet {
    name: "audit",
    entry: &[
        column("sequence", &["/sequence"], Plain),
        column("time", &["/at"], Time),
        column("actor", &["/actor"], Plain),
        column("token", &["/token"], Plain),
        column("role", &["/role"], Plain),
        column("action", &["/action"], Plain),
        column("target", &["/target"], Plain),
        column("outcome", &["/outcome"], Plain),
        column("why", &["/why"], Plain),
        column("before", &["/before"], Json),
        column("after", &["/after"], Json),
        column("hash", &["/hash"], Plain),
    ],
    named: None,
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::export::file_form::FileForm::{Csv, JsonLines};

    const ALL: [Sheet; 6] = [FAIRNESS, SERIES, TENANTS, WINDOWS, DECISIONS, AUDIT];

    #[test]
    fn every_line_has_a_cell_for_every_name() {
        let entry = json!({ "budgets": { "b": {} }, "guards": { "g": {} } });
        for sheet in ALL {
            let header = sheet.header(Csv);
            let mut lines = String::new();
            sheet.write(Csv, &entry.to_string(), &mut lines).unwrap();
            assert!(!lines.is_empty(), "{header}");
            for line in lines.lines() {
                let commas = |text: &str| text.matches(',').count();
                assert_eq!(commas(line), commas(&header), "{header}{line}");
            }
        }
    }

    #[test]
    fn names_that_clients_chose_are_cells_and_never_formulas() {
        let entry = json!({ "tenant": "=cmd()", "meters": { "a,\"b\"": { "shed_units": "9007199254740993" } } });
        let mut lines = String::new();
        FAIRNESS.write(Csv, &entry.to_string(), &mut lines).unwrap();
        assert_eq!(
            lines,
            "'=cmd(),,meter,\"a,\"\"b\"\"\",,,0,0,0,0,0,0,0,9007199254740993,0,0,0,0,0\r\n"
        );
    }

    #[test]
    fn a_tenant_that_asked_for_nothing_is_a_line() {
        let told = |entry: serde_json::Value| {
            let mut lines = String::new();
            TENANTS.write(Csv, &entry.to_string(), &mut lines).unwrap();
            lines
        };
        assert_eq!(
            told(json!({ "tenant": "idle", "named": true, "weight": 2, "budgets": {} })),
            "idle,true,,2,,0,,,0,0,0,0,0\r\n"
        );
        let got =
            json!({ "guarantee": 5, "used": 3, "borrowed": 0, "denied": 1, "denied_units": 4 });
        assert_eq!(
            told(
                json!({ "tenant": "a", "named": false, "weight": 1, "budgets": { "tokens": got } })
            ),
            "a,false,,1,,0,budget,tokens,5,3,0,1,4\r\n"
        );
    }

    #[test]
    fn json_lines_are_the_entries_as_they_are() {
        let mut lines = WINDOWS.header(JsonLines);
        WINDOWS
            .write(JsonLines, "{\"label\":7}", &mut lines)
            .unwrap();
        assert_eq!(lines, "{\"label\":7}\n");
        let mut lines = String::new();
        let entry =
            json!({ "budget": "tokens", "label": 7, "ends_at": 60_000, "limit": 10, "jain": 0.5 });
        WINDOWS.write(Csv, &entry.to_string(), &mut lines).unwrap();
        assert_eq!(
            lines,
            "tokens,,7,1970-01-01T00:01:00.000Z,10,,,0,0,0,0,,,0,0,0.5,0\r\n"
        );
    }
}
