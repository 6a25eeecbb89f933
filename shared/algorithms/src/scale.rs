//! A limit counted in parts of a unit, so that a decimal weight charges whole numbers.
//!
//! With a weight of 0.5 a limit of 10 is kept as 20 halves: at `scale` 2 a cost of 3 charges 3 parts. The limit
//! behaves exactly as in units: only its numbers are `scale` times as large, and what a decision tells is rounded down
//! to units.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use weir_core::units::EpochMs;
use weir_decision::Decision;
use weir_wire::accounting::InFlight;

use super::carry::CarriedState;
use super::guard::Guard;
use super::leaky_bucket::LeakyBucket;
use super::{Algorithm, Checked, QuotaPolicy, Receipt, State};

/// A limit whose costs are given in parts, of which `scale` make a unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaled {
    algorithm: Algorithm,
    scale: u64,
    quota_policy: QuotaPolicy,
}

/// A state with the scale that it was written under.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScaledState {
    /// Parts of a unit; absent in JSON for whole units.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub scale: u64,
    /// The state, in parts.
    pub state: State,
}

/// A receipt with the scale of its charge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScaledReceipt {
    /// Parts of a unit; absent in JSON for whole units.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub scale: u64,
    /// What names the charge.
    pub receipt: Receipt,
    /// The key under which the charge is kept, where that is another than was asked for: an owner's overflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

impl Scaled {
    /// The limit in parts of `1 / scale`; `None` for a scale of 0 and for one with which its numbers would leave what
    /// is exact.
    ///
    /// ```
    /// use weir_algorithms::Algorithm;
    /// use weir_algorithms::gcra::Gcra;
    /// use weir_algorithms::scale::Scaled;
    /// use weir_core::units::EpochMs;
    /// // 10 per second, 2 at once, in halves: a unit is due every 100 ms, a half every 50 ms.
    /// let halves = Scaled::new(&Algorithm::Gcra(Gcra::new(10, 1_000, 2).unwrap()), 2).unwrap();
    /// let now = EpochMs(50_000);
    /// let three = halves.check(None, 3, now);
    /// assert_eq!((three.decision.limit, three.decision.remaining), (2, 0)); // of 1/2 left, no whole unit
    /// let one = halves.check(three.next.as_ref(), 1, now);
    /// assert!(one.decision.admitted()); // the fourth half
    /// let fifth = halves.check(one.next.as_ref(), 1, now);
    /// assert_eq!(fifth.decision.retry.after_ms(), Some(50));
    /// ```
    #[must_use]
    pub fn new(algorithm: &Algorithm, scale: u64) -> Option<Self> {
        if scale == 0 {
            return None;
        }
        Some(Self {
            algorithm: algorithm.scaled(scale)?,
            scale,
            quota_policy: algorithm.quota_policy(),
        })
    }

    /// The limit in whole units.
    #[must_use]
    pub fn whole(algorithm: Algorithm) -> Self {
        Self {
            quota_policy: algorithm.quota_policy(),
            scale: 1,
            algorithm,
        }
    }

    /// The guard that it is, if it is one.
    #[must_use]
    pub fn guard(&self) -> Option<&Guard> {
        match &self.algorithm {
            Algorithm::Guard(guard) => Some(guard),
            _ => None,
        }
    }

    /// The queue that it is, if it is one.
    #[must_use]
    pub fn queue(&self) -> Option<&LeakyBucket> {
        match &self.algorithm {
            Algorithm::LeakyBucket(bucket) => Some(bucket),
            _ => None,
        }
    }

    /// Of a guard, the slots that are held at `now`.
    #[must_use]
    pub fn in_flight(&self, state: Option<&ScaledState>, now: EpochMs) -> Option<InFlight> {
        let state = state.and_then(|state| match &state.state {
            State::Guard(state) => Some(state),
            _ => None,
        });
        Some(self.guard()?.in_flight(state, now))
    }

    /// Parts of a unit.
    #[must_use]
    pub fn scale(&self) -> u64 {
        self.scale
    }

    /// Decides a cost of `parts`. The decision is told in units, rounded down; a cost of 0 looks: it tells what one
    /// part would meet.
    #[must_use]
    pub fn check(
        &self,
        state: Option<&ScaledState>,
        parts: u64,
        now: EpochMs,
    ) -> Checked<ScaledState> {
        let state = state.map(|state| self.read(state));
        let checked = self.algorithm.check(state.as_deref(), parts, now);
        Checked {
            decision: Decision {
                limit: checked.decision.limit / self.scale,
                remaining: checked.decision.remaining / self.scale,
                ..checked.decision
            },
            next: checked.next.map(|state| self.write(state)),
        }
    }

    /// What a cost of `parts` would meet, with the state as it is.
    #[must_use]
    pub fn look(&self, state: Option<&ScaledState>, parts: u64, now: EpochMs) -> Decision {
        let Decision { reason, retry, .. } = self.check(state, parts, now).decision;
        let standing = self.check(state, 0, now).decision;
        Decision {
            reason,
            retry,
            ..standing
        }
    }

