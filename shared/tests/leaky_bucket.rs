//! Properties of the shaper, over drawn rates and queues with decimals.

use crate::drawn::{START_MS, config, decimal};
use proptest::prelude::*;
use weir_shared::algorithms::State;
use weir_shared::algorithms::leaky_bucket::{LeakyBucket, LeakyBucketState, Place, Reservation};
use weir_shared::algorithms::sleep::sleep_chunks;
use weir_shared::decision::Retry;
use weir_shared::limits::{FREE_PLACES_MAX, REFILL_MS_MAX, TIMER_MS_MAX};
use weir_shared::units::EpochMs;
use weir_shared::wire::decimal::Decimal;

/// `rate / 10^rate_decimals` units a second, and a queue of `queue / 10^queue_decimals` milliseconds.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    rate: u64,
    rate_decimals: u32,
    queue: u64,
    queue_decimals: u32,
}

impl Numbers {
    fn shaper(self) -> Option<LeakyBucket> {
        let rate = decimal(self.rate, self.rate_decimals);
        LeakyBucket::new(rate, decimal(self.queue, self.queue_decimals)).ok()
    }

    /// A millisecond in parts of which all departures are whole.
    fn ms(self) -> u128 {
        u128::from(self.rate) * 10_u128.pow(self.queue_decimals)
    }

    /// The parts of one unit's turn: 1000 / rate milliseconds.
    fn unit(self) -> u128 {
        1_000 * 10_u128.pow(self.rate_decimals) * 10_u128.pow(self.queue_decimals)
    }

    /// The parts of the longest wait.
    fn queue(self) -> u128 {
        u128::from(self.queue) * u128::from(self.rate)
    }
}

fn numbers() -> impl Strategy<Value = Numbers> {
    let rate = prop_oneof![
        3 => (1..=50_u64, Just(0)),
        3 => (1..=2_000_u64, 0..=4_u32),
        1 => (Just(10_000_000_u64), Just(0)),
        1 => (1..=999_999_999_u64, 0..=9_u32),
    ];
    let queue = prop_oneof![
        1 => (Just(0_u64), Just(0)),
        4 => (0..=10_000_u64, 0..=1_u32),
        1 => (Just(3_000_000_000_u64), Just(0)),
    ];
    let numbers =
        (rate, queue).prop_map(|((rate, rate_decimals), (queue, queue_decimals))| Numbers {
            rate,
            rate_decimals,
            queue,
            queue_decimals,
        });
    numbers.prop_filter("a unit leaves in ten years", |numbers| {
        numbers.shaper().is_some()
    })
}

/// Gaps, forth and back, and costs of a schedule.
fn schedule() -> impl Strategy<Value = (Numbers, Vec<(i64, u64)>)> {
    numbers().prop_flat_map(|numbers| {
        let unit_ms = i64::try_from(numbers.unit() / numbers.ms()).unwrap();
        let gap_ms = prop_oneof![
            4 => Just(0),
            2 => 0..=3_i64,
            3 => 0..=unit_ms + 1,
            1 => -2 * unit_ms - 3..=0,
        ];
        let cost = prop_oneof![1 => Just(0), 6 => Just(1), 3 => 1..=5_u64, 1 => any::<u64>()];
        (Just(numbers), prop::collection::vec((gap_ms, cost), 1..=20))
    })
}

/// A key, with a plain account of when the next unit may leave, in parts, since the start.
struct Key {
    numbers: Numbers,
    shaper: LeakyBucket,
    state: Option<LeakyBucketState>,
    now: EpochMs,
    latest: EpochMs,
    free: u128,
}

impl Key {
    fn cold(numbers: Numbers) -> Self {
        Self {
            numbers,
            shaper: numbers.shaper().unwrap(),
            state: None,
            now: EpochMs(START_MS),
            latest: EpochMs(0),
            free: 0,
        }
    }

    fn take(&mut self, gap_ms: i64, cost: u64) -> Reservation {
        self.now = EpochMs(self.now.0.saturating_add_signed(gap_ms));
        let reserved = self.shaper.reserve(self.state.as_ref(), cost, self.now);
        if let Some(next) = reserved.next {
            self.state = Some(next);
        }
        reserved.outcome
    }

