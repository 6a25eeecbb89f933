//! Who is counted for what, and with whom.

use weir_wire::count::Count;

use super::*;

#[test]
fn tenants_beyond_the_bound_are_counted_together_and_none_is_lost() {
    let mut counters = Counters::new();
    for number in 0..50 {
        let tenant = format!("tenant-{number}");
        let reason = if number % 2 == 0 {
            Reason::Admitted
        } else {
            Reason::OverShare
        };
        let asked = asked(&tenant, false, reason);
        count(&mut counters, &asked, 10);
    }
    assert_eq!(counters.len(), 11);
    let mut total = Tally::default();
    for tenant in counters.values() {
        total.add(&tenant.total());
    }
    assert_eq!((total.admitted_units.0, total.denied_units.0), (50, 50));
    assert_eq!(counters[OTHERS].total().admitted_calls.0, 20);
}

fn asked(tenant: &str, known: bool, reason: Reason) -> Decided<'_> {
    Decided {
        tenant,
        known,
        charged: Charged::Limit("ip"),
        reason,
        units: 2,
    }
}

#[test]
fn a_tenant_that_the_policy_names_is_told_apart_however_many_are_invented() {
    let mut counters = Counters::new();
    for number in 0..50 {
        count(
            &mut counters,
            &asked(&format!("t{number}"), false, Reason::Admitted),
            10,
        );
    }
    count(&mut counters, &asked("acme", true, Reason::Admitted), 10);
    assert_eq!(counters["acme"].total().admitted_units.0, 2);
    let mut merged = Counters::new();
    for number in 50..100 {
        count(
            &mut merged,
            &asked(&format!("t{number}"), false, Reason::Admitted),
            10,
        );
    }
    merge(&mut merged, &counters, 10);
    assert_eq!(merged["acme"].total().admitted_units.0, 2);
    assert!(merged["acme"].known);
}

#[test]
fn what_an_overload_resource_denied_is_counted_beside_what_it_admitted_and_apart_from_limits() {
    let mut counters = Counters::new();
    for (reason, units) in [
        (Reason::Admitted, 3),
        (Reason::Overloaded, 5),
        (Reason::Overloaded, 7),
    ] {
        let decided = Decided {
            charged: Charged::Overload("origin"),
            units,
            ..asked("acme", true, reason)
        };
        count(&mut counters, &decided, 10);
    }
    let mut merged = counters.clone();
    merge(&mut merged, &counters, 10);
    let acme = &merged["acme"];
    let tally = acme.overload["origin"];
    assert_eq!((tally.admitted_units.0, tally.admitted_calls.0), (2 * 3, 2));
    assert_eq!((tally.denied_units.0, tally.denied_calls.0), (2 * 12, 4));
    assert_eq!((acme.names(), acme.calls()), (1, 6));
    assert_eq!(acme.total(), Tally::default());
    assert_eq!(TenantCounters::default().names_of(acme), 1);
}

#[test]
fn a_guard_counts_each_reason_by_itself_and_the_newest_word_on_its_slots() {
    let mut counters = Counters::new();
    let guard = |reason| Decided {
        charged: Charged::Guard("queries"),
        ..asked("acme", true, reason)
    };
    for (reason, times) in [
        (Reason::Admitted, 4),
        (Reason::Concurrency, 3),
        (Reason::LimitExceeded, 2),
        (Reason::Unavailable, 1),
    ] {
        for _ in 0..times {
            count(&mut counters, &guard(reason), 10);
        }
    }
    for (slots, at) in [(3, 20), (1, 10)] {
        let word = InFlight {
            slots,
            at: EpochMs(at),
            until: EpochMs(at + 30),
        };
        in_flight(&mut counters, ("acme", true), "queries", word, 10);
    }
    let tally = counters["acme"].guards["queries"];
    let counts = [
        tally.allowed,
        tally.rejected_concurrency,
        tally.rejected_budget,
        tally.rejected_other,
    ];
    assert_eq!(counts.map(|count| count.0), [4, 3, 2, 1]);
    assert_eq!(tally.in_flight.slots_at(EpochMs(49)), 3);
}

#[test]
fn what_is_billed_is_what_was_used_of_the_meters_that_are_billed() {
    let mut counters = Counters::new();
    for (meter, reason, units) in [
        ("bytes", Reason::Admitted, 3),
        ("bytes", Reason::Admitted, 4),
        ("bytes", Reason::LimitExceeded, 50),
        ("rows", Reason::Admitted, 600),
        ("calls", Reason::Admitted, 7_000),
    ] {
        let decided = Decided {
            charged: Charged::Meter(meter),
            units,
            ..asked("acme", true, reason)
        };
        count(&mut counters, &decided, 10);
    }
    let acme = &counters["acme"];
    assert_eq!(acme.billable_units(|meter| meter != "calls"), Count(607));
    assert_eq!(acme.billable_units(|_| false), Count(0));
}

#[test]
fn names_and_calls_of_all_kinds_are_summed_up() {
    let mut counters = Counters::new();
    let reasons = [
        Reason::Admitted,
        Reason::LimitExceeded,
        Reason::Concurrency,
        Reason::Unavailable,
    ];
    let kinds: [fn(&'static str) -> Charged<'static>; 5] = [
        Charged::Budget,
        Charged::Limit,
        Charged::Meter,
        Charged::Guard,
        Charged::Overload,
    ];
    let names = ["a", "b", "c", "d", "e"];
    let mut calls = 0;
    for (kind, charged) in kinds.into_iter().enumerate() {
        // One budget, two limits, and so on, each called once for each reason and once in shadow.
        for name in &names[..=kind] {
            for reason in reasons {
                let decided = Decided {
                    charged: charged(name),
                    ..asked("acme", true, reason)
                };
                count(&mut counters, &decided, 10);
                calls += 1;
            }
            let decided = Decided {
                charged: charged(name),
                ..asked("acme", true, Reason::LimitExceeded)
            };
            count_as(&mut counters, &decided, CountedAs::WouldDeny, 10);
            calls += 1;
        }
    }
    let acme = &counters["acme"];
    assert_eq!((acme.names(), acme.calls()), (15, calls));
    assert_eq!(TenantCounters::default().names_of(acme), 15);
    assert_eq!(acme.names_of(acme), 0);
}
