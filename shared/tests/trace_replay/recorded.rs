//! Recorded counters, as requests.

use serde_json::json;
use weir_shared::ordered::OrderedMap;
use weir_shared::replay::{Replay, busiest};
use weir_shared::units::EpochMs;
use weir_shared::wire::accounting::{Counters, MeterTally, OTHERS, Tally, TenantCounters};
use weir_shared::wire::count::Count;
use weir_shared::wire::replay::ReplayKind;
use weir_shared::wire::series::SeriesReply;

use super::{AT, built, calls, document, with};

/// Counters of one minute.
fn minute(at: u64, counters: TenantCounters) -> SeriesReply {
    SeriesReply {
        points: OrderedMap::from([(EpochMs(at), counters)]),
        told_at: None,
    }
}

fn counted(budget: (u128, u128), meter: (u128, u128)) -> TenantCounters {
    let mut counters = TenantCounters::default();
    let tally = Tally {
        admitted_calls: Count(budget.0),
        admitted_units: Count(budget.0),
        denied_calls: Count(budget.1),
        denied_units: Count(budget.1),
        ..Tally::default()
    };
    counters.budgets.insert("first".to_owned(), tally);
    let tally = MeterTally {
        admitted_calls: Count(meter.0),
        admitted_units: Count(meter.0 * 3),
        shed_calls: Count(meter.1),
        shed_units: Count(meter.1 * 3),
        ..MeterTally::default()
    };
    counters.meters.insert("rows".to_owned(), tally);
    counters
}

#[test]
fn recorded_minutes_are_spread_evenly_and_lose_nothing() {
    let policy = built(&document());
    let unbounded = built(&with("/budgets", json!({})));
    let mut replay = Replay::new(&policy, &unbounded);
    let start = AT / 60_000 * 60_000;
    let one = Some("a".to_owned());
    let series = [
        (one.clone(), minute(start, counted((40, 20), (5, 1)))),
        (one, minute(start, counted((40, 20), (4, 0)))),
        (None, minute(start, counted((1_000, 4_120), (9, 1)))),
    ];
    let entries = replay.recorded(&series).unwrap();
    let at: Vec<u64> = entries.iter().map(|entry| entry.at.0 - start).collect();
    assert!(
        at.is_sorted() && at[0] == 0 && at[at.len() - 1] < 60_000,
        "{at:?}"
    );
    // 120 calls of the tenant, ten at its meter, and those of all others as 600.
    assert_eq!(entries.len(), 120 + 10 + 600);
    for entry in &entries {
        replay.play(entry);
    }
    let body = replay.told(EpochMs(0), None);
    let row = |kind: ReplayKind, tenant: &str| {
        let row = body
            .rows
            .iter()
            .find(|row| row.kind == kind && row.tenant == tenant);
        row.unwrap_or_else(|| panic!("{body:?}"))
    };
    // Two a second of the tenant and some 83 of all others, of which 50 a second pass.
    let (own, others) = (
        row(ReplayKind::Budget, "a"),
        row(ReplayKind::Budget, OTHERS),
    );
    assert_eq!(calls(&own.candidate), [120, 0, 0]);
    assert_eq!(calls(&others.candidate), [5_000, 0, 0]);
    let passed = own.present.admitted_units.0 + others.present.admitted_units.0;
    assert_eq!(passed, 60 * 50);
    assert_eq!(row(ReplayKind::Meter, "a").present.admitted_units.0, 30);
    assert_eq!(body.rows_total, 3);
}

#[test]
fn requests_that_stand_for_many_are_admitted_in_part() {
    let policy = built(&document());
    let mut replay = Replay::new(&policy, &policy);
    let start = AT / 60_000 * 60_000;
    // A million a minute, as 600 requests of some 1,667: each second admits 50 of the first of its ten.
    let series = [(
        Some("a".to_owned()),
        minute(start, counted((1_000_000, 0), (0, 0))),
    )];
    for entry in replay.recorded(&series).unwrap() {
        replay.play(&entry);
    }
    let body = replay.told(EpochMs(0), None);
    assert_eq!(body.rows[0].present.admitted_units.0, 60 * 50);
}

#[test]
fn the_busiest_are_few_and_none_of_them_stands_for_several() {
    let mut counters = Counters::new();
    for number in 0..100_u128 {
        counters.insert(format!("t{number:03}"), counted((number, 0), (0, 0)));
    }
    counters.insert(OTHERS.to_owned(), counted((1_000, 0), (0, 0)));
    let busiest = busiest(&counters);
    assert_eq!((busiest.len(), busiest[0].as_str()), (8, "t099"));
}
