//! The quota: a budget for a billing period. It starts anew with each period of a calendar or of a fixed length, or
//! rolls.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use weir_core::invalid::Invalid;
use weir_core::units::EpochMs;

use super::calendar::Period;
use super::carry::{CarriedState, Carry};
use super::fixed_window::{FixedWindow, FixedWindowReceipt, FixedWindowState};
use super::sliding_window::{SlidingWindow, SlidingWindowReceipt, SlidingWindowState};
use super::used::Used;
use super::{Checked, QuotaPolicy};

/// A limit of `limit` units in each period, or in any trailing one.
#[derive(Debug, Clone, PartialEq)]
pub struct Quota(Cadence);

#[derive(Debug, Clone, PartialEq)]
enum Cadence {
    Periods(FixedWindow),
    Rolling(SlidingWindow),
}

/// The count of one key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuotaState {
    /// Of one period.
    Period(FixedWindowState),
    /// Of a trailing period.
    Rolling(SlidingWindowState),
}

/// The period in which units were charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuotaReceipt {
    /// One period.
    Period(FixedWindowReceipt),
    /// A part of a trailing period.
    Rolling(SlidingWindowReceipt),
}

impl Quota {
    /// `limit` units in each period.
    ///
    /// # Errors
    /// A limit outside its range, at `/limit`.
    ///
    /// ```
    /// use weir_algorithms::calendar::{Period, Zone};
    /// use weir_algorithms::quota::Quota;
    /// use weir_core::units::EpochMs;
    /// use weir_wire::policy::Cadence;
    /// // 1000 a month in a zone 2 h ahead of UTC. 2024-02-29T21:59:59Z is a second before March there.
    /// let zone = Zone::offset(120).unwrap();
    /// let months = Period::calendar(Cadence::CalendarMonth, zone, 1).unwrap();
    /// let quota = Quota::new(1_000, months).unwrap();
    /// let now = EpochMs(1_709_243_999_000);
    /// let february = quota.check(None, 1_000, now);
    /// assert_eq!(february.decision.reset_at, EpochMs(1_709_244_000_000));
    /// let denied = quota.check(february.next.as_ref(), 1, now).decision;
    /// assert_eq!(denied.retry.after_ms(), Some(1_000));
    /// ```
    pub fn new(limit: u64, period: Period) -> Result<Self, Invalid> {
        Ok(Self(Cadence::Periods(FixedWindow::over(limit, period)?)))
    }

    /// `limit` units in any trailing `period_ms`, as a sliding window of `buckets` sub-buckets estimates it.
    ///
    /// # Errors
    /// A number outside its range, at `/limit`, `/period_ms` or `/buckets`.
    ///
    /// ```
    /// use weir_algorithms::quota::Quota;
    /// use weir_core::units::EpochMs;
    /// // 1000 in any 30 days, in parts of one day.
    /// let day_ms = 86_400_000;
    /// let quota = Quota::rolling(1_000, 30 * day_ms, 30).unwrap();
    /// let used = quota.check(None, 1_000, EpochMs(0)).next.unwrap();
    /// // 30 days and a half later half of what came on the first day still counts.
    /// let looked = quota.check(Some(&used), 0, EpochMs(30 * day_ms + day_ms / 2)).decision;
    /// assert_eq!(looked.remaining, 500);
    /// ```
    pub fn rolling(limit: u64, period_ms: u64, buckets: u64) -> Result<Self, Invalid> {
        let window = SlidingWindow::new(limit, period_ms, buckets).map_err(|mut refused| {
            if refused.field == "/window_ms" {
                refused.field = "/period_ms".to_owned();
            }
            refused
        })?;
        Ok(Self(Cadence::Rolling(window)))
    }

    /// Decides `cost` units at `now`.
    #[must_use]
    pub fn check(
        &self,
        state: Option<&QuotaState>,
        cost: u64,
        now: EpochMs,
    ) -> Checked<QuotaState> {
        match &self.0 {
            Cadence::Periods(window) => {
                let state = state.map(period_state);
                window
                    .check(state.as_deref(), cost, now)
                    .map(QuotaState::Period)
            }
            Cadence::Rolling(window) => {
                let state = state.map(|state| rolling_state(state, window));
                window
                    .check(state.as_deref(), cost, now)
                    .map(QuotaState::Rolling)
            }
        }
    }

    /// What names the charge that led to `after`, the state right after it.
    #[must_use]
    pub fn receipt(&self, after: &QuotaState) -> QuotaReceipt {
        match after {
            QuotaState::Period(after) => QuotaReceipt::Period(after.receipt()),
            QuotaState::Rolling(after) => QuotaReceipt::Rolling(after.receipt()),
        }
    }

