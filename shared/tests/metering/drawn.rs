//! Drawn meters, and schedules whose gaps and costs matter to them.

use proptest::prelude::*;
use weir_shared::algorithms::deficit_bucket::DeficitBucket;
use weir_shared::limits::{BURST_SECONDS_MAX, DEBT_MS_MAX, JSON_INTEGER_MAX};
use weir_shared::wire::decimal::Decimal;

/// A meter of `rate / 10^rate_decimals` units a second, full after `burst / 10^burst_decimals` seconds.
#[derive(Debug, Clone, Copy)]
pub struct Numbers {
    pub rate: u64,
    pub rate_decimals: u32,
    pub burst: u64,
    pub burst_decimals: u32,
    pub max_debt_ms: u64,
}

impl Numbers {
    /// So many whole units a second, full after so many seconds.
    pub fn whole(rate: u64, burst: u64, max_debt_ms: u64) -> Self {
        Self {
            rate,
            rate_decimals: 0,
            burst,
            burst_decimals: 0,
            max_debt_ms,
        }
    }

    pub fn bucket(self) -> Option<DeficitBucket> {
        let per_sec = decimal(self.rate, self.rate_decimals);
        let burst_seconds = decimal(self.burst, self.burst_decimals);
        DeficitBucket::new(per_sec, burst_seconds, self.max_debt_ms).ok()
    }

    /// Whole milliseconds in which one unit flows in, rounded down.
    pub fn unit_ms(self) -> u64 {
        1_000 * 10_u64.pow(self.rate_decimals) / self.rate
    }
}

/// `digits / 10^decimals`, as a policy has it.
fn decimal(digits: u64, decimals: u32) -> Decimal {
    Decimal(format!("{digits}e-{decimals}").parse().unwrap())
}

/// Meters of every size that admit at least one unit.
pub fn numbers() -> impl Strategy<Value = Numbers> {
    let rate = prop_oneof![
        4 => (1..=50_u64, Just(0)),
        3 => (1..=2_000_u64, 0..=3_u32),
        2 => (1..=20_000_000_u64, 0..=7_u32),
    ];
    let burst = prop_oneof![
        3 => (1..=10_u64, Just(0)),
        3 => (1..=5_000_u64, 1..=4_u32),
        1 => (1..=BURST_SECONDS_MAX, Just(0)),
    ];
    let debt_ms = prop_oneof![3 => 1..=3_000_u64, 2 => Just(60_000), 1 => 1..=DEBT_MS_MAX];
    (rate, burst, debt_ms).prop_filter_map(
        "it admits one unit",
        |((rate, rate_decimals), (burst, burst_decimals), max_debt_ms)| {
            let numbers = Numbers {
                rate,
                rate_decimals,
                burst,
                burst_decimals,
                max_debt_ms,
            };
            numbers.bucket().map(|_| numbers)
        },
    )
}

/// What happens next: time passes, a clock may step back, and a cost is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub gap_ms: i64,
    pub cost: u64,
    /// Which of the earlier charges is given back, and what part of it, of 256.
    pub refund: Option<(prop::sample::Index, u8)>,
}

fn step(numbers: Numbers) -> impl Strategy<Value = Step> {
    let ceiling = numbers.bucket().map_or(1, |bucket| bucket.ceiling());
    let unit_ms = i64::try_from(numbers.unit_ms()).unwrap();
    let debt_ms = i64::try_from(numbers.max_debt_ms).unwrap();
    let gap_ms = prop_oneof![
        3 => Just(0),
        2 => 0..=3_i64,
        3 => 0..=3 * unit_ms + 1,
        2 => 0..=2 * debt_ms,
        1 => -2 * unit_ms - 3..=0,
    ];
    let cost = prop_oneof![
        1 => Just(0),
        5 => Just(1),
        3 => 1..=ceiling.min(5),
        3 => 1..=ceiling,
        1 => Just(ceiling),
        1 => ceiling + 1..=ceiling + 3,
        1 => Just(JSON_INTEGER_MAX),
    ];
    let refund = prop::option::weighted(0.3, (any::<prop::sample::Index>(), any::<u8>()));
    (gap_ms, cost, refund).prop_map(|(gap_ms, cost, refund)| Step {
        gap_ms,
        cost,
        refund,
    })
}

/// A meter with a schedule.
pub fn schedule(steps_max: usize) -> impl Strategy<Value = (Numbers, Vec<Step>)> {
    numbers().prop_flat_map(move |numbers| {
        (
            Just(numbers),
            prop::collection::vec(step(numbers), 1..=steps_max),
        )
    })
}
