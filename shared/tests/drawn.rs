//! Drawn limits and schedules.

use proptest::prelude::*;
use weir_shared::algorithms::calendar::{Period, Zone};
use weir_shared::algorithms::dual_token_bucket::DualTokenBucket;
use weir_shared::algorithms::fixed_window::FixedWindow;
use weir_shared::algorithms::gcra::Gcra;
use weir_shared::algorithms::quota::Quota;
use weir_shared::algorithms::sliding_log::SlidingLog;
use weir_shared::algorithms::sliding_window::SlidingWindow;
use weir_shared::algorithms::token_bucket::TokenBucket;
use weir_shared::algorithms::{Algorithm, Checked, Receipt, State};
use weir_shared::limits::{JSON_INTEGER_MAX, WINDOW_MS_MAX};
use weir_shared::units::EpochMs;
use weir_shared::wire::decimal::Decimal;
use weir_shared::wire::policy::Cadence;

/// Cases of each property.
pub const CASES: u32 = 10_000;

/// When schedules start: a time of the present.
pub const START_MS: u64 = 1_700_000_000_000;

/// The configuration of a run: nothing is written to disk, a failing case is printed.
pub fn config() -> ProptestConfig {
    cases(CASES)
}

/// The same of so many cases.
pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// A limit with what a schedule needs to know of it.
#[derive(Debug, Clone)]
pub struct Drawn {
    pub algorithm: Algorithm,
    /// Whole milliseconds in which one unit becomes due, rounded down.
    pub unit_ms: u64,
    /// Whole milliseconds in which everything becomes due, rounded up.
    pub full_ms: u64,
}

/// What happens next.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub gap_ms: u64,
    pub cost: u64,
    /// Which of the earlier charges is given back, and what part of it, of 256.
    pub refund: Option<(prop::sample::Index, u8)>,
}

/// A token bucket of `capacity / 10^capacity_decimals` and `rate / 10^rate_decimals` tokens.
#[derive(Debug, Clone, Copy)]
pub struct Bucket {
    pub capacity: u64,
    pub capacity_decimals: u32,
    pub rate: u64,
    pub rate_decimals: u32,
}

impl Bucket {
    pub fn token_bucket(self) -> Option<TokenBucket> {
        let capacity = decimal(self.capacity, self.capacity_decimals);
        TokenBucket::new(capacity, decimal(self.rate, self.rate_decimals)).ok()
    }

    /// Whole tokens of a full bucket.
    pub fn floor(self) -> u64 {
        self.capacity / 10_u64.pow(self.capacity_decimals)
    }

    fn drawn(self) -> Option<Drawn> {
        let algorithm = Algorithm::TokenBucket(self.token_bucket()?);
        let per_unit_ms = 1_000 * 10_u128.pow(self.rate_decimals) / u128::from(self.rate);
        Some(Drawn {
            unit_ms: u64::try_from(per_unit_ms).ok()?,
            full_ms: algorithm.quota_policy().window_ms,
            algorithm,
        })
    }
}

/// `digits / 10^decimals`, as a policy has it.
pub fn decimal(digits: u64, decimals: u32) -> Decimal {
    let digits = format!("{digits:0>width$}", width = decimals as usize + 1);
    let (whole, rest) = digits.split_at(digits.len() - decimals as usize);
    Decimal(format!("{whole}.{rest}0").parse().unwrap())
}

/// Buckets of every size, with up to 15 digits.
pub fn bucket() -> impl Strategy<Value = Bucket> {
    let number = || {
        prop_oneof![
            4 => (1..=50_u64, Just(0)),
            3 => (1..=2_000_u64, 0..=3_u32),
            2 => (1..=20_000_000_u64, 0..=7_u32),
            1 => (1..=999_999_999_999_999_u64, 0..=15_u32),
        ]
    };
    (number(), number()).prop_filter_map(
        "a bucket refills in ten years",
        |((capacity, capacity_decimals), (rate, rate_decimals))| {
            let bucket = Bucket {
                capacity,
                capacity_decimals,
                rate,
                rate_decimals,
            };
            bucket.token_bucket().map(|_| bucket)
        },
    )
}

