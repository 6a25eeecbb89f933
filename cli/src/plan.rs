//! What a file would change, and for whom: as text, as Markdown, as JSON.

use std::fmt::Write;

use serde::Serialize;
use weir_shared::preview::words::summary;
use weir_shared::units::Revision;
use weir_shared::visible::visible;
use weir_shared::wire::preview::{PreviewBody, PreviewRow};

use crate::client::Client;
use crate::difference::{self, Row};
use crate::document::Valid;
use crate::ending::Ending;
use crate::failure::Failure;
use crate::figures::{change, change_percent, count, counted, tenant};
use crate::policy::compare;
use crate::starvation::{Both, Starved, starved};
use crate::table::{Side, Table, escaped};

/// Rows of a preview that text shows; JSON has all.
const ROWS_SHOWN: usize = 20;

/// A plan.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// The revision that it was made against.
    pub revision: Revision,
    /// What changes.
    pub difference: Vec<Row>,
    /// Who gains and who loses; none where nothing changes.
    pub preview: Option<PreviewBody>,
    /// Who is starved.
    pub starves: Vec<Starved>,
    /// Percent that nobody loses more of.
    pub starve_percent: u8,
}

/// Asks a deployment what a file would change.
///
/// # Errors
/// When it does not answer, or refuses the file.
pub fn plan(client: &Client, file: &Valid, percent: u8) -> Result<Plan, Failure> {
    let compared = compare(file, client.policy()?)?;
    let mut plan = Plan {
        revision: compared.revision,
        difference: compared.difference,
        preview: None,
        starves: Vec::new(),
        starve_percent: percent,
    };
    if plan.difference.is_empty() {
        return Ok(plan);
    }
    let preview = client.preview(&file.document)?;
    let seen = client
        .fairness("")?
        .tenants
        .into_iter()
        .map(|row| row.tenant);
    let tenants = seen.chain(compared.named).collect();
    let both = Both {
        present: &compared.present,
        candidate: &file.policy,
        tenants: &tenants,
    };
    plan.starves = starved(both, &preview, percent);
    plan.preview = Some(preview);
    Ok(plan)
}

impl Plan {
    /// How `plan` ends.
    #[must_use]
    pub fn ending(&self) -> Ending {
        match (self.difference.is_empty(), self.starves.is_empty()) {
            (true, _) => Ending::Done,
            (false, true) => Ending::Differs,
            (false, false) => Ending::Starves,
        }
    }

    /// For a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.headline());
        let Some(preview) = &self.preview else {
            return text;
        };
        text.push_str(&difference::text(&self.difference));
        let _ = write!(text, "\n{}\n", summary(preview));
        let (table, left_out) = rows(preview);
        if !table.is_empty() {
            text.push_str(&table.text());
        }
        text.push_str(&left_out);
        if !self.starves.is_empty() {
            let _ = write!(text, "\n{}\n", self.verdict());
            for one in &self.starves {
                let _ = writeln!(text, "! {}", visible(&one.text()));
            }
        }
        text
    }

    /// For a pull request.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!("### {}\n", self.headline());
        let Some(preview) = &self.preview else {
            return text;
        };
        let _ = write!(text, "\n{}", difference::markdown(&self.difference));
        let _ = write!(text, "\n{}\n", summary(preview));
        let (table, left_out) = rows(preview);
        if !table.is_empty() {
            let _ = write!(text, "\n{}", table.markdown());
        }
        if !left_out.is_empty() {
            let _ = write!(text, "\n{left_out}");
        }
        if !self.starves.is_empty() {
            let _ = write!(text, "\n**{}**\n\n", self.verdict());
            for one in &self.starves {
                let _ = writeln!(text, "- {}", escaped(&one.text()));
            }
        }
        text
    }

    fn headline(&self) -> String {
        let revision = self.revision;
        if self.difference.is_empty() {
            return format!("Nothing changes: the file equals revision {revision}.");
        }
        let values = difference::counted_words(&self.difference, ("changes", "change"));
        format!("Against revision {revision}, {values}.")
    }

    fn verdict(&self) -> String {
        let mut tenants: Vec<&str> = self.starves.iter().map(|one| one.tenant.as_str()).collect();
        tenants.sort_unstable();
        tenants.dedup();
        format!(
            "This starves {}: no guarantee is left, or more than {}% of what was served is lost.",
            counted(tenants.len() as u64, "tenant"),
            self.starve_percent
        )
    }
}