    /// What the account comes to.
    fn expected(&mut self, cost: u64) -> Reservation {
        let ms = self.numbers.ms();
        let at = self.now.max(self.latest);
        let at_parts = u128::from(at.0) * ms;
        let wait = self.free.saturating_sub(at_parts);
        let turn = u128::from(cost.max(1)) * self.numbers.unit();
        let (retry, delay_ms) = if turn > u128::from(REFILL_MS_MAX) * ms {
            (Retry::Never, 0)
        } else if wait > self.numbers.queue() {
            let accepted_at = (self.free - self.numbers.queue()).div_ceil(ms);
            let after_ms = accepted_at - u128::from(self.now.0);
            (Retry::AfterMs(u64::try_from(after_ms).unwrap()), 0)
        } else {
            (Retry::Now, u64::try_from(wait.div_ceil(ms)).unwrap())
        };
        if retry == Retry::Now && cost > 0 {
            self.free = self.free.max(at_parts) + turn;
            self.latest = at;
        }
        Reservation {
            accepted: retry == Retry::Now,
            delay_ms,
            retry,
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_reservation_equals_that_of_an_exact_account((numbers, steps) in schedule()) {
        let mut key = Key::cold(numbers);
        for (gap_ms, cost) in steps {
            let got = key.take(gap_ms, cost);
            prop_assert_eq!(got, key.expected(cost));
        }
    }

    #[test]
    fn what_leaves_never_comes_faster_than_the_rate((numbers, steps) in schedule()) {
        let mut key = Key::cold(numbers);
        let mut latest = EpochMs(0);
        let mut left: Vec<(EpochMs, u128)> = Vec::new();
        for (gap_ms, cost) in steps {
            let cost = cost.min(5);
            let reserved = key.take(gap_ms, cost);
            if reserved.accepted && cost > 0 {
                latest = latest.max(key.now);
                left.push((latest.plus(reserved.delay_ms), u128::from(cost)));
            }
        }
        // A unit that leaves at the end of an interval has not taken its turn in it. A departure may be told up to a
        // millisecond late.
        for (first, (from, _)) in left.iter().enumerate() {
            let mut units = 0;
            for (to, cost) in &left[first..] {
                let ms = u128::from(to.since(*from)) + 1;
                prop_assert!(units * numbers.unit() <= ms * numbers.ms(), "{units} units in {ms} ms");
                units += cost;
            }
        }
    }

    #[test]
    fn a_refusal_changes_nothing_and_its_hint_is_exact((numbers, steps) in schedule(), cost in 0..=3_u64) {
        let mut key = Key::cold(numbers);
        for (gap_ms, cost) in steps {
            key.take(gap_ms, cost);
        }
        for _ in 0..3 {
            let reserved = key.shaper.reserve(key.state.as_ref(), cost, key.now);
            let at = |now| key.shaper.reserve(key.state.as_ref(), cost, now).outcome.accepted;
            if let Retry::AfterMs(after_ms) = reserved.outcome.retry {
                prop_assert_eq!(reserved.next, None);
                prop_assert!(after_ms >= 1);
                prop_assert!(at(key.now.plus(after_ms)));
                prop_assert!(!at(key.now.plus(after_ms - 1)));
                return Ok(());
            }
            key.take(0, 1);
        }
    }

    #[test]
    fn a_changed_rate_never_lets_anything_leave_earlier((numbers, steps) in schedule(), other in numbers()) {
        let mut key = Key::cold(numbers);
        for (gap_ms, cost) in steps {
            key.take(gap_ms, cost);
        }
        let Some(state) = key.state else {
            return Ok(());
        };
        let other = LeakyBucket::new(decimal(other.rate, other.rate_decimals), Decimal(34_560_000_000.0)).unwrap();
        let expected = key.shaper.expires_at(&state).since(EpochMs(state.latest_ms));
        let reserved = other.reserve(Some(&state), 1, EpochMs(state.latest_ms)).outcome;
        if reserved.accepted {
            prop_assert_eq!(reserved.delay_ms, expected);
        }
    }

    #[test]
    fn sleeps_add_up_to_the_delay_in_pieces_that_a_timer_takes(delay_ms in 0..=200 * TIMER_MS_MAX) {
        let pieces: Vec<u64> = sleep_chunks(delay_ms).collect();
        prop_assert_eq!(pieces.iter().sum::<u64>(), delay_ms);
        prop_assert!(pieces.iter().all(|piece_ms| (1..=TIMER_MS_MAX).contains(piece_ms)));
        prop_assert_eq!(pieces.len() as u64, delay_ms.div_ceil(TIMER_MS_MAX));
    }
}

#[test]
fn a_wait_of_thirty_days_is_slept_in_full() {
    let thirty_days_ms = 30 * 24 * 3_600_000;
    // One unit in thirty days: the second waits that long.
    let rate = Decimal(0.000_001);
    let shaper = LeakyBucket::new(rate, Decimal(3_000_000_000.0)).unwrap();
    let now = EpochMs(START_MS);
    let first = shaper.reserve(None, 3, now);
    let second = shaper.reserve(first.next.as_ref(), 1, now);
    assert_eq!(second.outcome.delay_ms, 3_000_000_000); // 3 units of 10^9 ms
    assert_eq!(
        sleep_chunks(thirty_days_ms).collect::<Vec<_>>(),
        [2_147_483_647, 444_516_353]
    );
    assert_eq!(
        sleep_chunks(second.outcome.delay_ms).sum::<u64>(),
        3_000_000_000
    );
}

#[test]
fn a_queue_that_cannot_be_read_counts_as_full() {
    let shaper = LeakyBucket::new(Decimal(10.0), Decimal(2_000.0)).unwrap();
    let now = EpochMs(START_MS);
    let full = shaper.exhausted(now);
    let refused = shaper.reserve(Some(&full), 1, now).outcome;
    assert_eq!(
        (refused.accepted, refused.retry),
        (false, Retry::AfterMs(100))
    );
    assert_eq!(shaper.expires_at(&full), now.plus(2_100));
}

#[test]
fn numbers_out_of_range_are_refused_with_their_field() {
    let cases = [
        (
            0.0,
            1.0,
            "/rate_per_sec",
            "0 is outside 0.000000000000001 to 1000000000",
        ),
        (
            2e9,
            1.0,
            "/rate_per_sec",
            "2000000000 is outside 0.000000000000001 to 1000000000",
        ),
        (
            0.000_000_001,
            1.0,
            "/rate_per_sec",
            "0.000000001 is outside one unit in 315360000000 ms to 1000000000",
        ),
        (1.0, -1.0, "/max_queue_ms", "-1 is outside 0 to 34560000000"),
        (
            1.0,
            34_560_000_001.0,
            "/max_queue_ms",
            "34560000001 is outside 0 to 34560000000",
        ),
        (
            1.0,
            0.1 + 0.2,
            "/max_queue_ms",
            "0.30000000000000004 has more than 15 decimals",
        ),
    ];
    for (rate, queue, field, message) in cases {
        let refused = LeakyBucket::new(Decimal(rate), Decimal(queue)).unwrap_err();
        assert_eq!(
            (refused.field.as_str(), refused.fault.to_string().as_str()),
            (field, message)
        );
    }
}

#[test]
fn a_state_is_no_longer_than_told_and_decided_with_any_numbers() {
    let shaper = LeakyBucket::new(Decimal(7.3), Decimal(250.5)).unwrap();
    let numbers = [0, 1, START_MS, i64::MAX as u64, u64::MAX];
    let mut longest = 0;
    for ms in numbers {
        for ticks in numbers {
            for ticks_per_ms in numbers {
                for latest_ms in numbers {
                    let place = Place {
                        ms,
                        ticks,
                        length: latest_ms,
                    };
                    let state = LeakyBucketState {
                        ms,
                        ticks,
                        ticks_per_ms,
                        latest_ms,
                        last: Some(place),
                        free: vec![place; FREE_PLACES_MAX],
                    };
                    for now in numbers {
                        let reserved = shaper.reserve(Some(&state), now, EpochMs(now));
                        assert!(reserved.next.is_none() || reserved.outcome.accepted);
                        let receipt = shaper.receipt(&state).unwrap();
                        let _back = shaper.refund(&state, &receipt, now, EpochMs(now));
                    }
                    let json = serde_json::to_string(&State::LeakyBucket(state)).unwrap();
                    longest = longest.max(json.len() as u64);
                }
            }
        }
    }
    assert_eq!(longest, shaper.state_bytes_max());
}
