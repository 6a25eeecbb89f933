//! What a meter refuses to be, and what its debt comes to.

use weir_shared::algorithms::deficit_bucket::DeficitBucket;
use weir_shared::decision::Reason;
use weir_shared::limits::{BURST_SECONDS_MAX, DEBT_MS_MAX};
use weir_shared::wire::decimal::Decimal;

use super::START;

fn field(per_sec: f64, burst_seconds: f64, max_debt_ms: u64) -> Option<String> {
    let bucket = DeficitBucket::new(Decimal(per_sec), Decimal(burst_seconds), max_debt_ms);
    bucket.err().map(|invalid| invalid.field)
}

#[test]
fn numbers_out_of_their_range_are_refused_with_their_field() {
    let at = |field: &str| Some(field.to_owned());
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1.000_000_001e9] {
        assert_eq!(field(bad, 1.0, 1_000), at("/per_sec"), "{bad}");
    }
    let above = BURST_SECONDS_MAX as f64 + 1.0;
    for bad in [0.0, -0.5, f64::NAN, f64::INFINITY, above] {
        assert_eq!(field(1.0, bad, 1_000), at("/burst_seconds"), "{bad}");
    }
    for bad in [0, DEBT_MS_MAX + 1, u64::MAX] {
        assert_eq!(field(1.0, 1.0, bad), at("/max_debt_ms"), "{bad}");
    }
    assert_eq!(field(0.1 + 0.2, 1.0, 1_000), at("/per_sec"), "17 decimals");
    assert_eq!(field(1e9, BURST_SECONDS_MAX as f64, DEBT_MS_MAX), None);
    assert_eq!(field(1_000.0, 10.0, 60_000), None);
}

#[test]
fn a_meter_that_could_never_admit_one_unit_is_refused() {
    assert_eq!(field(0.1, 5.0, 4_999), Some("/burst_seconds".to_owned()));
    assert_eq!(field(0.1, 5.0, 5_000), None, "0.5 and a debt of 0.5");
}

#[test]
fn a_batch_beyond_the_debt_is_refused_for_good_and_leaves_the_bucket_as_it_was() {
    // A batch of a million at 100 a second would be 9,999 s of debt.
    let meter = DeficitBucket::new(Decimal(100.0), Decimal(1.0), 60_000).unwrap();
    let batch = meter.check(None, 1_000_000, START);
    assert_eq!((batch.decision.reason, batch.next), (Reason::Never, None));
    assert_eq!(batch.decision.limit, 6_100, "the largest admissible size");
    assert!(meter.check(None, 6_100, START).decision.admitted());
}
