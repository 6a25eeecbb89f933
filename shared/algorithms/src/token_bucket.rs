//! The token bucket (RFC 2215, section 3.6), exact: in any time `t` it admits at most `capacity + refill_per_sec * t`.
//!
//! A bucket starts with `capacity` tokens, `refill_per_sec` flow in up to it, and each unit takes one. What is kept is
//! how many are missing, as whole tokens and ticks of one: with a rate of `p / q` tokens a millisecond in lowest terms,
//! a token is `q` ticks and every millisecond brings `p`. So capacity and rate may be any decimals and nothing rounds.

pub use super::bucket::BucketState as TokenBucketState;
use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::{DECIMALS_MAX, JSON_INTEGER_MAX, REFILL_MS_MAX};
use weir_core::units::EpochMs;
use weir_wire::decimal::Decimal;

use super::carry::Carry;
use super::meter::{AskedAt, Meter, saturated};
use super::rational::{Rational, rate_per_sec};
use super::tally::TallyMark;
use super::used::Used;
use super::{Checked, QuotaPolicy};

/// The longest JSON of a [`State`](super::State) of this kind: every number at 20 digits.
const STATE_BYTES_MAX: u64 = 223;

/// A bucket of `capacity` tokens into which `refill_per_sec` flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBucket {
    capacity: Rational,
    refill_per_sec: Rational,
    meter: Meter,
}

impl TokenBucket {
    /// `capacity` (at most 2^53 - 1) and `refill_per_sec` (at most 10^9), both above 0 with at most 15 decimals.
    ///
    /// # Errors
    /// A number out of its range, or with more decimals, and a capacity that takes over ten years to refill, each with
    /// its field.
    ///
    /// ```
    /// use weir_algorithms::token_bucket::TokenBucket;
    /// use weir_core::units::EpochMs;
    /// use weir_wire::decimal::Decimal;
    /// let bucket = TokenBucket::new(Decimal(7.5), Decimal(2.25)).unwrap();
    /// let now = EpochMs(50_000);
    /// let taken = bucket.check(None, 5, now);
    /// assert_eq!(taken.decision.remaining, 2); // 7.5 - 5 = 2.5
    /// assert_eq!(taken.decision.reset_at, EpochMs(52_223)); // 5 / 2.25 s = 2222.2 ms
    /// let denied = bucket.check(taken.next.as_ref(), 3, now);
    /// assert_eq!(denied.decision.retry.after_ms(), Some(223)); // 0.5 / 2.25 s = 222.2 ms
    /// ```
    pub fn new(capacity: Decimal, refill_per_sec: Decimal) -> Result<Self, Invalid> {
        let capacity_tokens = Rational::above_zero(capacity.0, JSON_INTEGER_MAX, DECIMALS_MAX)
            .map_err(|fault| Invalid::new("/capacity", fault))?;
        let refill_per_sec = rate_per_sec("/refill_per_sec", refill_per_sec)?;
        let refill_ms = refill_ms(capacity_tokens, refill_per_sec);
        Self::of(capacity_tokens, refill_per_sec)
            .filter(|_| refill_ms <= u128::from(REFILL_MS_MAX))
            .ok_or_else(|| {
                let fault = Fault::OutOfRange {
                    got: format!("{} (refills in {refill_ms} ms)", capacity.0),
                    min: "what is above 0".to_owned(),
                    max: format!("what refills in {REFILL_MS_MAX} ms"),
                };
                Invalid::new("/capacity", fault)
            })
    }

    /// `None` when a number passes its bits.
    fn of(capacity: Rational, refill_per_sec: Rational) -> Option<Self> {
        let meter = Meter::per_second(refill_per_sec)?;
        let size = meter.ticks(capacity.numerator()) / u128::from(capacity.denominator());
        Some(Self {
            capacity,
            refill_per_sec,
            meter: meter.with_size(size),
        })
    }

    /// Decides `cost` tokens at `now`. A cost of 0 looks: it tells what one token would meet and changes nothing.
    #[must_use]
    pub fn check(
        &self,
        state: Option<&TokenBucketState>,
        cost: u64,
        now: EpochMs,
    ) -> Checked<TokenBucketState> {
        let asked = AskedAt::clamped(now, state.map(|state| state.latest_ms));
        self.check_asked(state, cost, asked)
    }