/// What changes for whom, the most first, and a line for what is not shown.
fn rows(preview: &PreviewBody) -> (Table, String) {
    let mut table = Table::new(&[
        ("tenant", Side::Left),
        ("of", Side::Left),
        ("asked for", Side::Right),
        ("now", Side::Right),
        ("then", Side::Right),
        ("denied then", Side::Right),
        ("change", Side::Right),
        ("", Side::Right),
    ]);
    let changed = |row: &&PreviewRow| row.present != row.candidate;
    let changed: Vec<&PreviewRow> = preview.rows.iter().filter(changed).collect();
    for row in changed.iter().take(ROWS_SHOWN) {
        let (present, candidate) = (row.present.0, row.candidate.0);
        table.row([
            tenant(&row.tenant),
            format!("{} {}", row.kind.name(), row.name),
            count(row.demand.0),
            count(present),
            count(candidate),
            count(row.demand.0.saturating_sub(candidate)),
            change(present, candidate),
            change_percent(present, candidate),
        ]);
    }
    let mut left_out = String::new();
    let hidden = changed.len().saturating_sub(ROWS_SHOWN) as u64;
    if hidden > 0 {
        let _ = writeln!(
            left_out,
            "{} of smaller changes not shown.",
            counted(hidden, "row")
        );
    }
    let untold = preview.rows_total.saturating_sub(preview.rows.len() as u64);
    if untold > 0 {
        let _ = writeln!(
            left_out,
            "{} of smaller changes not told by the deployment, nor looked at for tenants that starve.",
            counted(untold, "row")
        );
    }
    (table, left_out)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use weir_shared::wire::count::Count;
    use weir_shared::wire::rule_kind::RuleKind;

    use super::*;
    use crate::starvation::{PERCENT, Rule};

    fn row(tenant: &str, present: u128, candidate: u128) -> PreviewRow {
        PreviewRow {
            kind: RuleKind::Budget,
            name: "tokens".to_owned(),
            tenant: tenant.to_owned(),
            demand: Count(2_000),
            served: Count(present),
            present: Count(present),
            candidate: Count(candidate),
        }
    }

    fn preview(rows: Vec<PreviewRow>) -> PreviewBody {
        PreviewBody {
            windows: 3,
            interval_ms: 60_000,
            gaining: 1,
            losing: 1,
            rows_total: rows.len() as u64,
            rows,
            ..PreviewBody::default()
        }
    }

    fn plan(changes: bool, starves: bool) -> Plan {
        let before = json!({ "budgets": { "tokens": { "limit": 5 } } });
        let after = json!({ "budgets": { "tokens": { "limit": 7 } } });
        let after = if changes { &after } else { &before };
        let one = Starved {
            tenant: "b".to_owned(),
            kind: RuleKind::Budget,
            name: "tokens".to_owned(),
            by: Rule::Guarantee { present: 5 },
        };
        let rows = vec![row("a", 1_000, 1_600), row("b", 1_000, 400), row("c", 7, 7)];
        Plan {
            revision: Revision(7),
            difference: difference::difference(&before, after),
            preview: changes.then(|| preview(rows)),
            starves: if starves { vec![one] } else { Vec::new() },
            starve_percent: PERCENT,
        }
    }

    #[test]
    fn a_plan_ends_by_what_it_finds() {
        for (changes, starves, status) in [(false, false, 0), (true, false, 2), (true, true, 3)] {
            assert_eq!(plan(changes, starves).ending().status(), status);
        }
    }

    #[test]
    fn a_terminal_reads_what_changes_for_whom_and_who_starves() {
        assert_eq!(
            plan(true, true).text(),
            "Against revision 7, 1 value changes.\n\
             ~ /budgets/tokens/limit: 5 → 7\n\
             \n\
             Over 3 windows of demand as recorded: 1 tenant would gain, 1 tenant would lose.\n\
             tenant  of             asked for    now   then  denied then  change\n\
             a       budget tokens      2,000  1,000  1,600          400    +600  +60.0%\n\
             b       budget tokens      2,000  1,000    400        1,600    −600  −60.0%\n\
             \n\
             This starves 1 tenant: no guarantee is left, or more than 50% of what was served is lost.\n\
             ! b at budget tokens: guaranteed 5 a window now, and nothing then\n"
        );
        assert_eq!(
            plan(false, false).text(),
            "Nothing changes: the file equals revision 7.\n"
        );
    }

    #[test]
    fn a_pull_request_reads_the_same_in_tables() {
        let text = plan(true, true).markdown();
        assert!(
            text.starts_with("### Against revision 7, 1 value changes.\n\n| value |"),
            "{text}"
        );
        assert!(
            text.contains("| b | budget tokens | 2,000 | 1,000 | 400 | 1,600 | −600 | −60.0% |"),
            "{text}"
        );
        assert!(text.contains("\n**This starves 1 tenant"), "{text}");
        assert!(
            plan(false, false)
                .markdown()
                .ends_with("the file equals revision 7.\n")
        );
    }

    #[test]
    fn what_is_not_shown_is_told() {
        let mut many = plan(true, false);
        let rows = (0..25).map(|at| row(&format!("t{at}"), 10, 5)).collect();
        let mut long = preview(rows);
        long.rows_total = 1_025;
        many.preview = Some(long);
        let text = many.text();
        assert!(
            text.contains("\n5 rows of smaller changes not shown.\n"),
            "{text}"
        );
        assert!(
            text.contains("\n1,000 rows of smaller changes not told"),
            "{text}"
        );
    }

    #[test]
    fn a_program_reads_all_of_it() {
        let value = serde_json::to_value(plan(true, true)).unwrap();
        assert_eq!(value["revision"], 7);
        assert_eq!(value["difference"][0]["pointer"], "/budgets/tokens/limit");
        assert_eq!(value["preview"]["rows"].as_array().map(Vec::len), Some(3));
        assert_eq!(value["starves"][0]["by"], "guarantee");
        let value = serde_json::to_value(plan(false, false)).unwrap();
        assert_eq!(
            (&value["preview"], &value["starves"]),
            (&Value::Null, &json!([]))
        );
    }
}
