//! The deficit bucket: a token bucket in which a batch may go into debt, exact. In any time `t` it admits at most
//! `per_sec * t + capacity + debt`.
//!
//! A bucket starts with `capacity = per_sec * burst_seconds` tokens, `per_sec` flow in up to it. While any token is
//! left, a batch is admitted that leaves at most `debt = per_sec * max_debt_ms / 1000` tokens owed, is charged in full,
//! and what it owes has to flow in before anything else is admitted. So one batch blocks those after it for at most
//! `max_debt_ms`, and one of up to `debt` tokens passes whenever there is any token. Debt is never forgiven.
//!
//! What is kept is how many tokens are missing, as for a [token bucket](super::token_bucket); with no token left, or
//! some owed, more than `capacity` are.

pub use super::bucket::BucketState as DeficitBucketState;
use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::{BURST_SECONDS_MAX, DEBT_MS_MAX, DECIMALS_MAX, JSON_INTEGER_MAX};
use weir_core::units::EpochMs;
use weir_decision::{Decision, Reason, Retry};
use weir_wire::decimal::Decimal;
use weir_wire::limit_terms::MeterTerms;

use super::carry::Carry;
use super::meter::{AskedAt, Meter, saturated};
use super::rational::{Rational, rate_per_sec};
use super::tally::TallyMark;
use super::used::Used;
use super::{Checked, QuotaPolicy};

/// The longest JSON of a [`State`](super::State) of this kind: every number at 20 digits.
const STATE_BYTES_MAX: u64 = 225;

/// A bucket of `per_sec * burst_seconds` tokens into which `per_sec` flow, and which may owe what flows in within
/// `max_debt_ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeficitBucket {
    per_sec: Rational,
    burst_seconds: Rational,
    max_debt_ms: u64,
    /// Its level is what is missing, its size all that may be: capacity and debt.
    meter: Meter,
    /// The lowest level at which no token is left: the capacity in ticks, rounded up.
    empty: u128,
}

impl TryFrom<&MeterTerms> for DeficitBucket {
    type Error = Invalid;

    fn try_from(terms: &MeterTerms) -> Result<Self, Invalid> {
        Self::new(terms.per_sec, terms.burst_seconds, terms.max_debt_ms)
    }
}

impl DeficitBucket {
    /// `per_sec` above 0 and at most 10^9, `burst_seconds` above 0 and at most a day, both with at most 15 decimals, and
    /// `max_debt_ms` from 1 to a day.
    ///
    /// # Errors
    /// A number out of its range, or with more decimals, each with its field; also a capacity that is, with the debt,
    /// below one token or above 2^53 - 1.
    ///
    /// ```
    /// use weir_algorithms::deficit_bucket::DeficitBucket;
    /// use weir_decision::Reason;
    /// use weir_core::units::EpochMs;
    /// use weir_wire::decimal::Decimal;
    /// // 100 tokens a second, a bucket of 100, and debts of up to 6,000.
    /// let bucket = DeficitBucket::new(Decimal(100.0), Decimal(1.0), 60_000).unwrap();
    /// let now = EpochMs(50_000);
    /// let batch = bucket.check(None, 500, now); // 100 - 500: 400 are owed
    /// assert!(batch.decision.admitted());
    /// let denied = bucket.check(batch.next.as_ref(), 1, now).decision;
    /// assert_eq!(denied.retry.after_ms(), Some(4_001)); // at 4,000 ms there is none left, but none owed
    /// let above = bucket.check(None, 6_101, now).decision;
    /// assert_eq!((above.reason, above.limit), (Reason::Never, 6_100)); // 100 + 6,000
    /// ```
    pub fn new(
        per_sec: Decimal,
        burst_seconds: Decimal,
        max_debt_ms: u64,
    ) -> Result<Self, Invalid> {
        let per_sec = rate_per_sec("/per_sec", per_sec)?;
        let burst = Rational::above_zero(burst_seconds.0, BURST_SECONDS_MAX, DECIMALS_MAX)
            .map_err(|fault| Invalid::new("/burst_seconds", fault))?;
        if !(1..=DEBT_MS_MAX).contains(&max_debt_ms) {
            let fault = out_of_range(max_debt_ms, "1", DEBT_MS_MAX);
            return Err(Invalid::new("/max_debt_ms", fault));
        }
        let bounded = |bucket: &Self| (1..=JSON_INTEGER_MAX).contains(&bucket.meter.ceiling);
        Self::of(per_sec, burst, max_debt_ms)
            .filter(bounded)
            .ok_or_else(|| {
                let max = format!("what is {JSON_INTEGER_MAX} tokens, the debt included");
                let min = "what is one token, the debt included";
                Invalid::new("/burst_seconds", out_of_range(burst_seconds.0, min, max))
            })
    }

