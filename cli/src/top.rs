//! Tenants by use, in a table that is drawn anew.

use std::fmt::Write;

use serde::Serialize;
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;
use weir_shared::visible::visible;
use weir_shared::wire::accounting::{ANONYMOUS, OTHERS};
use weir_shared::wire::count::Count;
use weir_shared::wire::decimal::Decimal;
use weir_shared::wire::operator::{FairnessReply, TenantReport};

use crate::figures::{count, counted, instant, rate, weight};
use crate::table::{Side, Table};

/// What clears a terminal and puts its cursor at the start (ECMA-48: CUP, ED).
pub const REDRAW: &str = "\u{1b}[H\u{1b}[2J";

/// A look at all tenants.
#[derive(Debug, Clone, Serialize)]
pub struct Look {
    /// When it was put together.
    pub at: EpochMs,
    /// The policy revision in force.
    pub revision: u64,
    /// The budget that the rows tell of; none where they tell of everything.
    pub budget: Option<String>,
    /// Regions whose counters are missing.
    pub unreachable: Vec<String>,
    /// Who uses most first.
    pub tenants: Vec<Row>,
}

/// One tenant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Its name.
    pub tenant: String,
    /// Its tier.
    pub tier: Option<String>,
    /// Its weight.
    pub weight: Decimal,
    /// Units of the budget that are guaranteed to it in a window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guarantee: Option<u64>,
    /// Units used since counting began: of the budget, else of all budgets and limits.
    pub used: Count,
    /// Units of the budget used beyond the guarantee.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub borrowed: Option<Count>,
    /// Calls denied since counting began: of the budget, else of everything that is asked for.
    pub denied: Count,
    /// Units used a second since the look before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_per_s: Option<f64>,
    /// Calls denied a second since the look before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied_per_s: Option<f64>,
}

impl Look {
    /// What a reply says, of one budget or of everything, with rates where there was a look before.
    #[must_use]
    pub fn new(reply: FairnessReply, budget: Option<&str>, before: Option<&Self>) -> Self {
        let earlier: OrderedMap<&str, &Row> = before
            .iter()
            .flat_map(|look| &look.tenants)
            .map(|row| (row.tenant.as_str(), row))
            .collect();
        let took_ms = before.map(|look| EpochMs(reply.at).since(look.at));
        let mut tenants: Vec<Row> = reply
            .tenants
            .into_iter()
            .filter_map(|report| Row::new(report, budget))
            .collect();
        if let Some(took_ms) = took_ms.filter(|took_ms| *took_ms > 0) {
            for row in &mut tenants {
                row.rates(earlier.get(row.tenant.as_str()).copied(), took_ms);
            }
        }
        let speed = |row: &Row| row.used_per_s.unwrap_or(0.0);
        tenants.sort_by(|one, other| {
            let by_rate = speed(other).total_cmp(&speed(one));
            by_rate
                .then(other.used.cmp(&one.used))
                .then(one.tenant.cmp(&other.tenant))
        });
        let silent = reply.regions.into_iter().filter(|region| !region.reachable);
        Self {
            at: EpochMs(reply.at),
            revision: reply.policy_revision,
            budget: budget.map(str::to_owned),
            unreachable: silent.map(|region| region.region).collect(),
            tenants,
        }
    }

    /// A line on the whole, and a table of the first rows.
    #[must_use]
    pub fn text(&self, rows_max: usize) -> String {
        let tenants = counted(self.tenants.len() as u64, "tenant");
        let mut text = format!(
            "{}  revision {}  {tenants}",
            instant(self.at),
            self.revision
        );
        if let Some(budget) = &self.budget {
            let _ = write!(text, "  budget {}", visible(budget));
        }
        if !self.unreachable.is_empty() {
            let _ = write!(text, "  without {}", visible(&self.unreachable.join(", ")));
        }
        text.push('\n');
        let mut table = Table::new(self.heads());
        for row in self.tenants.iter().take(rows_max) {
            table.row(self.cells(row));
        }
        text.push_str(&table.text());
        let hidden = self.tenants.len().saturating_sub(rows_max) as u64;
        if hidden > 0 {
            let _ = writeln!(text, "and {}", counted(hidden, "other"));
        }
        text
    }

    fn heads(&self) -> &'static [(&'static str, Side)] {
        const NAMES: [(&str, Side); 3] = [
            ("tenant", Side::Left),
            ("tier", Side::Left),
            ("weight", Side::Right),
        ];
        const FIGURES: [(&str, Side); 4] = [
            ("used", Side::Right),
            ("used/s", Side::Right),
            ("denied", Side::Right),
            ("denied/s", Side::Right),
        ];
        const BUDGET: [(&str, Side); 2] = [("guarantee", Side::Right), ("borrowed", Side::Right)];
        const OF_ALL: [(&str, Side); 7] = [
            NAMES[0], NAMES[1], NAMES[2], FIGURES[0], FIGURES[1], FIGURES[2], FIGURES[3],
        ];
        const OF_ONE: [(&str, Side); 9] = [
            NAMES[0], NAMES[1], NAMES[2], FIGURES[0], FIGURES[1], FIGURES[2], FIGURES[3],
            BUDGET[0], BUDGET[1],
        ];
        if self.budget.is_some() {
            &OF_ONE
        } else {
            &OF_ALL
        }
    }

    fn cells(&self, row: &Row) -> Vec<String> {
        let per_s = |value: Option<f64>| value.map(rate).unwrap_or_default();
        let mut cells = vec![
            shown(&row.tenant),
            row.tier.clone().unwrap_or_default(),
            weight(row.weight.0),
            count(row.used.0),
            per_s(row.used_per_s),
            count(row.denied.0),
            per_s(row.denied_per_s),
        ];
        if self.budget.is_some() {
            cells.push(count(row.guarantee.unwrap_or_default().into()));
            cells.push(count(row.borrowed.unwrap_or_default().0));
        }
        cells
    }
}

