//! What was asked for, as ledgers recorded it, for the preview of a candidate policy.

use std::cmp::Reverse;

use weir_core::limits::PREVIEW_WINDOWS_MAX;
use weir_core::name::tenant_name;
use weir_core::ordered::sort_by_key;
use weir_core::units::EpochMs;
use weir_wire::accounting::{ANONYMOUS, Tally, TenantCounters};
use weir_wire::count::Count;
use weir_wire::series::DemandReply;
use weir_wire::windows::WindowRecord;

use super::{Recorded, RecordedInterval, RecordedTenant, RecordedWindow};

/// The records of windows, the newest of many, and what every tenant asked for by interval, over all regions.
#[must_use]
pub fn recorded(mut windows: Vec<WindowRecord>, demand: DemandReply) -> Recorded {
    sort_by_key(&mut windows, |window| Reverse(window.ends_at));
    let left_out = (windows.len() as u64).saturating_sub(PREVIEW_WINDOWS_MAX);
    windows.truncate(usize::try_from(PREVIEW_WINDOWS_MAX).unwrap_or(usize::MAX));
    let mut recorded = Recorded {
        budgets: windows.into_iter().map(window).collect(),
        left_out,
        interval_ms: demand.step_ms,
        tenants_left_out: demand.left_out,
        ..Recorded::default()
    };
    for (tenant, points) in &demand.tenants {
        for (at, counters) in points {
            let place = Place {
                tenant,
                at: *at,
                interval_ms: demand.step_ms,
            };
            recorded.take(&place, counters);
        }
    }
    recorded
}

/// Whose interval it is, and which.
struct Place<'a> {
    tenant: &'a String,
    at: EpochMs,
    interval_ms: u64,
}

impl Place<'_> {
    fn asked(&self, name: &str, calls: [Count; 3], units: [Count; 3]) -> RecordedInterval {
        let [served, refused, would_deny] = units;
        RecordedInterval {
            name: name.to_owned(),
            tenant: self.tenant.clone(),
            at: self.at,
            interval_ms: self.interval_ms,
            calls: sum(calls),
            demand: sum([served, refused, would_deny]),
            served: sum([served]),
        }
    }

    fn tallied(&self, name: &str, tally: &Tally) -> RecordedInterval {
        let calls = [
            tally.admitted_calls,
            tally.denied_calls,
            tally.would_deny_calls,
        ];
        let units = [
            tally.admitted_units,
            tally.denied_units,
            tally.would_deny_units,
        ];
        self.asked(name, calls, units)
    }
}

impl Recorded {
    fn take(&mut self, place: &Place<'_>, counters: &TenantCounters) {
        let named = tenant_name(place.tenant).is_ok();
        // What several have in common is nobody's; a limit may be asked by nobody.
        if named || place.tenant == ANONYMOUS {
            let limits = counters.limits.iter();
            self.limits
                .extend(limits.map(|(name, tally)| place.tallied(name, tally)));
        }
        if !named {
            return;
        }
        let meters = counters.meters.iter().map(|(name, tally)| {
            let calls = [
                tally.admitted_calls,
                tally.shed_calls,
                tally.would_deny_calls,
            ];
            let units = [
                tally.admitted_units,
                tally.shed_units,
                tally.would_deny_units,
            ];
            place.asked(name, calls, units)
        });
        self.meters.extend(meters);
        let guards = counters.guards.iter().map(|(name, tally)| {
            let calls = [tally.allowed, tally.rejected_budget, tally.would_deny];
            place.asked(name, calls, calls)
        });
        self.guards.extend(guards);
        let overload = counters.overload.iter();
        self.overload
            .extend(overload.map(|(name, tally)| place.tallied(name, tally)));
    }
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
                demand: sum([one.served, one.denied, one.reserved, one.would_deny]),
                served: sum([one.served]),
            })
            .collect(),
    }
}