    /// Parts that could be charged at once at `now`.
    #[must_use]
    pub fn remaining(&self, state: Option<&ScaledState>, now: EpochMs) -> u64 {
        let state = state.map(|state| self.read(state));
        self.algorithm.at_once(state.as_deref(), now)
    }

    /// The state to keep in the place of one that other rules wrote: see [`Algorithm::carried`]. `None` for one that is
    /// kept as it is.
    #[must_use]
    pub fn carried(&self, state: &ScaledState, now: EpochMs) -> Option<ScaledState> {
        let carried = self.algorithm.carried(&self.read(state), now)?;
        Some(self.write(carried))
    }

    /// What names the charge that led to `after`, the state right after it.
    #[must_use]
    pub fn receipt(&self, after: &ScaledState) -> ScaledReceipt {
        ScaledReceipt {
            scale: self.scale,
            receipt: self.algorithm.receipt(&self.read(after)),
            kept: None,
        }
    }

    /// Gives back `parts` of the charge that `receipt` names; `None` when there is nothing to give back. What was
    /// charged under another scale is not given back.
    #[must_use]
    pub fn refund(
        &self,
        state: &ScaledState,
        receipt: &ScaledReceipt,
        parts: u64,
        now: EpochMs,
    ) -> Option<ScaledState> {
        if receipt.scale != self.scale {
            return None;
        }
        let state = self.read(state);
        let refunded = self
            .algorithm
            .refund(&state, &receipt.receipt, parts, now)?;
        Some(self.write(refunded))
    }

    /// What a state that cannot be read is taken for.
    #[must_use]
    pub fn exhausted(&self, now: EpochMs) -> ScaledState {
        self.write(self.algorithm.exhausted(now))
    }

    /// The first millisecond at which `state` is no different from a cold key.
    #[must_use]
    pub fn expires_at(&self, state: &ScaledState) -> EpochMs {
        self.algorithm.expires_at(&self.read(state))
    }

    /// Until when parts that were charged at `now` may be spent later; `after` is the state right after the charge.
    #[must_use]
    pub fn spendable_until(&self, after: &ScaledState, now: EpochMs) -> EpochMs {
        self.algorithm.spendable_until(&self.read(after), now)
    }

    /// The largest cost that a cold key admits, in parts.
    #[must_use]
    pub fn ceiling(&self) -> u64 {
        self.algorithm.ceiling()
    }

    /// What the limit promises over time, in units.
    #[must_use]
    pub fn quota_policy(&self) -> QuotaPolicy {
        self.quota_policy
    }

    /// Bytes of one stored state of it, as JSON, at most.
    #[must_use]
    pub fn state_bytes_max(&self) -> u64 {
        const FRAME: u64 = r#"{"scale":18446744073709551615,"state":}"#.len() as u64;
        FRAME.saturating_add(self.algorithm.state_bytes_max())
    }

    /// The state in parts of this scale.
    fn read<'a>(&self, state: &'a ScaledState) -> Cow<'a, State> {
        if state.scale == self.scale {
            return Cow::Borrowed(&state.state);
        }
        Cow::Owned(state.state.rescaled(state.scale, self.scale))
    }

    fn write(&self, state: State) -> ScaledState {
        ScaledState {
            scale: self.scale,
            state,
        }
    }
}

impl ScaledState {
    /// A state in whole units.
    #[must_use]
    pub fn whole(state: State) -> Self {
        Self { scale: 1, state }
    }
}

impl ScaledReceipt {
    /// The slot that it names, and when it lapses; `None` where it is not of a guard.
    #[must_use]
    pub fn slot(&self) -> Option<(u64, EpochMs)> {
        match &self.receipt {
            Receipt::Guard(receipt) => Some((receipt.slot, receipt.expires_at)),
            _ => None,
        }
    }

    /// How long after it was taken the place in a queue begins that it names; 0 where it names none.
    #[must_use]
    pub fn delay_ms(&self) -> u64 {
        match &self.receipt {
            Receipt::LeakyBucket(receipt) => receipt.delay_ms(),
            _ => 0,
        }
    }

    /// A receipt in whole units.
    #[must_use]
    pub fn whole(receipt: Receipt) -> Self {
        Self {
            scale: 1,
            receipt,
            kept: None,
        }
    }

    /// Says under which key the charge is kept, where it is another than `asked`.
    #[must_use]
    pub fn kept_under(self, kept: &str, asked: &str) -> Self {
        Self {
            kept: (kept != asked).then(|| kept.to_owned()),
            ..self
        }
    }

    /// The key under which the charge is kept that was asked for under `asked`.
    #[must_use]
    pub fn key<'a>(&'a self, asked: &'a str) -> &'a str {
        self.kept.as_deref().unwrap_or(asked)
    }
}

/// `units` of `1 / from` in parts of `1 / to`, rounded up: what was used.
pub fn rescaled_up(units: u64, from: u64, to: u64) -> u64 {
    let units = (u128::from(units) * u128::from(to)).div_ceil(u128::from(from.max(1)));
    u64::try_from(units).unwrap_or(u64::MAX)
}

fn one() -> u64 {
    1
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
fn is_one(scale: &u64) -> bool {
    *scale == 1
}
