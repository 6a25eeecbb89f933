//! The sliding window counter over sub-buckets: near a log in what it admits, bounded in what it keeps.
//!
//! The window is cut into `S` sub-buckets that are aligned to the epoch. What counts is the sum of the `S` newest,
//! the present one included, and of the one before them as much as the trailing window still covers:
//!
//! ```text
//! estimate = newest S + oldest * (width - elapsed) / width      width = window / S
//! ```
//!
//! Only the oldest is estimated (as if its units had come evenly), so the estimate is off by at most what the oldest
//! holds. `S = 1` is the estimator of a previous and a current counter (Julien Desgats, "How we built rate limiting
//! capable of scaling to millions of domains", Cloudflare, 2017).
//!
//! The width need not be whole milliseconds: time is counted in `1 / S` of a millisecond, of which a sub-bucket has
//! `window_ms`, so that all of it is integers. Costs are whole, so the estimate can be rounded up: `cost <= limit -
//! estimate` is the same as `cost <= limit - ceil(estimate)`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use weir_core::invalid::{Invalid, within};
use weir_core::limits::{JSON_INTEGER_MAX, SLIDING_BUCKETS_MAX, WINDOW_MS_MAX};
use weir_core::units::EpochMs;

use super::carried_units::{CARRIED_UNITS_BYTES_MAX, CarriedUnits};
use super::carry::{CarriedState, Carry};
use super::counted::Counted;
use super::fixed_window::FixedWindowState;
use super::runs::{Runs, total};
use super::slots::Slots;
use super::used::Used;
use super::{Checked, QuotaPolicy};

/// The number of sub-buckets unless the policy says otherwise.
pub const BUCKETS_DEFAULT: u64 = 10;

/// A limit of `limit` units in any trailing window of `window_ms`, as estimated from `buckets` sub-buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlidingWindow {
    limit: u64,
    slots: Slots,
}

/// The sub-buckets of one key that hold units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlidingWindowState {
    slots: Slots,
    latest_ms: EpochMs,
    /// By number of the sub-bucket since the epoch.
    counts: Runs,
    #[serde(default, skip_serializing_if = "CarriedUnits::is_empty")]
    held: CarriedUnits,
}

/// The sub-bucket in which units were charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlidingWindowReceipt {
    slots: Slots,
    bucket: u64,
}

impl SlidingWindow {
    /// `limit` units in a trailing window of `window_ms` (1 ms to 400 days) of 1 to 100,000 sub-buckets.
    ///
    /// # Errors
    /// A number outside its range, at `/limit`, `/window_ms` or `/buckets`.
    ///
    /// ```
    /// use weir_algorithms::sliding_window::SlidingWindow;
    /// use weir_core::units::EpochMs;
    /// // 50 a minute from two counters. 42 came in the minute before; in this one, 15 s old, 18 came.
    /// let window = SlidingWindow::new(50, 60_000, 1).unwrap();
    /// let before = window.check(None, 42, EpochMs(0)).next.unwrap();
    /// let now = EpochMs(75_000);
    /// let checked = window.check(Some(&before), 18, now);
    /// // 42 * (60 - 15) / 60 + 18 = 49.5: half a unit is left.
    /// assert_eq!(checked.decision.remaining, 0);
    /// let denied = window.check(checked.next.as_ref(), 1, now).decision;
    /// // One more needs 42 * (60 - s) / 60 <= 31, so s >= 15.714...: after 715 ms.
    /// assert_eq!(denied.retry.after_ms(), Some(715));
    /// ```
    pub fn new(limit: u64, window_ms: u64, buckets: u64) -> Result<Self, Invalid> {
        let slots = Slots {
            window_ms: within("/window_ms", window_ms, 1..=WINDOW_MS_MAX)?,
            buckets: within("/buckets", buckets, 1..=SLIDING_BUCKETS_MAX)?,
        };
        let limit = within("/limit", limit, 1..=JSON_INTEGER_MAX)?;
        Ok(Self { limit, slots })
    }