/// A tenant's name, and what stands for several.
fn shown(tenant: &str) -> String {
    match tenant {
        OTHERS => "(all others)".to_owned(),
        ANONYMOUS => "(no tenant)".to_owned(),
        name => name.to_owned(),
    }
}

impl Row {
    /// None for a tenant that was not seen to ask for the budget.
    fn new(report: TenantReport, budget: Option<&str>) -> Option<Self> {
        let mut row = Self {
            used: report.total.admitted_units,
            denied: denied(&report),
            tier: report.tier,
            weight: report.weight,
            guarantee: None,
            borrowed: None,
            used_per_s: None,
            denied_per_s: None,
            tenant: report.tenant,
        };
        if let Some(name) = budget {
            let own = report.budgets.get(name)?;
            row.weight = own.weight;
            row.used = own.used;
            row.denied = own.denied;
            row.guarantee = Some(own.guarantee);
            row.borrowed = Some(own.borrowed);
        }
        Some(row)
    }

    fn rates(&mut self, before: Option<&Self>, took_ms: u64) {
        let (used, denied) = before.map_or((0, 0), |row| (row.used.0, row.denied.0));
        let per_s =
            |now: Count, then: u128| now.0.saturating_sub(then) as f64 * 1_000.0 / took_ms as f64;
        self.used_per_s = Some(per_s(self.used, used));
        self.denied_per_s = Some(per_s(self.denied, denied));
    }
}

/// Calls denied, by whatever was asked for.
fn denied(report: &TenantReport) -> Count {
    let mut sum = report.total.denied_calls;
    for tally in report.overload.values() {
        sum += tally.denied_calls;
    }
    for tally in report.meters.values() {
        sum += tally.shed_calls;
    }
    for tally in report.guards.values() {
        sum += tally.rejected_concurrency;
        sum += tally.rejected_budget;
        sum += tally.rejected_other;
    }
    sum
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn tenant(name: &str, units: u64, denied: u64) -> Value {
        json!({
            "tenant": name, "tier": "free", "weight": 1, "limits": {},
            "total": { "admitted_units": units, "denied_calls": denied },
            "budgets": { "tokens": {
                "weight": 2, "guarantee": 50, "used": units, "borrowed": 5, "denied": denied, "total": {},
            } },
            "meters": { "bytes": { "shed_calls": 1 } },
            "guards": { "queries": { "rejected_concurrency": 2 } },
        })
    }

    fn reply(at: u64, tenants: &[Value]) -> FairnessReply {
        let reply = json!({
            "at": at, "policy_revision": 7, "enforcing": true, "tenants": tenants,
            "regions": [
                { "region": "weur", "reachable": true, "total": {} },
                { "region": "enam", "reachable": false, "total": {} },
            ],
        });
        weir_shared::json::from_value(&reply).unwrap()
    }

    #[test]
    fn who_uses_most_stands_first_and_what_is_missing_is_told() {
        let tenants = [
            tenant("small", 10, 0),
            tenant("large", 1_200, 3),
            tenant(OTHERS, 7, 0),
        ];
        let look = Look::new(reply(0, &tenants), None, None);
        assert_eq!(
            look.text(2),
            "1970-01-01T00:00:00Z  revision 7  3 tenants  without enam\n\
             tenant  tier  weight   used  used/s  denied  denied/s\n\
             large   free       1  1,200               6\n\
             small   free       1     10               3\n\
             and 1 other\n"
        );
        assert!(
            look.text(9).contains("\n(all others)  "),
            "{}",
            look.text(9)
        );
    }

    #[test]
    fn rates_are_of_the_time_between_two_looks_and_decide_the_order() {
        let before = Look::new(
            reply(1_000, &[tenant("idle", 500, 0), tenant("busy", 10, 0)]),
            None,
            None,
        );
        let after = [
            tenant("idle", 500, 0),
            tenant("busy", 40, 4),
            tenant("new", 6, 0),
        ];
        let after = Look::new(reply(3_000, &after), None, Some(&before));
        let told: Vec<_> = after
            .tenants
            .iter()
            .map(|row| (row.tenant.as_str(), row.used_per_s, row.denied_per_s))
            .collect();
        assert_eq!(
            told,
            [
                ("busy", Some(15.0), Some(2.0)),
                ("new", Some(3.0), Some(1.5)),
                ("idle", Some(0.0), Some(0.0)),
            ]
        );
    }

    #[test]
    fn of_one_budget_the_claim_is_told_too() {
        let look = Look::new(reply(0, &[tenant("acme", 80, 2)]), Some("tokens"), None);
        let text = look.text(9);
        assert!(text.contains("  budget tokens"), "{text}");
        assert!(
            text.ends_with(
                "acme    free       2    80               2                   50         5\n"
            ),
            "{text}"
        );
        let none = Look::new(reply(0, &[tenant("acme", 80, 2)]), Some("other"), None);
        assert!(none.tenants.is_empty());
    }
}
