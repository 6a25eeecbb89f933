//! The leaky bucket as a shaper (Turner 1986, the queue form), exact: what comes too fast leaves later instead of being
//! refused, unless it would wait too long.
//!
//! What is kept is when the next unit may leave. A reservation waits from now until then and moves it by its own cost
//! over the rate. The rate is a ratio, so time is kept in ticks of `1 / ticks_per_ms` milliseconds and nothing rounds.

use serde::{Deserialize, Serialize};

use super::meter::{Asked, Due, Meter, saturated};
use super::rational::{Rational, rate_per_sec};
use super::scale::ScaledState;
use super::state::State;
use super::used::Used;
use crate::decision::Retry;
use crate::invalid::{Fault, Invalid, within};
use crate::limits::{DECIMALS_MAX, QUEUE_MS_MAX, RATE_PER_SEC_MAX, REFILL_MS_MAX};
use crate::units::EpochMs;
use crate::wire::decimal::Decimal;

/// The longest JSON of a [`State`](super::State) of this kind: every number at 20 digits.
const STATE_BYTES_MAX: u64 = 142;

/// A shaper through which `rate_per_sec` units leave, with waits of at most `max_queue_ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeakyBucket {
    /// Its level is the wait, its size the longest one.
    meter: Meter,
}

/// When the next unit may leave: `ms` and `ticks` of `1 / ticks_per_ms` milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeakyBucketState {
    /// Whole milliseconds since the epoch.
    pub ms: u64,
    /// The rest, in ticks; below `ticks_per_ms`.
    pub ticks: u64,
    /// Ticks in one millisecond when this was written, so that a changed rate reads it exactly.
    pub ticks_per_ms: u64,
    /// When this was written: nothing that happens to the key is earlier.
    pub latest_ms: u64,
}

/// What a shaper answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation {
    /// Whether it may leave, after `delay_ms`.
    pub accepted: bool,
    /// How long it waits before it leaves; 0 when it was refused.
    pub delay_ms: u64,
    /// When the same cost would be accepted; [`Retry::Now`] when it was.
    pub retry: Retry,
}

/// What a reservation came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reserved {
    /// The answer.
    pub outcome: Reservation,
    /// The state to keep; `None` when it is as before.
    pub next: Option<LeakyBucketState>,
}

impl LeakyBucketState {
    /// How many units wait is not known without their rate: while any do, all that the other rules admit is used.
    pub(super) fn used(&self, now: EpochMs) -> Used {
        let now = now.max(EpochMs(self.latest_ms));
        let waits = now.0 < self.ms.saturating_add(u64::from(self.ticks > 0));
        Used::at(waits.then_some((now, u64::MAX)))
    }
}

impl LeakyBucket {
    /// `rate_per_sec` above 0 and at most 10^9, `max_queue_ms` from 0 to 400 days, both with at most 15 decimals.
    ///
    /// # Errors
    /// A number out of its range, or with more decimals, and a rate at which one unit takes over ten years, each with
    /// its field.
    ///
    /// ```
    /// use weir_shared::algorithms::leaky_bucket::LeakyBucket;
    /// use weir_shared::decision::Retry;
    /// use weir_shared::units::EpochMs;
    /// use weir_shared::wire::decimal::Decimal;
    /// // One unit every 333.3 ms, and no wait above half a second.
    /// let shaper = LeakyBucket::new(Decimal(3.0), Decimal(500.0)).unwrap();
    /// let now = EpochMs(50_000);
    /// let one = shaper.reserve(None, 1, now);
    /// assert_eq!(one.outcome.delay_ms, 0);
    /// let two = shaper.reserve(one.next.as_ref(), 1, now);
    /// assert_eq!(two.outcome.delay_ms, 334);
    /// let three = shaper.reserve(two.next.as_ref(), 1, now); // would wait 666.7 ms
    /// assert!(!three.outcome.accepted);
    /// assert_eq!(three.outcome.retry, Retry::AfterMs(167)); // by then it waits 499.7 ms
    /// ```
    pub fn new(rate: Decimal, max_queue_ms: Decimal) -> Result<Self, Invalid> {
        let units_per_sec = rate_per_sec("/rate_per_sec", rate)?;
        let queue_ms = queue_ms(max_queue_ms)?;
        let meter = Meter::per_second(units_per_sec)
            .filter(|meter| meter.drained_ms(meter.ticks(1)) <= REFILL_MS_MAX)
            .ok_or_else(|| {
                let fault = Fault::OutOfRange {
                    got: rate.0.to_string(),
                    min: format!("one unit in {REFILL_MS_MAX} ms"),
                    max: RATE_PER_SEC_MAX.to_string(),
                };
                Invalid::new("/rate_per_sec", fault)
            })?;
        let queue = u128::from(meter.ticks_per_ms) * u128::from(queue_ms.numerator());
        Ok(Self {
            meter: meter.with_size(queue / u128::from(queue_ms.denominator())),
        })
    }

