//! Which tenants a candidate starves.
//!
//! A tenant is starved of a budget, meter, guard, limit or overload resource when one of these is true:
//!
//! 1. *Guarantee*: the policy in force guarantees it units of the budget, and the candidate guarantees it none. Guarantees
//!    are those among all tenants that either policy names and all that were seen to ask.
//! 2. *Demand*: of what it asked for in the windows and minutes that the preview looks at, the candidate would have given
//!    it less than the policy in force would, by more than so many percent.
//!
//! A budget, meter or guard that the candidate does not have gives nothing; without a limit or an overload resource nothing
//! is denied. Requests without a tenant are nobody's. What routes do to a tenant is not previewed, and not looked at.

use serde::Serialize;
use weir_shared::ordered::OrderedSet;
use weir_shared::policy::Policy;
use weir_shared::preview::shadow::is_shadow;
use weir_shared::report::guarantee;
use weir_shared::units::EpochMs;
use weir_shared::wire::accounting::ANONYMOUS;
use weir_shared::wire::count::Count;
use weir_shared::wire::preview::{PreviewBody, PreviewRow};
use weir_shared::wire::rule_kind::RuleKind;

use crate::figures::{change_percent, count};

/// Percent of what it would have got that a tenant may lose, where nobody says otherwise.
pub const PERCENT: u8 = 50;

/// A tenant that is starved of something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Starved {
    /// The tenant.
    pub tenant: String,
    /// Of what kind it is.
    pub kind: RuleKind,
    /// The name of what it is.
    pub name: String,
    /// By which rule.
    #[serde(flatten)]
    pub by: Rule,
}

/// Why a tenant counts as starved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Rule {
    /// Nothing is guaranteed to it any more.
    Guarantee {
        /// Units a window that the policy in force guarantees.
        present: u64,
    },
    /// It would get far less of what it asked for.
    Demand {
        /// Units that it asked for.
        demand: Count,
        /// Units of it that the policy in force gives.
        present: Count,
        /// Units of it that the candidate gives.
        candidate: Count,
    },
}

impl Starved {
    /// One line.
    #[must_use]
    pub fn text(&self) -> String {
        let about = format!("{} at {} {}", self.tenant, self.kind.name(), self.name);
        match &self.by {
            Rule::Guarantee { present } => format!(
                "{about}: guaranteed {} a window now, and nothing then",
                count((*present).into())
            ),
            Rule::Demand {
                demand,
                present,
                candidate,
            } => format!(
                "{about}: of {} asked for it gets {} now, and {} then ({})",
                count(demand.0),
                count(present.0),
                count(candidate.0),
                change_percent(present.0, candidate.0)
            ),
        }
    }
}

/// Both policies, and whom they are looked at for.
#[derive(Debug, Clone, Copy)]
pub struct Both<'a> {
    /// The policy in force.
    pub present: &'a Policy,
    /// What would take its place.
    pub candidate: &'a Policy,
    /// Tenants that were seen to ask, and those that either policy names.
    pub tenants: &'a OrderedSet<String>,
}

/// Who is starved: by guarantee, then by demand, each in the order of names.
#[must_use]
pub fn starved(both: Both<'_>, preview: &PreviewBody, percent: u8) -> Vec<Starved> {
    let mut found = by_guarantee(both, preview.at);
    let named = preview.rows.iter().filter(|row| row.tenant != ANONYMOUS);
    let rows = named.filter_map(|row| by_demand(both, row, percent));
    let mut hungry: Vec<Starved> = rows.collect();
    hungry.sort_by(|one, other| {
        (one.kind, &one.name, &one.tenant).cmp(&(other.kind, &other.name, &other.tenant))
    });
    found.extend(hungry);
    found
}

fn by_guarantee(both: Both<'_>, at: EpochMs) -> Vec<Starved> {
    let mut found = Vec::new();
    for budget in both.present.budgets.keys() {
        if is_shadow(both.candidate, RuleKind::Budget, budget) {
            continue;
        }
        let of =
            |policy| guarantee::among(policy, budget, both.tenants.iter().map(String::as_str), at);
        let (before, after) = (of(both.present), of(both.candidate));
        for tenant in both.tenants {
            let present = before.units(tenant);
            if present > 0 && after.units(tenant) == 0 {
                found.push(Starved {
                    tenant: tenant.clone(),
                    kind: RuleKind::Budget,
                    name: budget.clone(),
                    by: Rule::Guarantee { present },
                });
            }
        }
    }
    found
}