    /// `None` when a number passes its bits.
    fn of(per_sec: Rational, burst_seconds: Rational, max_debt_ms: u64) -> Option<Self> {
        let meter = Meter::per_second(per_sec)?;
        // What flows in while it fills: whole ticks and a rest.
        let ticks_per_sec = u128::from(meter.ticks_per_ms) * 1_000;
        let capacity = ticks_per_sec.checked_mul(u128::from(burst_seconds.numerator()))?;
        let per = u128::from(burst_seconds.denominator());
        let debt = u128::from(meter.ticks_per_ms) * u128::from(max_debt_ms);
        Some(Self {
            per_sec,
            burst_seconds,
            max_debt_ms,
            meter: meter.with_size((capacity / per).checked_add(debt)?),
            empty: capacity.div_ceil(per),
        })
    }

    /// Decides `cost` tokens at `now`. A cost of 0 looks: it tells what one token would meet and changes nothing.
    ///
    /// `limit` is the largest cost that a full bucket admits, `remaining` how many single tokens it would admit now.
    #[must_use]
    pub fn check(
        &self,
        state: Option<&DeficitBucketState>,
        cost: u64,
        now: EpochMs,
    ) -> Checked<DeficitBucketState> {
        let asked = AskedAt::clamped(now, state.map(|state| state.latest_ms));
        let level = self.level(state, asked.at);
        let (reason, retry) = self.reason(level, cost, asked);
        let charged = reason == Reason::Admitted && cost > 0;
        let after = charged.then(|| level + self.meter.ticks(cost));
        let decision = Decision {
            reason,
            limit: self.meter.ceiling,
            remaining: self.singles(after.unwrap_or(level)),
            reset_at: asked.at.plus(self.meter.drained_ms(after.unwrap_or(level))),
            retry,
        };
        let next = after.map(|after| {
            DeficitBucketState::charged(state, &self.meter, (level, after), cost, asked.at)
        });
        Checked { decision, next }
    }

    fn reason(&self, level: u128, cost: u64, asked: AskedAt) -> (Reason, Retry) {
        let size = self.meter.ticks(cost.max(1));
        if size > self.meter.size {
            return (Reason::Never, Retry::Never);
        }
        // The highest level at which it is admitted: some token is left, and no more is owed than may be.
        let highest = self.empty.saturating_sub(1).min(self.meter.size - size);
        if level <= highest {
            return (Reason::Admitted, Retry::Now);
        }
        let at = asked.at.plus(self.meter.drained_ms(level - highest));
        (
            Reason::LimitExceeded,
            Retry::AfterMs(at.since(asked.now).max(1)),
        )
    }

    /// How many requests of one token would be admitted one after another: the last one finds a part of a token.
    fn singles(&self, level: u128) -> u64 {
        let per_token = u128::from(self.meter.ticks_per_unit);
        let left = self.empty.saturating_sub(level).div_ceil(per_token);
        let room = self.meter.size.saturating_sub(level) / per_token;
        saturated(left.min(room))
    }

