//! What was asked for, as ledgers recorded it, for the preview of a candidate policy.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::limits::{PREVIEW_TENANTS_MAX, PREVIEW_WINDOWS_MAX};
use crate::name::tenant_name;
use crate::policy::preview::{Recorded, RecordedInterval, RecordedTenant, RecordedWindow};
use crate::units::EpochMs;
use crate::wire::accounting::{Counters, TenantCounters};
use crate::wire::count::Count;
use crate::wire::series::SeriesReply;
use crate::wire::windows::WindowRecord;

/// The tenants whose meters and guards are previewed: those with the most calls.
#[must_use]
pub fn busiest(counters: &Counters) -> Vec<String> {
    let named = counters.iter().filter(|(name, counted)| {
        let metered = !counted.meters.is_empty() || !counted.guards.is_empty();
        metered && tenant_name(name).is_ok()
    });
    let mut ranked: Vec<_> = named
        .map(|(name, counted)| (counted.calls(), name))
        .collect();
    ranked.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(other.1)));
    let first = ranked.into_iter().take(PREVIEW_TENANTS_MAX);
    first.map(|(_, name)| name.clone()).collect()
}

/// The records of windows, the newest of many, and the intervals of tenants, each over all regions.
#[must_use]
pub fn recorded(
    mut windows: Vec<WindowRecord>,
    series: Vec<(String, SeriesReply)>,
    step_ms: u64,
) -> Recorded {
    windows.sort_by_key(|window| Reverse(window.ends_at));
    let left_out = (windows.len() as u64).saturating_sub(PREVIEW_WINDOWS_MAX);
    windows.truncate(usize::try_from(PREVIEW_WINDOWS_MAX).unwrap_or(usize::MAX));
    let mut recorded = Recorded {
        budgets: windows.into_iter().map(window).collect(),
        left_out,
        ..Recorded::default()
    };
    let mut by_tenant: BTreeMap<String, BTreeMap<EpochMs, TenantCounters>> = BTreeMap::new();
    for (tenant, reply) in series {
        let points = by_tenant.entry(tenant).or_default();
        for (at, counters) in reply.points {
            points.entry(at).or_default().add(&counters);
        }
    }
    for (tenant, points) in by_tenant {
        for (at, counters) in points {
            let interval = |name: &String, served: Count, mut refused: Count, would: Count| {
                refused += would;
                RecordedInterval {
                    name: name.clone(),
                    tenant: tenant.clone(),
                    at,
                    interval_ms: step_ms,
                    demand: sum(served, refused),
                    served: sum(served, Count(0)),
                }
            };
            for (name, tally) in &counters.meters {
                let interval = interval(
                    name,
                    tally.admitted_units,
                    tally.shed_units,
                    tally.would_deny_units,
                );
                recorded.meters.push(interval);
            }
            for (name, tally) in &counters.guards {
                let interval =
                    interval(name, tally.allowed, tally.rejected_budget, tally.would_deny);
                recorded.guards.push(interval);
            }
        }
    }
    recorded
}

fn window(record: WindowRecord) -> RecordedWindow {
    let tenants = record.tenants.into_iter();
    let tenants = tenants.filter(|one| tenant_name(&one.tenant).is_ok());
    RecordedWindow {
        budget: record.budget,
        label: record.label.0,
        limit: record.limit,
        tenants: tenants
            .map(|one| RecordedTenant {
                tenant: one.tenant,
                demand: sum(one.served, one.denied)
                    .saturating_add(sum(one.reserved, one.would_deny)),
                served: sum(one.served, Count(0)),
            })
            .collect(),
    }
}

fn sum(one: Count, other: Count) -> u64 {
    u64::try_from(one.0.saturating_add(other.0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::accounting::{GuardTally, MeterTally, OTHERS};

    fn metered(admitted: u128, shed: u128) -> TenantCounters {
        let mut counters = TenantCounters::default();
        let meter = MeterTally {
            admitted_calls: Count(admitted),
            admitted_units: Count(admitted),
            shed_calls: Count(shed),
            shed_units: Count(shed),
            ..MeterTally::default()
        };
        counters.meters.insert("bytes".to_owned(), meter);
        counters
    }

    #[test]
    fn the_same_minute_of_two_regions_is_one_interval_in_the_order_of_time() {
        let reply = |at, admitted, shed| SeriesReply {
            points: BTreeMap::from([(EpochMs(at), metered(admitted, shed))]),
            told_at: None,
        };
        let series = vec![
            ("acme".to_owned(), reply(60_000, 5, 1)),
            ("acme".to_owned(), reply(0, 2, 0)),
            ("acme".to_owned(), reply(60_000, 3, 2)),
        ];
        let recorded = recorded(Vec::new(), series, 60_000);
        let told = |one: &RecordedInterval| (one.at.0, one.demand, one.served);
        let told: Vec<_> = recorded.meters.iter().map(told).collect();
        assert_eq!(told, [(0, 2, 2), (60_000, 11, 8)]);
    }

    #[test]
    fn a_guard_counts_what_its_budget_rejected_as_demand() {
        let mut counters = TenantCounters::default();
        let tally = GuardTally {
            allowed: Count(4),
            rejected_budget: Count(3),
            rejected_concurrency: Count(2),
            ..GuardTally::default()
        };
        counters.guards.insert("queries".to_owned(), tally);
        let reply = SeriesReply {
            points: BTreeMap::from([(EpochMs(0), counters)]),
            told_at: None,
        };
        let recorded = recorded(Vec::new(), vec![("a".to_owned(), reply)], 60_000);
        assert_eq!(
            (recorded.guards[0].demand, recorded.guards[0].served),
            (7, 4)
        );
    }

    #[test]
    fn of_the_windows_of_all_regions_the_newest_are_looked_at_and_the_rest_is_counted() {
        let of = |region: &str, ends_at: u64| -> WindowRecord {
            let text = format!(
                r#"{{ "budget": "tokens", "region": "{region}", "label": {ends_at}, "ends_at": {ends_at}, "limit": 1,
                  "complete": true, "granted": null, "admitted": 0, "returned": 0, "unaccounted": null, "exact": true,
                  "denied": 0, "jain": null, "tenants_seen": 0, "tenants": [] }}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let windows = |region| (1..=PREVIEW_WINDOWS_MAX).map(move |end| of(region, end));
        let recorded = recorded(
            windows("weur").chain(windows("apac")).collect(),
            Vec::new(),
            0,
        );
        let oldest = recorded.budgets.iter().map(|one| one.label).min();
        assert_eq!(recorded.budgets.len() as u64, PREVIEW_WINDOWS_MAX);
        assert_eq!(
            (oldest, recorded.left_out),
            (Some(PREVIEW_WINDOWS_MAX / 2 + 1), PREVIEW_WINDOWS_MAX)
        );
    }

    #[test]
    fn the_busiest_are_few_and_none_of_them_stands_for_several() {
        let mut counters = Counters::new();
        for number in 0..100_u128 {
            counters.insert(format!("t{number:03}"), metered(number, 0));
        }
        counters.insert(OTHERS.to_owned(), metered(1_000, 0));
        let busiest = busiest(&counters);
        assert_eq!(busiest.len(), PREVIEW_TENANTS_MAX);
        assert_eq!(busiest[0], "t099");
    }
}