fn sum<const N: usize>(counts: [Count; N]) -> u64 {
    let counts = counts.iter().map(|count| count.0);
    u64::try_from(counts.fold(0, u128::saturating_add)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {

    use weir_core::ordered::OrderedMap;
    use weir_wire::accounting::{GuardTally, MeterTally, OTHERS};

    use super::*;

    fn told(tenants: &[(&str, u64, TenantCounters)]) -> Recorded {
        let mut demand = DemandReply {
            step_ms: 60_000,
            ..DemandReply::default()
        };
        for (tenant, at, counters) in tenants {
            let points: &mut OrderedMap<_, _> =
                demand.tenants.entry((*tenant).to_owned()).or_default();
            points.insert(EpochMs(*at), counters.clone());
        }
        recorded(Vec::new(), demand)
    }

    #[test]
    fn intervals_of_a_tenant_come_in_the_order_of_time() {
        let metered = |admitted, shed| {
            let mut counters = TenantCounters::default();
            let meter = MeterTally {
                admitted_calls: Count(1),
                admitted_units: Count(admitted),
                shed_calls: Count(2),
                shed_units: Count(shed),
                ..MeterTally::default()
            };
            counters.meters.insert("bytes".to_owned(), meter);
            counters
        };
        let recorded = told(&[("acme", 60_000, metered(8, 3)), ("acme", 0, metered(2, 0))]);
        let of = |one: &RecordedInterval| (one.at.0, one.calls, one.demand, one.served);
        let of: Vec<_> = recorded.meters.iter().map(of).collect();
        assert_eq!(of, [(0, 3, 2, 2), (60_000, 3, 11, 8)]);
        assert_eq!((recorded.intervals(), recorded.interval_ms), (2, 60_000));
    }

    #[test]
    fn an_interval_in_which_several_asked_for_several_things_is_one_of_time() {
        let mut counters = TenantCounters::default();
        let limits = &mut counters.limits;
        limits.insert("login".to_owned(), Tally::default());
        limits.insert("search".to_owned(), Tally::default());
        let of = |tenant: &'static str, at: u64| (tenant, at, counters.clone());
        let recorded = told(&[of("acme", 0), of("acme", 60_000), of("zeta", 60_000)]);
        assert_eq!((recorded.intervals(), recorded.spans()), (6, 2));
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
        let recorded = told(&[("a", 0, counters)]);
        let one = &recorded.guards[0];
        assert_eq!((one.demand, one.served), (7, 4));
    }

    #[test]
    fn a_limit_may_be_asked_by_nobody_and_nothing_is_told_of_those_who_are_counted_together() {
        let mut counters = TenantCounters::default();
        let tally = Tally {
            admitted_calls: Count(2),
            admitted_units: Count(6),
            denied_calls: Count(1),
            denied_units: Count(3),
            would_deny_calls: Count(1),
            would_deny_units: Count(1),
            ..Tally::default()
        };
        counters.limits.insert("login".to_owned(), tally);
        counters.overload.insert("origin".to_owned(), tally);
        let of = |tenant: &'static str| (tenant, 0, counters.clone());
        let recorded = told(&[of(ANONYMOUS), of(OTHERS), of("acme")]);
        let of = |list: &[RecordedInterval]| -> Vec<(String, u64, u64, u64)> {
            let told =
                |one: &RecordedInterval| (one.tenant.clone(), one.calls, one.demand, one.served);
            list.iter().map(told).collect()
        };
        let one = |tenant: &str| (tenant.to_owned(), 4, 10, 6);
        assert_eq!(of(&recorded.limits), [one(ANONYMOUS), one("acme")]);
        assert_eq!(of(&recorded.overload), [one("acme")]);
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
        let windows = windows("weur").chain(windows("apac")).collect();
        let recorded = recorded(windows, DemandReply::default());
        let oldest = recorded.budgets.iter().map(|one| one.label).min();
        assert_eq!(recorded.budgets.len() as u64, PREVIEW_WINDOWS_MAX);
        assert_eq!(
            (oldest, recorded.left_out),
            (Some(PREVIEW_WINDOWS_MAX / 2 + 1), PREVIEW_WINDOWS_MAX)
        );
    }
}
