//! The dual token bucket: a rate with a burst, and a peak rate that the burst may not exceed. In any time `t` it admits at
//! most `capacity + refill_per_sec * t` and at most `peak_capacity + peak_per_sec * t` (the sustained and the peak cell
//! rate of ITU-T I.371; `rate`, `burst`, `peakrate` and `minburst` of Linux's `tc-tbf`; RFC 2698 meters by the same two
//! buckets).
//!
//! Two [token buckets](super::token_bucket) are asked at one instant, and a charge takes from both or from neither. Both
//! are exact, so the decision is.

use serde::{Deserialize, Serialize};
use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::RATE_PER_SEC_MAX;
use weir_core::units::EpochMs;
use weir_decision::Decision;
use weir_wire::decimal::Decimal;

use super::carry::{CarriedState, Carry};
use super::meter::AskedAt;
use super::tally::TallyMark;
use super::token_bucket::{TokenBucket, TokenBucketState};
use super::used::Used;
use super::{Checked, QuotaPolicy};

/// The longest JSON of a [`State`](super::State) of this kind: every number at 20 digits.
const STATE_BYTES_MAX: u64 = 456;

/// A bucket for the sustained rate and one for the peak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DualTokenBucket {
    sustained: TokenBucket,
    peak: TokenBucket,
}

/// What is missing in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DualTokenBucketState {
    sustained: TokenBucketState,
    peak: TokenBucketState,
}

/// The charge in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DualTokenBucketReceipt {
    sustained: TallyMark,
    peak: TallyMark,
}

impl DualTokenBucket {
    /// `capacity` and `refill_per_sec` as of a [token bucket](TokenBucket::new), and those of the peak: a smaller bucket
    /// that refills sooner, because another one would never decide.
    ///
    /// # Errors
    /// As [`TokenBucket::new`], each with its field; a peak that holds more than `capacity`, at `/peak_capacity`, and
    /// one that refills more slowly than `refill_per_sec`, at `/peak_per_sec`.
    ///
    /// ```
    /// use weir_algorithms::dual_token_bucket::DualTokenBucket;
    /// use weir_core::units::EpochMs;
    /// use weir_wire::decimal::Decimal;
    /// // 100 at once in all and 1 a second, but no more than 10 at once and 20 a second.
    /// let [capacity, refill, peak, peak_refill] = [100.0, 1.0, 10.0, 20.0].map(Decimal);
    /// let bucket = DualTokenBucket::new(capacity, refill, peak, peak_refill).unwrap();
    /// let now = EpochMs(50_000);
    /// let taken = bucket.check(None, 10, now);
    /// assert_eq!(taken.decision.remaining, 0); // 90 of 100 are left, and none of the peak's 10
    /// let denied = bucket.check(taken.next.as_ref(), 1, now);
    /// assert_eq!(denied.decision.retry.after_ms(), Some(50)); // 1 / 20 s
    /// ```
    pub fn new(
        capacity: Decimal,
        refill_per_sec: Decimal,
        peak_capacity: Decimal,
        peak_per_sec: Decimal,
    ) -> Result<Self, Invalid> {
        let sustained = TokenBucket::new(capacity, refill_per_sec)?;
        let peak = TokenBucket::new(peak_capacity, peak_per_sec).map_err(|refused| Invalid {
            field: match refused.field.as_str() {
                "/capacity" => "/peak_capacity",
                _ => "/peak_per_sec",
            }
            .to_owned(),
            ..refused
        })?;
        if peak_capacity.0 > capacity.0 {
            let fault = out_of_range(peak_capacity, "what is above 0", capacity);
            return Err(Invalid::new("/peak_capacity", fault));
        }
        if peak_per_sec.0 < refill_per_sec.0 {
            let fault = out_of_range(
                peak_per_sec,
                refill_per_sec.0,
                Decimal(RATE_PER_SEC_MAX as f64),
            );
            return Err(Invalid::new("/peak_per_sec", fault));
        }
        Ok(Self { sustained, peak })
    }

