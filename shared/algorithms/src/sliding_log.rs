//! The sliding window log: every charge with its instant, so that no trailing window ever holds more than the limit.
//!
//! A unit that was charged at `t` counts until `t + window_ms`, exactly. What is exact costs memory: up to one entry
//! for each unit of the limit, which is therefore bounded. Charges of one millisecond share an entry.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use weir_core::invalid::{Invalid, within};
use weir_core::limits::{SLIDING_LOG_LIMIT_MAX, WINDOW_MS_MAX};
use weir_core::units::EpochMs;

use super::carried_units::{CARRIED_UNITS_BYTES_MAX, CarriedUnits};
use super::carry::{CarriedState, Carry};
use super::counted::Counted;
use super::runs::{Runs, total};
use super::used::Used;
use super::{Checked, QuotaPolicy};

/// A limit of `limit` units in any trailing window of `window_ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlidingLog {
    limit: u64,
    window_ms: u64,
}

/// The charges of one key that still count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlidingLogState {
    window_ms: u64,
    /// By instant.
    charges: Runs,
    #[serde(default, skip_serializing_if = "CarriedUnits::is_empty")]
    held: CarriedUnits,
}

/// The instant at which units were charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlidingLogReceipt {
    at_ms: EpochMs,
}

impl SlidingLog {
    /// `limit` (1 to 100,000) units in any trailing window of `window_ms` (1 ms to 400 days).
    ///
    /// # Errors
    /// A number outside its range, at `/limit` or `/window_ms`.
    ///
    /// ```
    /// use weir_algorithms::sliding_log::SlidingLog;
    /// use weir_core::units::EpochMs;
    /// // 3 in 10 s: one at 1 s, two at 4 s.
    /// let log = SlidingLog::new(3, 10_000).unwrap();
    /// let one = log.check(None, 1, EpochMs(1_000)).next.unwrap();
    /// let three = log.check(Some(&one), 2, EpochMs(4_000)).next.unwrap();
    /// // At 9 s one more waits for the first to leave at 11 s, two more for those that leave at 14 s.
    /// let retry_ms = |cost| log.check(Some(&three), cost, EpochMs(9_000)).decision.retry.after_ms();
    /// assert_eq!((retry_ms(1), retry_ms(2)), (Some(2_000), Some(5_000)));
    /// ```
    pub fn new(limit: u64, window_ms: u64) -> Result<Self, Invalid> {
        Ok(Self {
            limit: within("/limit", limit, 1..=SLIDING_LOG_LIMIT_MAX)?,
            window_ms: within("/window_ms", window_ms, 1..=WINDOW_MS_MAX)?,
        })
    }

    /// Decides `cost` units at `now`, or at the state's latest charge when that is later.
    #[must_use]
    pub fn check(
        &self,
        state: Option<&SlidingLogState>,
        cost: u64,
        now: EpochMs,
    ) -> Checked<SlidingLogState> {
        let state = state.map_or_else(|| Cow::Owned(self.empty()), |state| self.read(state));
        let at = state
            .charges
            .newest()
            .map_or(now, |run| now.max(EpochMs(run.mark)));
        let oldest_ms = self.oldest_ms(at);
        let counting = state.charges.since(oldest_ms);
        let leaves_at = counting.first().map(|run| self.leaves_at(run.mark));
        let counted = Counted {
            limit: self.limit,
            used: total(counting).saturating_add(state.held.units_at(at)),
            now,
            reset_at: leaves_at
                .into_iter()
                .chain(state.held.next(at))
                .min()
                .unwrap_or(self.leaves_at(at.0)),
        };
        let decision = counted.decide(cost, |room| {
            let charges_at = |room| match state.charges.excess(room) {
                Some(excess) => self.leaves_at(excess.run.mark),
                None => EpochMs(0),
            };
            state.held.free_at(room, at, charges_at)
        });
        let next = (decision.admitted() && cost > 0).then(|| SlidingLogState {
            window_ms: self.window_ms,
            charges: state.charges.charged(oldest_ms, at.0, cost),
            held: state.held.at(at),
        });
        Checked { decision, next }
    }

    /// What names the charge that led to `after`, the state right after it.
    #[must_use]
    pub fn receipt(&self, after: &SlidingLogState) -> SlidingLogReceipt {
        let newest = after.charges.newest();
        SlidingLogReceipt {
            at_ms: EpochMs(newest.map_or(0, |run| run.mark)),
        }
    }

    /// Gives back `units` of the charge that `receipt` names, if it still counts.
    ///
    /// ```
    /// use weir_algorithms::sliding_log::SlidingLog;
    /// use weir_core::units::EpochMs;
    /// let log = SlidingLog::new(3, 10_000).unwrap();
    /// let charged = log.check(None, 3, EpochMs(1_000)).next.unwrap();
    /// let receipt = log.receipt(&charged);
    /// let refunded = log.refund(&charged, &receipt, 2, EpochMs(10_999)).unwrap();
    /// assert_eq!(log.check(Some(&refunded), 0, EpochMs(10_999)).decision.remaining, 2);
    /// assert_eq!(log.refund(&charged, &receipt, 2, EpochMs(11_000)), None); // it has left the window
    /// ```
    #[must_use]
    pub fn refund(
        &self,
        state: &SlidingLogState,
        receipt: &SlidingLogReceipt,
        units: u64,
        now: EpochMs,
    ) -> Option<SlidingLogState> {
        if units == 0 || now >= receipt.at_ms.plus(state.window_ms) {
            return None;
        }
        Some(SlidingLogState {
            charges: state.charges.given_back(receipt.at_ms.0, units)?,
            ..state.clone()
        })
    }

