//! Counters over time.

use weir_shared::accounting::interval::{add_point, rolled_up, row, rows, sources};
use weir_shared::accounting::pick::pick;
use weir_shared::limits::{HOUR_MS, MINUTE_MS};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;
use weir_shared::wire::accounting::{Counters, MeterTally, OTHERS, TenantCounters};
use weir_shared::wire::cells::StoredCell;
use weir_shared::wire::count::Count;

fn counters(tenant: &str, units: u128) -> Counters {
    let tally = MeterTally {
        admitted_calls: Count(1),
        admitted_units: Count(units),
        ..MeterTally::default()
    };
    let counters = TenantCounters {
        meters: [("bytes".to_owned(), tally)].into(),
        ..TenantCounters::default()
    };
    Counters::from([(tenant.to_owned(), counters)])
}

#[test]
fn a_tenant_is_found_in_its_row_whatever_its_name() {
    for name in ["acme", "quo\"te", "back\\slash", "é/~", " "] {
        let mut all = counters(name, 5);
        all.extend(counters("duff", 7));
        let rows: OrderedMap<_, _> = rows(&all, 1).unwrap().into_iter().collect();
        let found = pick(&rows[&row(Some(name))], name).unwrap().unwrap();
        assert_eq!(found.meters["bytes"].admitted_units, Count(5), "{name}");
        let sum = pick(&rows[&row(None)], OTHERS).unwrap().unwrap();
        assert_eq!(sum.meters["bytes"].admitted_units, Count(12));
    }
}

#[test]
fn an_hour_is_the_sum_of_its_minutes() {
    let minutes = (0..60).map(|minute| counters("acme", minute));
    let cell: StoredCell = serde_json::from_str(&rolled_up(minutes).unwrap()).unwrap();
    let tally = cell.counters()["acme"].meters["bytes"];
    assert_eq!(
        (tally.admitted_calls, tally.admitted_units),
        (Count(60), Count(59 * 30))
    );
}

#[test]
fn minutes_are_read_as_far_back_as_they_are_kept_and_hours_before() {
    let oldest = EpochMs(10 * HOUR_MS);
    let [hours, minutes] = sources(EpochMs(7 * HOUR_MS), EpochMs(12 * HOUR_MS), oldest);
    assert_eq!(
        hours,
        (HOUR_MS, EpochMs(7 * HOUR_MS), EpochMs(10 * HOUR_MS))
    );
    assert_eq!(
        minutes,
        (MINUTE_MS, EpochMs(10 * HOUR_MS), EpochMs(12 * HOUR_MS))
    );
    let [hours, minutes] = sources(EpochMs(11 * HOUR_MS), EpochMs(12 * HOUR_MS), oldest);
    assert!(hours.1 >= hours.2, "{hours:?}");
    assert_eq!(minutes.1, EpochMs(11 * HOUR_MS));
}

#[test]
fn a_longer_step_sums_shorter_intervals() {
    let mut points = OrderedMap::new();
    for minute in 0..10 {
        let one = counters("acme", 1).remove("acme").unwrap();
        add_point(
            &mut points,
            EpochMs(minute * MINUTE_MS),
            5 * MINUTE_MS,
            &one,
        );
    }
    let units: Vec<_> = points
        .values()
        .map(|point| point.meters["bytes"].admitted_units.0)
        .collect();
    assert_eq!(units, [5, 5]);
}