fn by_demand(both: Both<'_>, row: &PreviewRow, percent: u8) -> Option<Starved> {
    // A shadow gives all that is asked for.
    let given = |policy, units: Count| match is_shadow(policy, row.kind, &row.name) {
        true => row.demand,
        false => units,
    };
    let present = given(both.present, row.present);
    let candidate = given(both.candidate, row.candidate);
    let lost = present.0.saturating_sub(candidate.0);
    let starves = lost.saturating_mul(100) > present.0.saturating_mul(percent.into());
    starves.then(|| Starved {
        tenant: row.tenant.clone(),
        kind: row.kind,
        name: row.name.clone(),
        by: Rule::Demand {
            demand: row.demand,
            present,
            candidate,
        },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::document::valid;

    fn document(sharing: &str) -> Value {
        json!({
            "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
            "tenants": { "acme": {}, "hooli": {} },
            "budgets": { "tokens": { "limit": 100, "window_ms": 60_000, "sharing": sharing, "scope": "global" } },
            "meters": { "bytes": { "per_sec": 5 } },
        })
    }

    fn policy(document: &Value) -> Policy {
        valid(document.to_string().as_bytes()).unwrap().policy
    }

    fn row(kind: RuleKind, name: &str, [demand, present, candidate]: [u128; 3]) -> PreviewRow {
        PreviewRow {
            kind,
            name: name.to_owned(),
            tenant: "acme".to_owned(),
            demand: Count(demand),
            served: Count(present),
            present: Count(present),
            candidate: Count(candidate),
        }
    }

    fn preview(rows: Vec<PreviewRow>) -> PreviewBody {
        PreviewBody {
            windows: 1,
            interval_ms: 60_000,
            rows_total: rows.len() as u64,
            rows,
            ..PreviewBody::default()
        }
    }

    fn told(present: &Value, candidate: &Value, rows: Vec<PreviewRow>) -> Vec<String> {
        let (present, candidate) = (policy(present), policy(candidate));
        let tenants = ["acme", "hooli"].map(str::to_owned).into();
        let both = Both {
            present: &present,
            candidate: &candidate,
            tenants: &tenants,
        };
        let found = starved(both, &preview(rows), PERCENT);
        found.iter().map(Starved::text).collect()
    }

    const SHARED: &str = "weighted_fair_escrow";

    #[test]
    fn who_loses_more_than_so_many_percent_is_starved_and_who_loses_just_so_many_is_not() {
        let shared = document(SHARED);
        for (units, starves) in [
            ([1_000, 100, 50], false),
            ([1_000, 100, 49], true),
            ([1_000, 100, 0], true),
            ([1_000, 100, 200], false),
            ([1_000, 0, 0], false),
        ] {
            let rows = vec![row(RuleKind::Budget, "tokens", units)];
            assert_eq!(
                !told(&shared, &shared, rows).is_empty(),
                starves,
                "{units:?}"
            );
        }
    }

    #[test]
    fn a_guarantee_that_is_gone_is_told_with_what_it_was() {
        let mut refuses = document(SHARED);
        refuses["default_tier"] = json!(null);
        for candidate in [document("first_come"), refuses] {
            assert_eq!(
                told(&document(SHARED), &candidate, Vec::new()),
                [
                    "acme at budget tokens: guaranteed 50 a window now, and nothing then",
                    "hooli at budget tokens: guaranteed 50 a window now, and nothing then",
                ]
            );
        }
        assert!(told(&document("first_come"), &document(SHARED), Vec::new()).is_empty());
    }

    #[test]
    fn a_budget_or_a_meter_that_is_gone_gives_nothing() {
        let mut candidate = document("first_come");
        candidate["meters"] = json!({});
        candidate["budgets"] = json!({});
        let rows = vec![
            row(RuleKind::Meter, "bytes", [10, 10, 0]),
            row(RuleKind::Budget, "tokens", [9, 9, 0]),
        ];
        assert_eq!(
            told(&document("first_come"), &candidate, rows),
            [
                "acme at budget tokens: of 9 asked for it gets 9 now, and 0 then (−100.0%)",
                "acme at meter bytes: of 10 asked for it gets 10 now, and 0 then (−100.0%)",
            ]
        );
    }

    #[test]
    fn what_is_only_counted_starves_nobody_until_it_is_enforced() {
        let mut counted = document("first_come");
        counted["budgets"]["tokens"]["shadow"] = json!(true);
        let mut off = document("first_come");
        off["enforcing"] = json!(false);
        let shared = document(SHARED);
        let row = || vec![row(RuleKind::Budget, "tokens", [100, 80, 10])];
        for candidate in [&counted, &off] {
            assert!(told(&shared, candidate, row()).is_empty());
            assert_eq!(
                told(candidate, &document("first_come"), row()),
                ["acme at budget tokens: of 100 asked for it gets 100 now, and 10 then (−90.0%)"]
            );
        }
    }

    #[test]
    fn a_program_reads_by_which_rule() {
        let one = Starved {
            tenant: "acme".to_owned(),
            kind: RuleKind::Budget,
            name: "tokens".to_owned(),
            by: Rule::Guarantee { present: 50 },
        };
        assert_eq!(
            serde_json::to_value(&one).unwrap(),
            json!({ "tenant": "acme", "kind": "budget", "name": "tokens", "by": "guarantee", "present": 50 })
        );
    }
}
