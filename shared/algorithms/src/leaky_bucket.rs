//! The leaky bucket as a shaper (Turner 1986, the queue form), exact: what comes too fast leaves later instead of being
//! refused, unless it would wait too long.
//!
//! What is kept is when the next unit may leave. A reservation waits from now until then and moves it by its own cost
//! over the rate. The rate is a ratio, so time is kept in ticks of `1 / ticks_per_ms` milliseconds and nothing rounds.
//! Whoever goes away gives its place back: the end of the queue moves forward by it, or the next who comes and fits in
//! gets it.

use serde::{Deserialize, Serialize};
use weir_core::invalid::{Fault, Invalid, within};
use weir_core::limits::{DECIMALS_MAX, QUEUE_MS_MAX, RATE_PER_SEC_MAX, REFILL_MS_MAX};
use weir_core::units::EpochMs;
use weir_decision::{Decision, Reason, Retry};
use weir_wire::decimal::Decimal;

use super::carry::{CarriedState, Carry};
use super::free_places::{FreePlaces, Span};
use super::meter::{AskedAt, Due, Meter, saturated};
use super::rational::{Rational, rate_per_sec};
use super::scale::ScaledState;
use super::used::Used;
use super::{Checked, QuotaPolicy, State};

pub use super::free_places::Place;

/// The longest JSON of a [`State`](super::State) of this kind: every number at 20 digits, and as many free places as are
/// kept.
const STATE_BYTES_MAX: u64 = 941;

/// A shaper through which `rate_per_sec` units leave, with waits of at most `max_queue_ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeakyBucket {
    /// Its level is the wait, its size the longest one.
    meter: Meter,
}

/// When the next unit may leave: `ms` and `ticks` of `1 / ticks_per_ms` milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeakyBucketState {
    /// Whole milliseconds since the epoch.
    pub ms: u64,
    /// The rest, in ticks; below `ticks_per_ms`.
    pub ticks: u64,
    /// Ticks in one millisecond when this was written, so that a changed rate reads it exactly.
    pub ticks_per_ms: u64,
    /// When this was written: nothing that happens to the key is earlier.
    pub latest_ms: u64,
    /// The place that was taken last, which is what a receipt names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Place>,
    /// Places before the end of the queue that were given back, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub free: Vec<Place>,
}

/// What names one place, so that it can be given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeakyBucketReceipt {
    /// The place.
    pub place: Place,
    /// Ticks in one millisecond when it was taken.
    pub ticks_per_ms: u64,
    /// Ticks of one unit when it was taken.
    pub ticks_per_unit: u64,
    /// When it was taken.
    pub taken_ms: u64,
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

impl Reservation {
    /// How it was decided.
    ///
    /// ```
    /// use weir_algorithms::leaky_bucket::Reservation;
    /// use weir_decision::{Reason, Retry};
    /// let refused = |retry| Reservation { accepted: false, delay_ms: 0, retry }.reason();
    /// assert_eq!(refused(Retry::AfterMs(40)), Reason::LimitExceeded);
    /// assert_eq!(refused(Retry::Never), Reason::Never);
    /// assert_eq!(Reservation { accepted: true, delay_ms: 9, retry: Retry::Now }.reason(), Reason::Admitted);
    /// ```
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self.retry {
            _ if self.accepted => Reason::Admitted,
            Retry::Never => Reason::Never,
            _ => Reason::LimitExceeded,
        }
    }
}

/// What a reservation came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reserved {
    /// The answer.
    pub outcome: Reservation,
    /// The state to keep; `None` when it is as before.
    pub next: Option<LeakyBucketState>,
}

impl CarriedState for LeakyBucketState {
    /// How many units wait is not known without their rate: while any do, all that the other rules admit is used.
    fn used(&self, now: EpochMs) -> Used {
        let now = now.max(EpochMs(self.latest_ms));
        let waits = now.0 < self.ms.saturating_add(u64::from(self.ticks > 0));
        Used::at(waits.then_some((now, u64::MAX)))
    }

    /// A queue has no parts.
    fn rescaled(&self, _from: u64, _to: u64) -> Self {
        self.clone()
    }
}