    /// Decides `cost` tokens at `now`. A cost of 0 looks: it tells what one token would meet and changes nothing.
    ///
    /// `limit` and `remaining` are of the bucket that has less, `reset_at` is when both are full.
    #[must_use]
    pub fn check(
        &self,
        state: Option<&DualTokenBucketState>,
        cost: u64,
        now: EpochMs,
    ) -> Checked<DualTokenBucketState> {
        let asked = AskedAt::clamped(now, state.map(DualTokenBucketState::latest_ms));
        let (sustained, peak) = self.check_both(state, cost, asked);
        let next = sustained.next.zip(peak.next);
        if let Some((next_sustained, next_peak)) = next {
            return Checked {
                decision: together(sustained.decision, peak.decision),
                next: Some(DualTokenBucketState {
                    sustained: next_sustained,
                    peak: next_peak,
                }),
            };
        }
        // One of them may have admitted: what is left is told as if it had not.
        let (full, fast) = self.check_both(state, 0, asked);
        let left = together(full.decision, fast.decision);
        let denied = together(sustained.decision, peak.decision);
        let decision = Decision {
            remaining: left.remaining,
            reset_at: left.reset_at,
            ..denied
        };
        Checked {
            decision,
            next: None,
        }
    }

    fn check_both(
        &self,
        state: Option<&DualTokenBucketState>,
        cost: u64,
        asked: AskedAt,
    ) -> (Checked<TokenBucketState>, Checked<TokenBucketState>) {
        let sustained = state.map(|state| &state.sustained);
        let peak = state.map(|state| &state.peak);
        (
            self.sustained.check_asked(sustained, cost, asked),
            self.peak.check_asked(peak, cost, asked),
        )
    }

    /// What names the charge that led to `after`, the state right after it.
    #[must_use]
    pub fn receipt(&self, after: &DualTokenBucketState) -> DualTokenBucketReceipt {
        DualTokenBucketReceipt {
            sustained: self.sustained.receipt(&after.sustained),
            peak: self.peak.receipt(&after.peak),
        }
    }

    /// Puts back `units` of the charge that `receipt` names into each bucket that still lacks them, also those taken
    /// under other numbers; `None` when neither does.
    ///
    /// ```
    /// use weir_algorithms::dual_token_bucket::DualTokenBucket;
    /// use weir_core::units::EpochMs;
    /// use weir_wire::decimal::Decimal;
    /// let [capacity, refill, peak, peak_refill] = [100.0, 1.0, 10.0, 20.0].map(Decimal);
    /// let bucket = DualTokenBucket::new(capacity, refill, peak, peak_refill).unwrap();
    /// let taken = bucket.check(None, 10, EpochMs(50_000)).next.unwrap();
    /// let receipt = bucket.receipt(&taken);
    /// // After 1 s the peak's bucket is full again, and 4 of the 9 that the other one lacks are put back.
    /// let now = EpochMs(51_000);
    /// let refunded = bucket.refund(&taken, &receipt, 4, now).unwrap();
    /// let reset_at = |state| bucket.check(Some(state), 0, now).decision.reset_at;
    /// assert_eq!((reset_at(&taken), reset_at(&refunded)), (EpochMs(60_000), EpochMs(56_000)));
    /// ```
    #[must_use]
    pub fn refund(
        &self,
        state: &DualTokenBucketState,
        receipt: &DualTokenBucketReceipt,
        units: u64,
        now: EpochMs,
    ) -> Option<DualTokenBucketState> {
        let at = now.max(EpochMs(state.latest_ms()));
        let sustained = &state.sustained;
        let sustained = self
            .sustained
            .refund(sustained, &receipt.sustained, units, at);
        let peak = self.peak.refund(&state.peak, &receipt.peak, units, at);
        if sustained.is_none() && peak.is_none() {
            return None;
        }
        Some(DualTokenBucketState {
            sustained: sustained.unwrap_or(state.sustained),
            peak: peak.unwrap_or(state.peak),
        })
    }