    /// The same at an instant that is no earlier than the state's latest.
    #[inline]
    pub(super) fn check_asked(
        &self,
        state: Option<&TokenBucketState>,
        cost: u64,
        asked: AskedAt,
    ) -> Checked<TokenBucketState> {
        let level = state.map_or(0, |state| state.level(&self.meter, asked.at));
        let checked = self.meter.check(level, cost, asked);
        checked.map(|level_after| {
            let levels = (level, level_after);
            TokenBucketState::charged(state, &self.meter, levels, cost, asked.at)
        })
    }

    /// What names the charge that led to `after`, the state right after it.
    #[must_use]
    pub fn receipt(&self, after: &TokenBucketState) -> TallyMark {
        after.tally.mark()
    }

    /// Puts back `units` of the charge that `receipt` names, also those taken under another capacity or rate; `None`
    /// when there is nothing to put back.
    ///
    /// ```
    /// use weir_algorithms::token_bucket::TokenBucket;
    /// use weir_core::units::EpochMs;
    /// use weir_wire::decimal::Decimal;
    /// let bucket = TokenBucket::new(Decimal(10.0), Decimal(1.0)).unwrap();
    /// let taken = bucket.check(None, 8, EpochMs(50_000)).next.unwrap();
    /// let receipt = bucket.receipt(&taken);
    /// // 2 are left, 3 have flowed in after 3 s, and 4 are put back.
    /// let refunded = bucket.refund(&taken, &receipt, 4, EpochMs(53_000)).unwrap();
    /// assert_eq!(bucket.check(Some(&refunded), 0, EpochMs(53_000)).decision.remaining, 9);
    /// ```
    #[must_use]
    pub fn refund(
        &self,
        state: &TokenBucketState,
        receipt: &TallyMark,
        units: u64,
        now: EpochMs,
    ) -> Option<TokenBucketState> {
        state.refunded(&self.meter, receipt, units, now)
    }

    /// The state of a bucket that is empty at `now`: what a state that cannot be read is taken for.
    #[must_use]
    pub fn exhausted(&self, now: EpochMs) -> TokenBucketState {
        TokenBucketState::exhausted(&self.meter, now)
    }

    /// The first millisecond at which the bucket is full.
    #[must_use]
    pub fn expires_at(&self, state: &TokenBucketState) -> EpochMs {
        state.full_at(&self.meter)
    }

    /// Tokens that were taken may be spent at any later time: they are out of the bucket for good.
    #[must_use]
    pub fn spendable_until(&self, _after: &TokenBucketState, _now: EpochMs) -> EpochMs {
        EpochMs(u64::MAX)
    }

    /// The largest cost that a full bucket admits: its whole tokens.
    #[must_use]
    pub fn ceiling(&self) -> u64 {
        self.meter.ceiling
    }

    /// The whole tokens of a full bucket, in the time in which it fills.
    #[must_use]
    pub fn quota_policy(&self) -> QuotaPolicy {
        let refill_ms = refill_ms(self.capacity, self.refill_per_sec);
        QuotaPolicy {
            quota: self.meter.ceiling,
            window_ms: saturated(refill_ms),
        }
    }

    /// Bytes of one stored state, as JSON, at most: seven numbers of 20 digits and their names.
    #[must_use]
    pub fn state_bytes_max(&self) -> u64 {
        STATE_BYTES_MAX
    }

    /// The same bucket counted in parts of `1 / scale` of a token; `None` for a scale of 0 and where a number passes
    /// 64 bits.
    ///
    /// ```
    /// use weir_algorithms::token_bucket::TokenBucket;
    /// use weir_wire::decimal::Decimal;
    /// let halves = TokenBucket::new(Decimal(2.5), Decimal(1.0)).unwrap().scaled(2).unwrap();
    /// assert_eq!(halves.ceiling(), 5); // five halves
    /// ```
    #[must_use]
    pub fn scaled(&self, scale: u64) -> Option<Self> {
        if scale == 0 {
            return None;
        }
        Self::of(
            self.capacity.times(scale)?,
            self.refill_per_sec.times(scale)?,
        )
    }
}

impl Carry for TokenBucket {
    type State = TokenBucketState;

    /// The state of a full bucket that is charged what was used, up to all that it admits.
    fn charged(&self, used: &Used, latest: EpochMs) -> TokenBucketState {
        TokenBucketState::spent(&self.meter, used, latest)
    }
}

/// The milliseconds in which `capacity` flows in, rounded up.
fn refill_ms(capacity: Rational, refill_per_sec: Rational) -> u128 {
    let ms = u128::from(capacity.numerator()) * u128::from(refill_per_sec.denominator()) * 1_000;
    let rate = u128::from(capacity.denominator()) * u128::from(refill_per_sec.numerator());
    ms.div_ceil(rate)
}