fn gcra() -> impl Strategy<Value = Drawn> {
    let numbers = prop_oneof![
        3 => (1..=50_u64, 1..=5_000_u64, 1..=20_u64),
        2 => (1_001..=1_000_000_u64, 1..=1_000_u64, 1..=5_000_u64),
        2 => (Just(10_000_000_u64), Just(1_000_u64), 1..=20_000_000_u64),
        1 => (1..=JSON_INTEGER_MAX, 1..=WINDOW_MS_MAX, 1..=JSON_INTEGER_MAX),
    ];
    numbers.prop_filter_map(
        "a burst refills in ten years",
        |(limit, period_ms, burst)| {
            let full_ms = (u128::from(burst) * u128::from(period_ms)).div_ceil(u128::from(limit));
            Some(Drawn {
                algorithm: Algorithm::Gcra(Gcra::new(limit, period_ms, burst).ok()?),
                unit_ms: period_ms / limit,
                full_ms: u64::try_from(full_ms).ok()?,
            })
        },
    )
}

/// Two buckets, of which the one with the smaller capacity refills sooner.
#[derive(Debug, Clone, Copy)]
pub struct DualBucket {
    pub sustained: Bucket,
    pub peak: Bucket,
}

impl DualBucket {
    pub fn dual_token_bucket(self) -> Option<DualTokenBucket> {
        let (sustained, peak) = (self.sustained, self.peak);
        DualTokenBucket::new(
            decimal(sustained.capacity, sustained.capacity_decimals),
            decimal(sustained.rate, sustained.rate_decimals),
            decimal(peak.capacity, peak.capacity_decimals),
            decimal(peak.rate, peak.rate_decimals),
        )
        .ok()
    }

    fn drawn(self) -> Option<Drawn> {
        let (sustained, peak) = (self.sustained.drawn()?, self.peak.drawn()?);
        Some(Drawn {
            algorithm: Algorithm::DualTokenBucket(self.dual_token_bucket()?),
            unit_ms: peak.unit_ms,
            full_ms: sustained.full_ms,
        })
    }
}

/// Two drawn buckets: the larger capacity with the slower rate, and the smaller with the faster.
pub fn dual_bucket() -> impl Strategy<Value = DualBucket> {
    (bucket(), bucket()).prop_filter_map("both refill in ten years", |(one, other)| {
        let holds = |bucket: Bucket| decimal(bucket.capacity, bucket.capacity_decimals).0;
        let flows = |bucket: Bucket| decimal(bucket.rate, bucket.rate_decimals).0;
        let sorted = |more: bool| if more { (one, other) } else { (other, one) };
        let (larger, smaller) = sorted(holds(one) >= holds(other));
        let (faster, slower) = sorted(flows(one) >= flows(other));
        let of = |capacity: Bucket, rate: Bucket| Bucket {
            rate: rate.rate,
            rate_decimals: rate.rate_decimals,
            ..capacity
        };
        let dual = DualBucket {
            sustained: of(larger, slower),
            peak: of(smaller, faster),
        };
        dual.dual_token_bucket().map(|_| dual)
    })
}

/// Limits that meter a rate and admit at least one unit.
pub fn rate() -> impl Strategy<Value = Drawn> {
    let bucket = bucket().prop_filter_map("a whole token", |bucket| {
        bucket.drawn().filter(|_| bucket.floor() > 0)
    });
    let dual = dual_bucket().prop_filter_map("a whole token", |dual| {
        dual.drawn().filter(|_| dual.peak.floor() > 0)
    });
    prop_oneof![gcra(), bucket, dual]
}