    /// The state of two buckets that are empty at `now`: what a state that cannot be read is taken for.
    #[must_use]
    pub fn exhausted(&self, now: EpochMs) -> DualTokenBucketState {
        DualTokenBucketState {
            sustained: self.sustained.exhausted(now),
            peak: self.peak.exhausted(now),
        }
    }

    /// The first millisecond at which both buckets are full.
    #[must_use]
    pub fn expires_at(&self, state: &DualTokenBucketState) -> EpochMs {
        let sustained = self.sustained.expires_at(&state.sustained);
        sustained.max(self.peak.expires_at(&state.peak))
    }

    /// Tokens that were taken may be spent at any later time: they are out of both buckets for good.
    #[must_use]
    pub fn spendable_until(&self, _after: &DualTokenBucketState, _now: EpochMs) -> EpochMs {
        EpochMs(u64::MAX)
    }

    /// The largest cost that two full buckets admit: the whole tokens of the peak's.
    #[must_use]
    pub fn ceiling(&self) -> u64 {
        self.sustained.ceiling().min(self.peak.ceiling())
    }

    /// The whole tokens of the larger bucket, in the time in which it fills.
    #[must_use]
    pub fn quota_policy(&self) -> QuotaPolicy {
        self.sustained.quota_policy()
    }

    /// Bytes of one stored state, as JSON, at most: two of a token bucket, of which each counts a name of its own.
    #[must_use]
    pub fn state_bytes_max(&self) -> u64 {
        STATE_BYTES_MAX
    }

    /// The same buckets counted in parts of `1 / scale` of a token; `None` for a scale of 0 and where a number passes
    /// its bits.
    #[must_use]
    pub fn scaled(&self, scale: u64) -> Option<Self> {
        Some(Self {
            sustained: self.sustained.scaled(scale)?,
            peak: self.peak.scaled(scale)?,
        })
    }
}

impl DualTokenBucketState {
    fn latest_ms(&self) -> u64 {
        self.sustained.latest_ms.max(self.peak.latest_ms)
    }
}

impl Carry for DualTokenBucket {
    type State = DualTokenBucketState;

    /// The state of two full buckets that are charged what was used, up to all that each admits.
    fn charged(&self, used: &Used, latest: EpochMs) -> DualTokenBucketState {
        DualTokenBucketState {
            sustained: self.sustained.charged(used, latest),
            peak: self.peak.charged(used, latest),
        }
    }
}

impl CarriedState for DualTokenBucketState {
    /// What is missing in the bucket that lacks more.
    fn used(&self, now: EpochMs) -> Used {
        let lacks =
            |state: &TokenBucketState| state.missing.saturating_add(u64::from(state.ticks > 0));
        let emptier = if lacks(&self.peak) > lacks(&self.sustained) {
            &self.peak
        } else {
            &self.sustained
        };
        emptier.used(now.max(EpochMs(self.latest_ms())))
    }

    fn rescaled(&self, from: u64, to: u64) -> Self {
        Self {
            sustained: self.sustained.rescaled(from, to),
            peak: self.peak.rescaled(from, to),
        }
    }
}

/// What both say: the later retry with its reason, the smaller limit and rest, the later end.
fn together(sustained: Decision, peak: Decision) -> Decision {
    let binding = if peak.retry > sustained.retry {
        peak
    } else {
        sustained
    };
    Decision {
        limit: sustained.limit.min(peak.limit),
        remaining: sustained.remaining.min(peak.remaining),
        reset_at: sustained.reset_at.max(peak.reset_at),
        ..binding
    }
}

fn out_of_range(got: Decimal, min: impl ToString, max: Decimal) -> Fault {
    Fault::OutOfRange {
        got: got.0.to_string(),
        min: min.to_string(),
        max: max.0.to_string(),
    }
}