    /// The state of a key that has used the whole limit at `now`.
    #[must_use]
    pub fn exhausted(&self, now: EpochMs) -> SlidingLogState {
        SlidingLogState {
            charges: Runs::of(now.0, self.limit),
            ..self.empty()
        }
    }

    /// When the newest charge leaves the window.
    #[must_use]
    pub fn expires_at(&self, state: &SlidingLogState) -> EpochMs {
        let state = self.read(state);
        let newest = state.charges.newest();
        let left_at = newest.map_or(EpochMs(0), |run| self.leaves_at(run.mark));
        state.held.end_or_later(left_at)
    }

    /// Units are spent when they are charged: at any later time they would count for too short.
    #[must_use]
    pub fn spendable_until(&self, _after: &SlidingLogState, now: EpochMs) -> EpochMs {
        now
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
            window_ms: self.window_ms,
        }
    }

    /// Bytes of one stored state, as JSON, at most. The gaps between the charges are at most the window together, so
    /// that they have at most the digits of their mean and one more, on average; likewise the units.
    #[must_use]
    pub fn state_bytes_max(&self) -> u64 {
        let entries = self.limit.min(self.window_ms + 1);
        let digits = |total: u64| u64::from((total / entries + 1).ilog10()) + 2;
        // Names, numbers and the first instant; then `[G,N],` for each.
        100 + CARRIED_UNITS_BYTES_MAX + entries * (4 + digits(self.window_ms) + digits(self.limit))
    }

    /// The same limit counted in units of `1 / scale`; `None` for a scale of 0 and where more charges could be kept
    /// than a log may.
    ///
    /// ```
    /// use weir_algorithms::sliding_log::SlidingLog;
    /// let log = SlidingLog::new(60_000, 1_000).unwrap();
    /// assert_eq!(log.scaled(2), None); // 120,000 halves
    /// ```
    #[must_use]
    pub fn scaled(&self, scale: u64) -> Option<Self> {
        let limit = self.limit.checked_mul(scale)?;
        Self::new(limit, self.window_ms).ok()
    }

    /// When a charge at `at_ms` counts no more.
    fn leaves_at(&self, at_ms: u64) -> EpochMs {
        EpochMs(at_ms).plus(self.window_ms)
    }

    /// The earliest instant whose charges count at `at`.
    fn oldest_ms(&self, at: EpochMs) -> u64 {
        at.0.saturating_add(1).saturating_sub(self.window_ms)
    }

    /// A state as this window sees it. What was charged under another window counts until it would have left the
    /// longer of the two.
    fn read<'a>(&self, state: &'a SlidingLogState) -> Cow<'a, SlidingLogState> {
        if state.window_ms == self.window_ms {
            return Cow::Borrowed(state);
        }
        let longer_ms = state.window_ms.max(self.window_ms);
        let charges = state
            .charges
            .iter()
            .map(|run| (EpochMs(run.mark).plus(longer_ms), run.units));
        Cow::Owned(SlidingLogState {
            held: CarriedUnits::new(charges.chain(state.held.iter())),
            ..self.empty()
        })
    }

    fn empty(&self) -> SlidingLogState {
        SlidingLogState {
            window_ms: self.window_ms,
            charges: Runs::default(),
            held: CarriedUnits::default(),
        }
    }
}

impl Carry for SlidingLog {
    type State = SlidingLogState;

    /// Whether a state is of this window.
    fn owns(&self, state: &SlidingLogState) -> bool {
        state.window_ms == self.window_ms
    }

    /// The state of a cold key that is charged what was used, up to the limit.
    fn charged(&self, used: &Used, _latest: EpochMs) -> SlidingLogState {
        let charges = used.charges().map(|(at, units)| (at.0, units));
        SlidingLogState {
            charges: Runs::newest_of(charges, self.limit),
            ..self.empty()
        }
    }
}

impl CarriedState for SlidingLogState {
    /// What was charged, at `now`.
    fn used(&self, now: EpochMs) -> Used {
        let newest = self.charges.newest();
        let now = newest.map_or(now, |run| now.max(EpochMs(run.mark)));
        let charges = self.charges.iter();
        let charges = charges.map(|run| (EpochMs(run.mark).plus(self.window_ms), run.units));
        Used::until(charges.chain(self.held.iter()), now)
    }

    /// The counts in parts of `1 / to` of a unit instead of `1 / from`, rounded up.
    fn rescaled(&self, from: u64, to: u64) -> Self {
        Self {
            window_ms: self.window_ms,
            charges: self.charges.rescaled(from, to),
            held: self.held.rescaled(from, to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_as_large_as_its_longest_numbers() {
        // Ten charges, of `[G,N],` and two digits for a gap of 101 ms on average and one more, and two for 2 units.
        let log = SlidingLog::new(10, 1_000).unwrap();
        assert_eq!(
            log.state_bytes_max(),
            100 + CARRIED_UNITS_BYTES_MAX + 10 * (4 + 4 + 2)
        );
    }
}