/// Limits that count over a time.
fn count() -> impl Strategy<Value = Drawn> {
    let limit = prop_oneof![1..=20_u64, 1..=100_000_u64];
    let window_ms = prop_oneof![1..=20_u64, 1..=5_000_u64, 1..=WINDOW_MS_MAX];
    let zone = Zone::offset(60).unwrap();
    (limit, window_ms, 1..=12_u64, 0..6_u8).prop_map(move |(limit, window_ms, buckets, kind)| {
        let algorithm = match kind {
            0 => Algorithm::FixedWindow(FixedWindow::new(limit, window_ms).unwrap()),
            1 | 2 => {
                let window = SlidingWindow::new(limit, window_ms, buckets).unwrap();
                Algorithm::SlidingWindow(window)
            }
            3 => Algorithm::SlidingLog(SlidingLog::new(limit, window_ms).unwrap()),
            4 => {
                let month = Period::calendar(Cadence::CalendarMonth, zone.clone(), 1).unwrap();
                Algorithm::Quota(Quota::new(limit, month).unwrap())
            }
            _ => Algorithm::Quota(Quota::rolling(limit, window_ms, buckets).unwrap()),
        };
        let full_ms = algorithm.quota_policy().window_ms;
        Drawn {
            unit_ms: full_ms / limit.min(buckets),
            full_ms,
            algorithm,
        }
    })
}

/// Limits of any algorithm.
pub fn any_limit() -> impl Strategy<Value = Drawn> {
    prop_oneof![2 => rate(), 3 => count()]
}

/// A limit with a schedule whose gaps and costs matter to it.
pub fn schedule(
    limits: impl Strategy<Value = Drawn>,
    steps_max: usize,
) -> impl Strategy<Value = (Drawn, Vec<Step>)> {
    limits.prop_flat_map(move |drawn| {
        let step = step(&drawn);
        (Just(drawn), prop::collection::vec(step, 1..=steps_max))
    })
}

fn step(drawn: &Drawn) -> impl Strategy<Value = Step> + use<> {
    let ceiling = drawn.algorithm.ceiling();
    let gap_ms = prop_oneof![
        3 => Just(0),
        2 => 0..=3_u64,
        3 => 0..=3 * drawn.unit_ms + 1,
        1 => 0..=drawn.full_ms + 2,
    ];
    let cost = prop_oneof![
        1 => Just(0),
        4 => Just(1),
        3 => 1..=ceiling.min(5),
        2 => 1..=ceiling,
        1 => Just(ceiling),
        1 => ceiling + 1..=ceiling + 3,
    ];
    let refund = prop::option::of((any::<prop::sample::Index>(), any::<u8>()));
    (gap_ms, cost, refund).prop_map(|(gap_ms, cost, refund)| Step {
        gap_ms,
        cost,
        refund,
    })
}

/// A key with its state, at a time that the schedule moves.
#[derive(Debug, Clone)]
pub struct Key {
    pub algorithm: Algorithm,
    pub state: Option<State>,
    pub now: EpochMs,
}

impl Key {
    pub fn cold(algorithm: &Algorithm) -> Self {
        Self {
            algorithm: algorithm.clone(),
            state: None,
            now: EpochMs(START_MS),
        }
    }

    /// The key as the charges of a schedule leave it.
    pub fn after(algorithm: &Algorithm, steps: &[Step]) -> Self {
        let mut key = Self::cold(algorithm);
        for step in steps {
            key.now = key.now.plus(step.gap_ms);
            key.check(step.cost);
        }
        key
    }

    pub fn check(&mut self, cost: u64) -> Checked<State> {
        let checked = self.at(cost, self.now);
        if let Some(next) = &checked.next {
            self.state = Some(next.clone());
        }
        checked
    }

    /// What a check would come to, without keeping it.
    pub fn at(&self, cost: u64, now: EpochMs) -> Checked<State> {
        self.algorithm.check(self.state.as_ref(), cost, now)
    }

    pub fn is_cold(&self) -> bool {
        let expires_at = self
            .state
            .as_ref()
            .map(|state| self.algorithm.expires_at(state));
        expires_at.is_none_or(|expires_at| expires_at <= self.now)
    }

    pub fn remaining(&self) -> u64 {
        self.at(0, self.now).decision.remaining
    }

    /// What names the latest charge.
    pub fn receipt(&self) -> Receipt {
        self.algorithm.receipt(self.state.as_ref().unwrap())
    }

    /// Whether anything changed.
    pub fn refund(&mut self, receipt: &Receipt, units: u64) -> bool {
        let Some(state) = &self.state else {
            return false;
        };
        let refunded = self.algorithm.refund(state, receipt, units, self.now);
        if refunded.is_some() {
            self.state = refunded;
            return true;
        }
        false
    }
}