impl LeakyBucketReceipt {
    /// How long after it was taken the place begins, rounded up to milliseconds.
    #[must_use]
    pub fn delay_ms(&self) -> u64 {
        self.place.begins_ms().saturating_sub(self.taken_ms)
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
    /// use weir_algorithms::leaky_bucket::LeakyBucket;
    /// use weir_decision::Retry;
    /// use weir_core::units::EpochMs;
    /// use weir_wire::decimal::Decimal;
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

    /// Reserves the departure of `cost` units at `now`: in the first free place that is long enough, else at the end. It is
    /// refused if it would wait for more than `max_queue_ms`, for good if its units take over ten years to leave; a
    /// refusal changes nothing. A cost of 0 looks: it tells what one unit would meet and changes nothing.
    #[must_use]
    pub fn reserve(&self, state: Option<&LeakyBucketState>, cost: u64, now: EpochMs) -> Reserved {
        let asked = AskedAt::clamped(now, state.map(|state| state.latest_ms));
        let at = self.instant(asked.at);
        let tail = state.map_or(0, |state| self.wait(state, asked.at));
        let mut free = state.map_or_else(FreePlaces::default, |state| self.free(state, at));
        let length = self.meter.ticks(cost.max(1));
        let fits = free.first_fit(length, at);
        let wait = fits.map_or(tail, |place| place.from - at);
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
        let next = (accepted && cost > 0).then(|| {
            let from = at + wait;
            let taken = Span {
                from,
                to: from.saturating_add(length),
            };
            let tail = match fits {
                Some(place) => {
                    free.take(place);
                    tail
                }
                None => tail + length,
            };
            LeakyBucketState {
                last: Some(Place::of(taken, self.meter.ticks_per_ms)),
                free: free.write(self.meter.ticks_per_ms),
                ..self.write(tail, asked.at)
            }
        });
        Reserved { outcome, next }
    }

    /// The same as a decision: what is refused exceeds the limit, which is what may wait at once and the one that leaves.
    ///
    /// ```
    /// use weir_algorithms::leaky_bucket::LeakyBucket;
    /// use weir_core::units::EpochMs;
    /// use weir_wire::decimal::Decimal;
    /// // A unit each 100 ms: one leaves at once, and two wait, for 100 and 200 of 250 ms.
    /// let shaper = LeakyBucket::new(Decimal(10.0), Decimal(250.0)).unwrap();
    /// let now = EpochMs(50_000);
    /// let first = shaper.check(None, 1, now);
    /// assert_eq!((first.decision.limit, first.decision.remaining), (3, 2));
    /// let third = shaper.check(first.next.as_ref(), 2, now).next.unwrap();
    /// let fourth = shaper.check(Some(&third), 1, now).decision;
    /// assert_eq!(fourth.retry.after_ms(), Some(50)); // 300 - 250
    /// assert_eq!(fourth.reset_at, EpochMs(50_300));
    /// ```
    #[must_use]
    pub fn check(
        &self,
        state: Option<&LeakyBucketState>,
        cost: u64,
        now: EpochMs,
    ) -> Checked<LeakyBucketState> {
        let Reserved { outcome, next } = self.reserve(state, cost, now);
        let asked = AskedAt::clamped(now, state.map(|state| state.latest_ms));
        let after = next.as_ref().or(state);
        let tail = after.map_or(0, |state| self.wait(state, asked.at));
        let decision = Decision {
            reason: match outcome.retry {
                Retry::Now => Reason::Admitted,
                Retry::AfterMs(_) => Reason::LimitExceeded,
                Retry::Never => Reason::Never,
            },
            limit: self.places(0),
            remaining: self.places(tail),
            reset_at: asked.at.plus(self.meter.drained_ms(tail)),
            retry: outcome.retry,
        };
        Checked { decision, next }
    }

    /// What names the place that led to `after`, the state right after it was taken. `None` of a state in which none was.
    #[must_use]
    pub fn receipt(&self, after: &LeakyBucketState) -> Option<LeakyBucketReceipt> {
        Some(LeakyBucketReceipt {
            place: after.last?,
            ticks_per_ms: after.ticks_per_ms,
            ticks_per_unit: self.meter.ticks_per_unit,
            taken_ms: after.latest_ms,
        })
    }

    /// Gives back the last `units` of a place, as far as their time has not come: at the end of the queue whoever comes
    /// next leaves so much sooner, before it whoever fits in. `None` when there is nothing to give back, as after a change
    /// of the rate.
    ///
    /// ```
    /// use weir_algorithms::leaky_bucket::LeakyBucket;
    /// use weir_core::units::EpochMs;
    /// use weir_wire::decimal::Decimal;
    /// let shaper = LeakyBucket::new(Decimal(10.0), Decimal(250.0)).unwrap();
    /// let now = EpochMs(50_000);
    /// let first = shaper.reserve(None, 1, now).next.unwrap();
    /// let second = shaper.reserve(Some(&first), 1, now).next.unwrap();
    /// let receipt = shaper.receipt(&second).unwrap();
    /// assert_eq!(receipt.delay_ms(), 100);
    /// let third = shaper.reserve(Some(&second), 1, now).next.unwrap();
    /// // Who waited for 100 ms goes, and who comes next gets that place: the third keeps its own.
    /// let left = shaper.refund(&third, &receipt, 1, now).unwrap();
    /// assert_eq!(shaper.reserve(Some(&left), 1, now).outcome.delay_ms, 100);
    /// ```
    #[must_use]
    pub fn refund(
        &self,
        state: &LeakyBucketState,
        receipt: &LeakyBucketReceipt,
        units: u64,
        now: EpochMs,
    ) -> Option<LeakyBucketState> {
        let ticks_per_ms = self.meter.ticks_per_ms;
        let rate = (ticks_per_ms, self.meter.ticks_per_unit);
        if (receipt.ticks_per_ms, receipt.ticks_per_unit) != rate
            || state.ticks_per_ms != ticks_per_ms
        {
            return None;
        }
        let at_ms = now.max(EpochMs(state.latest_ms));
        let at = self.instant(at_ms);
        let Span { from, to } = receipt.place.span(ticks_per_ms);
        let units_from = to.saturating_sub(self.meter.ticks(units));
        let from = from.max(units_from).max(at);
        let end = at + self.wait(state, at_ms);
        if from >= to || to > end {
            return None;
        }
        let mut free = self.free(state, at);
        if !free.give(Span { from, to }) {
            return None;
        }
        let end = free.trim(end);
        Some(LeakyBucketState {
            free: free.write(ticks_per_ms),
            ..self.write(end.saturating_sub(at), at_ms)
        })
    }

    /// What may wait at once at the rate, and the one that leaves, in the time in which they leave.
    #[must_use]
    pub fn quota_policy(&self) -> QuotaPolicy {
        let quota = self.places(0);
        QuotaPolicy {
            quota,
            window_ms: self.meter.drained_ms(self.meter.ticks(quota)).max(1),
        }
    }

    /// A place is of its time: none is taken ahead.
    #[must_use]
    pub fn spendable_until(&self, _after: &LeakyBucketState, now: EpochMs) -> EpochMs {
        now
    }

    /// How many of one unit each would be accepted behind a wait of `tail` ticks.
    fn places(&self, tail: u128) -> u64 {
        match self.meter.size.checked_sub(tail) {
            Some(room) => saturated(room / u128::from(self.meter.ticks_per_unit)).saturating_add(1),
            None => 0,
        }
    }

    /// An instant in ticks.
    fn instant(&self, at: EpochMs) -> u128 {
        u128::from(at.0) * u128::from(self.meter.ticks_per_ms)
    }

    /// The free places of a state at the instant `at`. Those of another count of ticks are forgotten.
    fn free(&self, state: &LeakyBucketState, at: u128) -> FreePlaces {
        let ticks_per_ms = self.meter.ticks_per_ms;
        if state.ticks_per_ms != ticks_per_ms {
            return FreePlaces::default();
        }
        FreePlaces::read(&state.free, ticks_per_ms, at)
    }

    fn retry(&self, wait: u128, cost: u64, asked: AskedAt) -> Retry {
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

    /// Bytes of one stored state, as JSON, at most: numbers of 20 digits and their names, and eight free places.
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
            last: None,
            free: Vec::new(),
        }
    }

    /// The same for a scale of 1: a place in the queue has no parts.
    pub(super) fn scaled(&self, scale: u64) -> Option<Self> {
        (scale == 1).then_some(*self)
    }
}

impl Carry for LeakyBucket {
    type State = LeakyBucketState;

    /// The state of an empty queue in which what was used waits, up to a full queue.
    fn charged(&self, used: &Used, latest: EpochMs) -> LeakyBucketState {
        let full = self.meter.size + self.meter.ticks(1);
        let (per_ms, per_unit) = (self.meter.ticks_per_ms, self.meter.ticks_per_unit);
        self.write(used.level(per_ms, per_unit, full), latest)
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
