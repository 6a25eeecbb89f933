//! What a tenant got since counting began or in a range of time, one line for each budget, limit, meter, guard and
//! overload resource.

use weir_shared::ordered::sort_by;
use weir_shared::wire::accounting::Tally;
use weir_shared::wire::operator::fairness::TenantReport;
use weir_shared::wire::operator::series::SeriesView;

use super::counted::{Interval, sum};
use crate::what::{Kind, What, counted_at, seen};

/// One line. What a kind does not have is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Total {
    /// What it is of.
    pub what: What,
    /// Units a window that are guaranteed.
    pub guarantee: Option<u64>,
    /// Units admitted; calls of a guard.
    pub admitted: u128,
    /// Units of those beyond the guarantee.
    pub borrowed: Option<u128>,
    /// Calls denied, shed or rejected.
    pub denied_calls: u128,
    /// Units of them.
    pub denied_units: Option<u128>,
    /// Calls that a shadow would have denied.
    pub would_deny: u128,
    /// Calls that run at this moment.
    pub running: Option<u64>,
}

impl Total {
    fn of(kind: Kind, name: &str, tally: &Tally) -> Self {
        Self {
            what: What::new(kind, name),
            guarantee: None,
            admitted: tally.admitted_units.0,
            borrowed: None,
            denied_calls: tally.denied_calls.0,
            denied_units: Some(tally.denied_units.0),
            would_deny: tally.would_deny_calls.0,
            running: None,
        }
    }
}

/// The lines of a range of time, in order: what was counted in it, and nothing that is of this moment.
pub fn of_range(view: &SeriesView) -> Vec<Total> {
    let mut all: Vec<What> = view
        .points
        .iter()
        .flat_map(|point| counted_at(&point.counters))
        .collect();
    sort_by(&mut all, Ord::cmp);
    all.dedup();
    let line = |what: What| {
        let intervals: Vec<Interval> = view
            .points
            .iter()
            .map(|point| Interval {
                at_ms: point.at.0,
                seen: seen(&point.counters, &what),
            })
            .collect();
        let sum = sum(&intervals);
        Total {
            guarantee: None,
            admitted: sum.admitted_units,
            borrowed: None,
            denied_calls: sum.denied_calls,
            denied_units: (what.kind != Kind::Guard).then_some(sum.denied_units),
            would_deny: sum.would_deny_calls,
            running: None,
            what,
        }
    };
    all.into_iter().map(line).collect()
}

/// The lines of a report, in order.
pub fn totals(report: &TenantReport) -> Vec<Total> {
    let mut lines = Vec::new();
    for (name, budget) in &report.budgets {
        lines.push(Total {
            guarantee: Some(budget.guarantee),
            borrowed: Some(budget.borrowed.0),
            ..Total::of(Kind::Budget, name, &budget.total)
        });
    }
    for (name, tally) in &report.limits {
        lines.push(Total::of(Kind::Limit, name, tally));
    }
    for (name, meter) in &report.meters {
        let tally = Tally {
            admitted_units: meter.admitted_units,
            denied_calls: meter.shed_calls,
            denied_units: meter.shed_units,
            would_deny_calls: meter.would_deny_calls,
            ..Tally::default()
        };
        lines.push(Total::of(Kind::Meter, name, &tally));
    }
    for (name, guard) in &report.guards {
        let rejected = [
            guard.rejected_concurrency,
            guard.rejected_budget,
            guard.rejected_other,
        ];
        lines.push(Total {
            what: What::new(Kind::Guard, name),
            guarantee: None,
            admitted: guard.allowed.0,
            borrowed: None,
            denied_calls: rejected.iter().map(|count| count.0).sum(),
            denied_units: None,
            would_deny: guard.would_deny.0,
            running: Some(guard.in_flight),
        });
    }
    for (name, tally) in &report.overload {
        lines.push(Total::of(Kind::Overload, name, tally));
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_has_its_line() {
        let tally = json!({
            "admitted_calls": 1, "admitted_units": 10, "denied_calls": 2, "denied_units": 20,
        });
        let report: TenantReport = serde_json::from_value(json!({
            "tenant": "a", "tier": "free", "weight": 1, "total": tally,
            "budgets": { "tokens": { "weight": 1, "guarantee": 100, "used": 10, "borrowed": 3, "denied": 2,
                "total": tally } },
            "limits": { "per_ip": tally },
            "meters": { "bytes": { "admitted_calls": 1, "admitted_units": 5, "shed_calls": 4, "shed_units": 40 } },
            "guards": { "queries": { "allowed": 7, "rejected_concurrency": 1, "rejected_budget": 2,
                "rejected_other": 3, "in_flight": 4 } },
            "overload": { "origin": tally },
        }))
        .unwrap();
        let told: Vec<_> = totals(&report)
            .into_iter()
            .map(|line| {
                let rest = (
                    line.guarantee,
                    line.borrowed,
                    line.denied_units,
                    line.running,
                );
                (
                    line.what.to_string(),
                    line.admitted,
                    line.denied_calls,
                    rest,
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                (
                    "budget:tokens".to_owned(),
                    10,
                    2,
                    (Some(100), Some(3), Some(20), None)
                ),
                (
                    "limit:per_ip".to_owned(),
                    10,
                    2,
                    (None, None, Some(20), None)
                ),
                ("meter:bytes".to_owned(), 5, 4, (None, None, Some(40), None)),
                (
                    "guard:queries".to_owned(),
                    7,
                    6,
                    (None, None, None, Some(4))
                ),
                (
                    "overload:origin".to_owned(),
                    10,
                    2,
                    (None, None, Some(20), None)
                ),
            ]
        );
    }

    #[test]
    fn a_range_has_what_was_counted_in_it_and_no_more() {
        let view: SeriesView = serde_json::from_value(json!({
            "from": 0, "to": 120_000, "step_ms": 60_000, "tenant": "a", "unreachable": [], "points": [
                {"at": 0, "budgets": {"tokens": {"admitted_units": 10, "denied_calls": 1, "denied_units": 5}}},
                {"at": 60_000, "budgets": {"tokens": {"admitted_units": 7, "would_deny_calls": 3}},
                 "guards": {"queries": {"allowed": 2, "rejected_budget": 1}}},
            ],
        }))
        .unwrap();
        let told: Vec<_> = of_range(&view)
            .into_iter()
            .map(|line| {
                let denied = (line.denied_calls, line.denied_units, line.would_deny);
                (line.what.to_string(), line.admitted, denied)
            })
            .collect();
        assert_eq!(
            told,
            [
                ("budget:tokens".to_owned(), 17, (1, Some(5), 3)),
                ("guard:queries".to_owned(), 2, (1, None, 0)),
            ]
        );
    }
}