    /// The largest cost that would be admitted at `now`.
    ///
    /// ```
    /// use weir_algorithms::deficit_bucket::DeficitBucket;
    /// use weir_core::units::EpochMs;
    /// use weir_wire::decimal::Decimal;
    /// let bucket = DeficitBucket::new(Decimal(10.0), Decimal(2.0), 1_000).unwrap();
    /// let now = EpochMs(50_000);
    /// let one = bucket.check(None, 1, now);
    /// assert_eq!(one.decision.remaining, 19); // one by one
    /// assert_eq!(bucket.at_once(one.next.as_ref(), now), 29); // 19 and a debt of 10
    /// ```
    #[must_use]
    pub fn at_once(&self, state: Option<&DeficitBucketState>, now: EpochMs) -> u64 {
        let asked = AskedAt::clamped(now, state.map(|state| state.latest_ms));
        let level = self.level(state, asked.at);
        if level >= self.empty {
            return 0;
        }
        let room = self.meter.size.saturating_sub(level);
        saturated(room / u128::from(self.meter.ticks_per_unit))
    }

    /// What names the charge that led to `after`, the state right after it.
    #[must_use]
    pub fn receipt(&self, after: &DeficitBucketState) -> TallyMark {
        after.tally.mark()
    }

    /// Puts back `units` of the charge that `receipt` names, also those taken under other numbers; `None` when there is
    /// nothing to put back.
    #[must_use]
    pub fn refund(
        &self,
        state: &DeficitBucketState,
        receipt: &TallyMark,
        units: u64,
        now: EpochMs,
    ) -> Option<DeficitBucketState> {
        state.refunded(&self.meter, receipt, units, now)
    }

    /// The state of a bucket that owes all that it may at `now`: what a state that cannot be read is taken for.
    #[must_use]
    pub fn exhausted(&self, now: EpochMs) -> DeficitBucketState {
        DeficitBucketState::exhausted(&self.meter, now)
    }

    /// The first millisecond at which the bucket is full.
    #[must_use]
    pub fn expires_at(&self, state: &DeficitBucketState) -> EpochMs {
        state.full_at(&self.meter)
    }

    /// Tokens that were taken may be spent at any later time: they are out of the bucket for good.
    #[must_use]
    pub fn spendable_until(&self, _after: &DeficitBucketState, _now: EpochMs) -> EpochMs {
        EpochMs(u64::MAX)
    }

    /// The largest cost that a full bucket admits: its tokens and what it may owe.
    #[must_use]
    pub fn ceiling(&self) -> u64 {
        self.meter.ceiling
    }

    /// The tokens of a full bucket, in the time in which it fills.
    #[must_use]
    pub fn quota_policy(&self) -> QuotaPolicy {
        let per_token = u128::from(self.meter.ticks_per_unit);
        let ms = u128::from(self.burst_seconds.numerator()) * 1_000;
        QuotaPolicy {
            quota: saturated(self.empty.div_ceil(per_token)),
            window_ms: saturated(ms.div_ceil(u128::from(self.burst_seconds.denominator()))),
        }
    }

    /// Bytes of one stored state, as JSON, at most: seven numbers of 20 digits and their names.
    #[must_use]
    pub fn state_bytes_max(&self) -> u64 {
        STATE_BYTES_MAX
    }

    /// The same bucket counted in parts of `1 / scale` of a token; `None` for a scale of 0 and where a number passes
    /// its bits.
    #[must_use]
    pub fn scaled(&self, scale: u64) -> Option<Self> {
        if scale == 0 {
            return None;
        }
        let per_sec = self.per_sec.times(scale)?;
        Self::of(per_sec, self.burst_seconds, self.max_debt_ms)
    }

    fn level(&self, state: Option<&DeficitBucketState>, at: EpochMs) -> u128 {
        state.map_or(0, |state| state.level(&self.meter, at))
    }
}

impl Carry for DeficitBucket {
    type State = DeficitBucketState;

    /// The state of a full bucket that is charged what was used, up to all that it admits.
    fn charged(&self, used: &Used, latest: EpochMs) -> DeficitBucketState {
        DeficitBucketState::spent(&self.meter, used, latest)
    }
}

fn out_of_range(got: impl ToString, min: &str, max: impl ToString) -> Fault {
    Fault::OutOfRange {
        got: got.to_string(),
        min: min.to_owned(),
        max: max.to_string(),
    }
}