    /// Gives back `units` of the charge that `receipt` names, if its period still counts.
    #[must_use]
    pub fn refund(
        &self,
        state: &QuotaState,
        receipt: &QuotaReceipt,
        units: u64,
        now: EpochMs,
    ) -> Option<QuotaState> {
        match (state, receipt) {
            (QuotaState::Period(state), QuotaReceipt::Period(receipt)) => {
                state.refund(receipt, units, now).map(QuotaState::Period)
            }
            (QuotaState::Rolling(state), QuotaReceipt::Rolling(receipt)) => {
                state.refund(receipt, units, now).map(QuotaState::Rolling)
            }
            _ => None,
        }
    }

    /// The state of a key that has used the whole period that `now` lies in.
    #[must_use]
    pub fn exhausted(&self, now: EpochMs) -> QuotaState {
        match &self.0 {
            Cadence::Periods(window) => QuotaState::Period(window.exhausted(now)),
            Cadence::Rolling(window) => QuotaState::Rolling(window.exhausted(now)),
        }
    }

    /// The end of the state's period.
    #[must_use]
    pub fn expires_at(&self, state: &QuotaState) -> EpochMs {
        match &self.0 {
            Cadence::Periods(window) => window.expires_at(&period_state(state)),
            Cadence::Rolling(window) => window.expires_at(&rolling_state(state, window)),
        }
    }

    /// Units that were charged may be spent until their period, or the sub-bucket of a trailing one, ends.
    #[must_use]
    pub fn spendable_until(&self, after: &QuotaState, _now: EpochMs) -> EpochMs {
        match after {
            QuotaState::Period(after) => after.spendable_until(),
            QuotaState::Rolling(after) => after.spendable_until(),
        }
    }

    /// The largest cost that a cold key admits: the limit.
    #[must_use]
    pub fn ceiling(&self) -> u64 {
        match &self.0 {
            Cadence::Periods(window) => window.ceiling(),
            Cadence::Rolling(window) => window.ceiling(),
        }
    }

    /// `limit` units in a period; of the longest one where periods differ.
    #[must_use]
    pub fn quota_policy(&self) -> QuotaPolicy {
        match &self.0 {
            Cadence::Periods(window) => window.quota_policy(),
            Cadence::Rolling(window) => window.quota_policy(),
        }
    }

    /// Bytes of one stored state, as JSON, at most.
    #[must_use]
    pub fn state_bytes_max(&self) -> u64 {
        let name_bytes = 20;
        name_bytes
            + match &self.0 {
                Cadence::Periods(window) => window.state_bytes_max(),
                Cadence::Rolling(window) => window.state_bytes_max(),
            }
    }

    /// The same limit counted in units of `1 / scale`; `None` for a scale of 0 and where a number passes 64 bits.
    #[must_use]
    pub fn scaled(&self, scale: u64) -> Option<Self> {
        let cadence = match &self.0 {
            Cadence::Periods(window) => Cadence::Periods(window.scaled(scale)?),
            Cadence::Rolling(window) => Cadence::Rolling(window.scaled(scale)?),
        };
        Some(Self(cadence))
    }
}

impl Carry for Quota {
    type State = QuotaState;

    /// Whether a state is of one of these periods.
    fn owns(&self, state: &QuotaState) -> bool {
        match (&self.0, state) {
            (Cadence::Periods(window), QuotaState::Period(state)) => window.owns(state),
            (Cadence::Rolling(window), QuotaState::Rolling(state)) => window.owns(state),
            _ => false,
        }
    }

    /// The state of a cold key that is charged what was used.
    fn charged(&self, used: &Used, latest: EpochMs) -> QuotaState {
        match &self.0 {
            Cadence::Periods(window) => QuotaState::Period(window.charged(used, latest)),
            Cadence::Rolling(window) => QuotaState::Rolling(window.charged(used, latest)),
        }
    }
}

impl CarriedState for QuotaState {
    /// What was counted, at `now`.
    fn used(&self, now: EpochMs) -> Used {
        match self {
            Self::Period(state) => state.used(now),
            Self::Rolling(state) => state.used(now),
        }
    }

    /// The counts in parts of `1 / to` of a unit instead of `1 / from`, rounded up.
    fn rescaled(&self, from: u64, to: u64) -> Self {
        match self {
            Self::Period(state) => Self::Period(state.rescaled(from, to)),
            Self::Rolling(state) => Self::Rolling(state.rescaled(from, to)),
        }
    }
}

/// What was counted, as one period; that of a trailing period lasts until all of it has left that.
fn period_state(state: &QuotaState) -> Cow<'_, FixedWindowState> {
    match state {
        QuotaState::Period(state) => Cow::Borrowed(state),
        QuotaState::Rolling(state) => Cow::Owned(state.as_one_window()),
    }
}

/// What was counted, for a trailing period; that of another period lasts until that ends.
fn rolling_state<'a>(state: &'a QuotaState, window: &SlidingWindow) -> Cow<'a, SlidingWindowState> {
    match state {
        QuotaState::Period(state) => Cow::Owned(window.holding(state.as_carried_units())),
        QuotaState::Rolling(state) => Cow::Borrowed(state),
    }
}