    /// Decides `cost` units at `now`, or at the state's latest when that is later.
    #[must_use]
    pub fn check(
        &self,
        state: Option<&SlidingWindowState>,
        cost: u64,
        now: EpochMs,
    ) -> Checked<SlidingWindowState> {
        let state = state.map_or_else(|| Cow::Owned(self.empty()), |state| self.read(state));
        let at = now.max(state.latest_ms);
        let bucket = self.slots.bucket(at);
        let counted = Counted {
            limit: self.limit,
            used: self.used(&state, at),
            now,
            reset_at: state.held.end_or_later(self.slots.left_at(bucket)),
        };
        let decision = counted.decide(cost, |room| {
            let counts_at = |room| self.slots.free_at(&state.counts, room);
            state.held.free_at(room, at, counts_at)
        });
        let oldest = bucket.saturating_sub(self.slots.buckets);
        let next = (decision.admitted() && cost > 0).then(|| SlidingWindowState {
            slots: self.slots,
            latest_ms: at,
            counts: state.counts.charged(oldest, bucket, cost),
            held: state.held.at(at),
        });
        Checked { decision, next }
    }

    /// What names the charge that led to `after`, the state right after it.
    #[must_use]
    pub fn receipt(&self, after: &SlidingWindowState) -> SlidingWindowReceipt {
        after.receipt()
    }

    /// Gives back `units` of the charge that `receipt` names, if its sub-bucket still counts. What was charged under
    /// another window is not given back.
    ///
    /// ```
    /// use weir_algorithms::sliding_window::SlidingWindow;
    /// use weir_core::units::EpochMs;
    /// let window = SlidingWindow::new(10, 1_000, 10).unwrap();
    /// let charged = window.check(None, 8, EpochMs(5_050)).next.unwrap();
    /// let receipt = window.receipt(&charged);
    /// // 950 ms later half of the sub-bucket's 8 still count. Without 6 of them, half of 2 do.
    /// let now = EpochMs(6_050);
    /// assert_eq!(window.check(Some(&charged), 0, now).decision.remaining, 6);
    /// let refunded = window.refund(&charged, &receipt, 6, now).unwrap();
    /// assert_eq!(window.check(Some(&refunded), 0, now).decision.remaining, 9);
    /// ```
    #[must_use]
    pub fn refund(
        &self,
        state: &SlidingWindowState,
        receipt: &SlidingWindowReceipt,
        units: u64,
        now: EpochMs,
    ) -> Option<SlidingWindowState> {
        state.refund(receipt, units, now)
    }

    /// The state of a key that has used the whole limit at `now`.
    #[must_use]
    pub fn exhausted(&self, now: EpochMs) -> SlidingWindowState {
        SlidingWindowState {
            latest_ms: now,
            counts: Runs::of(self.slots.bucket(now), self.limit),
            ..self.empty()
        }
    }

    /// When the newest sub-bucket has left the window.
    #[must_use]
    pub fn expires_at(&self, state: &SlidingWindowState) -> EpochMs {
        let state = self.read(state);
        let newest = state.counts.newest();
        let left_at = newest.map_or(EpochMs(0), |run| self.slots.left_at(run.mark));
        state.held.end_or_later(left_at.max(state.latest_ms))
    }

    /// Units that were charged may be spent until their sub-bucket ends.
    #[must_use]
    pub fn spendable_until(&self, after: &SlidingWindowState, _now: EpochMs) -> EpochMs {
        after.spendable_until()
    }

    /// The largest cost that a cold key admits: the limit.
    #[must_use]
    pub fn ceiling(&self) -> u64 {
        self.limit
    }

    /// `limit` units in the window.
    #[must_use]
    pub fn quota_policy(&self) -> QuotaPolicy {
        QuotaPolicy {
            quota: self.limit,
            window_ms: self.slots.window_ms,
        }
    }

    /// Bytes of one stored state, as JSON, at most. The sub-buckets that count are at most `S + 1`, one after the
    /// other, and hold at most twice the limit, so that their counts have at most the digits of their mean and one
    /// more, on average.
    #[must_use]
    pub fn state_bytes_max(&self) -> u64 {
        let counts = self.slots.buckets + 1;
        let mean = u128::from(self.limit) * 2 / u128::from(counts) + 1;
        let digits = u64::from(mean.ilog10()) + 2;
        // Names, numbers and the first sub-bucket; then `[1,N],` for each.
        160 + CARRIED_UNITS_BYTES_MAX + counts * (5 + digits)
    }

    /// The same limit counted in units of `1 / scale`; `None` for a scale of 0 and where a number passes 64 bits.
    #[must_use]
    pub fn scaled(&self, scale: u64) -> Option<Self> {
        let limit = self.limit.checked_mul(scale).filter(|limit| *limit > 0)?;
        Some(Self { limit, ..*self })
    }

