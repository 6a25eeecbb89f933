//! Limits of every algorithm, drawn, with times that matter to them.

use proptest::prelude::*;
use weir_shared::algorithms::Algorithm;
use weir_shared::algorithms::calendar::{Period, Zone};
use weir_shared::algorithms::dual_token_bucket::DualTokenBucket;
use weir_shared::algorithms::fixed_window::FixedWindow;
use weir_shared::algorithms::gcra::Gcra;
use weir_shared::algorithms::quota::Quota;
use weir_shared::algorithms::sliding_log::SlidingLog;
use weir_shared::algorithms::sliding_window::SlidingWindow;
use weir_shared::algorithms::token_bucket::TokenBucket;
use weir_shared::units::EpochMs;
use weir_shared::wire::decimal::Decimal;
use weir_shared::wire::policy::Cadence;

/// When schedules start: a time of the present.
pub const START: EpochMs = EpochMs(1_700_000_000_123);

/// Small limits of every algorithm, in windows of a second or so, and calendar days.
pub fn algorithm() -> impl Strategy<Value = Algorithm> {
    let (limit, window_ms) = (1..=12_u64, 1..=2_000_u64);
    prop_oneof![
        (limit.clone(), window_ms.clone(), 1..=12_u64).prop_map(|(limit, window_ms, burst)| {
            Algorithm::Gcra(Gcra::new(limit, window_ms, burst).unwrap())
        }),
        (1..=120_u32, 1..=500_u32).prop_map(|(capacity, refill)| {
            let tenths = |number| Decimal(f64::from(number) / 10.0);
            let (capacity, refill) = (tenths(capacity + 9), tenths(refill));
            Algorithm::TokenBucket(TokenBucket::new(capacity, refill).unwrap())
        }),
        (1..=120_u32, 1..=500_u32, 0..=4_u32).prop_map(|(capacity, refill, faster)| {
            let tenths = |number| Decimal(f64::from(number) / 10.0);
            let (peak, peak_refill) = (capacity.min(30) + 9, refill * (1 + faster));
            let [capacity, refill] = [capacity + 9, refill].map(tenths);
            let bucket = DualTokenBucket::new(capacity, refill, tenths(peak), tenths(peak_refill));
            Algorithm::DualTokenBucket(bucket.unwrap())
        }),
        (limit.clone(), window_ms.clone()).prop_map(|(limit, window_ms)| {
            Algorithm::FixedWindow(FixedWindow::new(limit, window_ms).unwrap())
        }),
        (limit.clone(), window_ms.clone(), 1..=12_u64).prop_map(|(limit, window_ms, buckets)| {
            Algorithm::SlidingWindow(SlidingWindow::new(limit, window_ms, buckets).unwrap())
        }),
        (limit.clone(), window_ms.clone()).prop_map(|(limit, window_ms)| {
            Algorithm::SlidingLog(SlidingLog::new(limit, window_ms).unwrap())
        }),
        (limit.clone(), -840..=840_i64).prop_map(|(limit, minutes)| {
            let zone = Zone::offset(minutes).unwrap();
            let days = Period::calendar(Cadence::CalendarDay, zone, 1).unwrap();
            Algorithm::Quota(Quota::new(limit, days).unwrap())
        }),
        (limit, window_ms, 1..=12_u64).prop_map(|(limit, window_ms, buckets)| {
            Algorithm::Quota(Quota::rolling(limit, window_ms, buckets).unwrap())
        }),
    ]
}

/// Milliseconds between two events: often none, often within a window, now and then over a day.
pub fn gap_ms() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => Just(0),
        4 => 1..=200_u64,
        2 => 1..=3_000_u64,
        1 => 1..=100_000_000_u64,
    ]
}