    /// Reserves the departure of `cost` units at `now`. It is refused if it would wait for more than `max_queue_ms`,
    /// for good if its units take over ten years to leave; a refusal changes nothing. A cost of 0 looks: it tells what
    /// one unit would meet and changes nothing.
    #[must_use]
    pub fn reserve(&self, state: Option<&LeakyBucketState>, cost: u64, now: EpochMs) -> Reserved {
        let asked = Asked::clamped(now, state.map(|state| state.latest_ms));
        let wait = state.map_or(0, |state| self.wait(state, asked.at));
        let retry = self.retry(wait, cost, asked);
        let accepted = retry == Retry::Now;
        let outcome = Reservation {
            accepted,
            delay_ms: if accepted {
                self.meter.drained_ms(wait)
            } else {
                0
            },
            retry,
        };
        let next =
            (accepted && cost > 0).then(|| self.write(wait + self.meter.ticks(cost), asked.at));
        Reserved { outcome, next }
    }

    fn retry(&self, wait: u128, cost: u64, asked: Asked) -> Retry {
        if cost > self.ceiling() {
            return Retry::Never;
        }
        let above = wait.saturating_sub(self.meter.size);
        if above == 0 {
            return Retry::Now;
        }
        let at = asked.at.plus(self.meter.drained_ms(above));
        Retry::AfterMs(at.since(asked.now))
    }

    /// The state of a key whose queue is full at `now`: what a state that cannot be read is taken for.
    #[must_use]
    pub fn exhausted(&self, now: EpochMs) -> LeakyBucketState {
        self.write(self.meter.size + self.meter.ticks(1), now)
    }

    /// The state of an empty queue in which what was used waits, up to a full queue.
    pub(super) fn charged(&self, used: &Used, latest: EpochMs) -> LeakyBucketState {
        let full = self.meter.size + self.meter.ticks(1);
        let (per_ms, per_unit) = (self.meter.ticks_per_ms, self.meter.ticks_per_unit);
        self.write(used.level(per_ms, per_unit, full), latest)
    }

    /// What to keep in the place of a state of another algorithm: see [`Algorithm::carried`](super::Algorithm::carried).
    #[must_use]
    pub fn carried(&self, state: &ScaledState, now: EpochMs) -> Option<LeakyBucketState> {
        let used = match &state.state {
            State::LeakyBucket(_) => return None,
            other => other.rescaled(state.scale, 1).used(now),
        };
        Some(self.charged(&used, used.latest()?))
    }

    /// The first millisecond at which `state` is no different from a cold key.
    #[must_use]
    pub fn expires_at(&self, state: &LeakyBucketState) -> EpochMs {
        EpochMs(state.ms.saturating_add(u64::from(state.ticks > 0)))
    }

    /// The largest cost: what leaves in ten years.
    #[must_use]
    pub fn ceiling(&self) -> u64 {
        let ticks = u128::from(REFILL_MS_MAX) * u128::from(self.meter.ticks_per_ms);
        saturated(ticks / u128::from(self.meter.ticks_per_unit))
    }

    /// Bytes of one stored state, as JSON, at most: four numbers of 20 digits and their names.
    #[must_use]
    pub fn state_bytes_max(&self) -> u64 {
        STATE_BYTES_MAX
    }

    /// Ticks from `at` to when the next unit may leave, rounded up where the rate has changed.
    fn wait(&self, state: &LeakyBucketState, at: EpochMs) -> u128 {
        let due = Due {
            ms: state.ms,
            ticks: state.ticks,
            ticks_per_ms: state.ticks_per_ms,
        };
        self.meter.level_until(due, at)
    }

    fn write(&self, wait: u128, at: EpochMs) -> LeakyBucketState {
        let due = self.meter.due(wait, at);
        LeakyBucketState {
            ms: due.ms,
            ticks: due.ticks,
            ticks_per_ms: due.ticks_per_ms,
            latest_ms: at.0,
        }
    }
}

fn queue_ms(max_queue_ms: Decimal) -> Result<Rational, Invalid> {
    let field = "/max_queue_ms";
    let ms = within(field, max_queue_ms.0, 0.0..=QUEUE_MS_MAX as f64)?;
    if ms == 0.0 {
        return Ok(Rational::whole(0));
    }
    Rational::above_zero(ms, QUEUE_MS_MAX, DECIMALS_MAX).map_err(|fault| Invalid::new(field, fault))
}