    /// The units that count at `at`, which is not before the state's latest, rounded up.
    fn used(&self, state: &SlidingWindowState, at: EpochMs) -> u64 {
        let bucket = self.slots.bucket(at);
        let newest = bucket.saturating_add(1).saturating_sub(self.slots.buckets);
        let oldest = bucket.checked_sub(self.slots.buckets);
        let partial = oldest.map_or(0, |oldest| {
            self.slots.covered(state.counts.units_at(oldest), at)
        });
        total(state.counts.since(newest))
            .saturating_add(partial)
            .saturating_add(state.held.units_at(at))
    }

    /// A state as this window sees it. What was charged under another window or in other sub-buckets counts in full
    /// until it would have left the longer of the two windows.
    fn read<'a>(&self, state: &'a SlidingWindowState) -> Cow<'a, SlidingWindowState> {
        if state.slots == self.slots {
            return Cow::Borrowed(state);
        }
        let longer_ms = state.slots.window_ms.max(self.slots.window_ms);
        let counts = state.counts.iter().map(|run| {
            let until = state.slots.end(run.mark).plus(longer_ms);
            (until, run.units)
        });
        Cow::Owned(SlidingWindowState {
            latest_ms: state.latest_ms,
            ..self.holding(CarriedUnits::new(counts.chain(state.held.iter())))
        })
    }

    /// The state of a key that has charged nothing but what is held.
    pub(super) fn holding(&self, held: CarriedUnits) -> SlidingWindowState {
        SlidingWindowState {
            held,
            ..self.empty()
        }
    }

    fn empty(&self) -> SlidingWindowState {
        SlidingWindowState {
            slots: self.slots,
            latest_ms: EpochMs(0),
            counts: Runs::default(),
            held: CarriedUnits::default(),
        }
    }
}

impl Carry for SlidingWindow {
    type State = SlidingWindowState;

    /// Whether a state has these sub-buckets.
    fn owns(&self, state: &SlidingWindowState) -> bool {
        state.slots == self.slots
    }

    /// The state of a cold key that is charged what was used, up to the limit in a sub-bucket and twice that in all.
    fn charged(&self, used: &Used, latest: EpochMs) -> SlidingWindowState {
        let charges = used
            .charges()
            .map(|(at, units)| (self.slots.bucket(at), units));
        SlidingWindowState {
            latest_ms: latest,
            counts: Runs::newest_of(charges, self.limit),
            ..self.empty()
        }
    }
}

impl SlidingWindowState {
    pub(super) fn receipt(&self) -> SlidingWindowReceipt {
        SlidingWindowReceipt {
            slots: self.slots,
            bucket: self.slots.bucket(self.latest_ms),
        }
    }

    pub(super) fn refund(
        &self,
        receipt: &SlidingWindowReceipt,
        units: u64,
        now: EpochMs,
    ) -> Option<Self> {
        let counts = receipt.slots == self.slots && now < self.slots.left_at(receipt.bucket);
        if !counts || units == 0 {
            return None;
        }
        Some(Self {
            counts: self.counts.given_back(receipt.bucket, units)?,
            ..self.clone()
        })
    }

    pub(super) fn spendable_until(&self) -> EpochMs {
        self.slots.end(self.slots.bucket(self.latest_ms))
    }

    /// What it counts, as one window that lasts until all of it has left.
    pub(super) fn as_one_window(&self) -> FixedWindowState {
        let start_ms = self
            .counts
            .oldest()
            .map(|run| self.slots.start_ms(run.mark));
        let end = self.counts.newest().map(|run| self.slots.left_at(run.mark));
        FixedWindowState::new(
            start_ms.unwrap_or(0),
            end.unwrap_or(EpochMs(0)),
            total(self.counts.since(0)),
            self.held.clone(),
        )
    }
}

impl CarriedState for SlidingWindowState {
    /// What was counted, at `now`. Of a sub-bucket all counts until none does.
    fn used(&self, now: EpochMs) -> Used {
        let counts = self.counts.iter();
        let counts = counts.map(|run| (self.slots.left_at(run.mark), run.units));
        Used::until(counts.chain(self.held.iter()), now.max(self.latest_ms))
    }

    /// The counts in parts of `1 / to` of a unit instead of `1 / from`, rounded up.
    fn rescaled(&self, from: u64, to: u64) -> Self {
        Self {
            counts: self.counts.rescaled(from, to),
            held: self.held.rescaled(from, to),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_charged_what_was_used_goes_on_from_its_last_instant() {
        let window = SlidingWindow::new(10, 1_000, 10).unwrap();
        let used = Used::at([(EpochMs(700), 4)]);
        assert_eq!(window.charged(&used, EpochMs(900)).latest_ms, EpochMs(900));
        assert_eq!(window.exhausted(EpochMs(900)).latest_ms, EpochMs(900));
    }
}
