//! The fixed window counter: a count that starts anew with each window.
//!
//! Windows are those of a [`Period`]: of one length and aligned to the epoch, or what a quota makes of them. Each
//! admits exactly `limit` units. As the end of one window and the start of the next may both be full, an interval of
//! a window's length can see up to `2 * limit`.

use serde::{Deserialize, Serialize};
use weir_core::invalid::{Invalid, within};
use weir_core::limits::{JSON_INTEGER_MAX, WINDOW_MS_MAX};
use weir_core::units::EpochMs;

use super::calendar::{Period, Span};
use super::carried_units::{CARRIED_UNITS_BYTES_MAX, CarriedUnits};
use super::carry::{CarriedState, Carry};
use super::counted::Counted;
use super::scale::rescaled_up;
use super::used::Used;
use super::{Checked, QuotaPolicy};

/// A limit of `limit` units in each window.
#[derive(Debug, Clone, PartialEq)]
pub struct FixedWindow {
    limit: u64,
    period: Period,
}

/// The count of one window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedWindowState {
    start_ms: i64,
    end_ms: EpochMs,
    units: u64,
    #[serde(default, skip_serializing_if = "CarriedUnits::is_empty")]
    held: CarriedUnits,
}

/// The window in which units were charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedWindowReceipt {
    end_ms: EpochMs,
}

impl FixedWindow {
    /// `limit` units in each window of `window_ms` (1 ms to 400 days), aligned to the epoch.
    ///
    /// # Errors
    /// A number outside its range, at `/limit` or `/window_ms`.
    ///
    /// ```
    /// use weir_algorithms::fixed_window::FixedWindow;
    /// use weir_core::units::EpochMs;
    /// // 100 a minute, asked 20 s into the minute that starts at 1 700 000 040 000 = 28 333 334 * 60 000.
    /// let window = FixedWindow::new(100, 60_000).unwrap();
    /// let now = EpochMs(1_700_000_060_000);
    /// let first = window.check(None, 99, now);
    /// assert_eq!(first.decision.remaining, 1);
    /// let second = window.check(first.next.as_ref(), 2, now).decision;
    /// assert_eq!(second.retry.after_ms(), Some(40_000)); // the rest of the minute
    /// ```
    pub fn new(limit: u64, window_ms: u64) -> Result<Self, Invalid> {
        within("/window_ms", window_ms, 1..=WINDOW_MS_MAX)?;
        Self::over(limit, Period::fixed(window_ms, 0)?)
    }

    /// `limit` units in each of the windows that `period` makes.
    pub(super) fn over(limit: u64, period: Period) -> Result<Self, Invalid> {
        let limit = within("/limit", limit, 1..=JSON_INTEGER_MAX)?;
        Ok(Self { limit, period })
    }

    /// Decides `cost` units at `now`. What comes before the state's window counts in the state's window.
    #[must_use]
    pub fn check(
        &self,
        state: Option<&FixedWindowState>,
        cost: u64,
        now: EpochMs,
    ) -> Checked<FixedWindowState> {
        let open = self.open(state, now);
        let counted = Counted {
            limit: self.limit,
            used: open.units.saturating_add(open.held.units_at(now)),
            now,
            reset_at: open.held.end_or_later(open.end_ms),
        };
        let decision = counted.decide(cost, |room| {
            let own_at = |room| if open.units <= room { now } else { open.end_ms };
            open.held.free_at(room, now, own_at)
        });
        let next = (decision.admitted() && cost > 0).then(|| FixedWindowState {
            units: open.units.saturating_add(cost),
            held: open.held.at(now),
            ..open
        });
        Checked { decision, next }
    }

    /// What names the charge that led to `after`, the state right after it.
    #[must_use]
    pub fn receipt(&self, after: &FixedWindowState) -> FixedWindowReceipt {
        after.receipt()
    }

    /// Gives back `units` of the charge that `receipt` names, if its window is still open.
    ///
    /// ```
    /// use weir_algorithms::fixed_window::FixedWindow;
    /// use weir_core::units::EpochMs;
    /// let window = FixedWindow::new(10, 1_000).unwrap();
    /// let charged = window.check(None, 8, EpochMs(5_200)).next.unwrap();
    /// let receipt = window.receipt(&charged);
    /// let refunded = window.refund(&charged, &receipt, 5, EpochMs(5_900)).unwrap();
    /// assert_eq!(window.check(Some(&refunded), 0, EpochMs(5_900)).decision.remaining, 10 - 8 + 5);
    /// assert_eq!(window.refund(&charged, &receipt, 5, EpochMs(6_000)), None); // the next window
    /// ```
    #[must_use]
    pub fn refund(
        &self,
        state: &FixedWindowState,
        receipt: &FixedWindowReceipt,
        units: u64,
        now: EpochMs,
    ) -> Option<FixedWindowState> {
        state.refund(receipt, units, now)
    }

    /// The state of a key that has used the whole window that `now` lies in.
    #[must_use]
    pub fn exhausted(&self, now: EpochMs) -> FixedWindowState {
        FixedWindowState {
            units: self.limit,
            ..FixedWindowState::empty(self.period.at(now))
        }
    }

    /// The end of the state's window, and of what was counted in others.
    #[must_use]
    pub fn expires_at(&self, state: &FixedWindowState) -> EpochMs {
        let state = self.read(state);
        state.held.end_or_later(state.end_ms)
    }

    /// Units that were charged may be spent until their window ends.
    #[must_use]
    pub fn spendable_until(&self, after: &FixedWindowState, _now: EpochMs) -> EpochMs {
        after.spendable_until()
    }

    /// The largest cost that a cold key admits: the limit.
    #[must_use]
    pub fn ceiling(&self) -> u64 {
        self.limit
    }

    /// `limit` units in each window.
    #[must_use]
    pub fn quota_policy(&self) -> QuotaPolicy {
        QuotaPolicy {
            quota: self.limit,
            window_ms: self.period.nominal_ms(),
        }
    }

    /// Bytes of one stored state, as JSON, at most: numbers of 20 digits and their names.
    #[must_use]
    pub fn state_bytes_max(&self) -> u64 {
        120 + CARRIED_UNITS_BYTES_MAX
    }

    /// The same limit counted in units of `1 / scale`; `None` for a scale of 0 and where a number passes 64 bits.
    ///
    /// ```
    /// use weir_algorithms::fixed_window::FixedWindow;
    /// let halves = FixedWindow::new(10, 1_000).unwrap().scaled(2).unwrap();
    /// assert_eq!(halves.ceiling(), 20); // 20 halves
    /// ```
    #[must_use]
    pub fn scaled(&self, scale: u64) -> Option<Self> {
        let limit = self.limit.checked_mul(scale).filter(|limit| *limit > 0)?;
        let period = self.period.clone();
        Some(Self { limit, period })
    }

    /// The window that counts at `now`: the state's until it ends, else a new one.
    fn open(&self, state: Option<&FixedWindowState>, now: EpochMs) -> FixedWindowState {
        let read = state.map(|state| self.read(state));
        match read {
            Some(state) if now < state.end_ms => state,
            past => FixedWindowState {
                held: past.map(|state| state.held).unwrap_or_default(),
                ..FixedWindowState::empty(self.period.at(now))
            },
        }
    }

    /// A state as these windows see it. A window that is not one of them is part of the one that it lies in; one
    /// that lies in none counts beside them until its own end.
    fn read(&self, state: &FixedWindowState) -> FixedWindowState {
        let last = EpochMs(state.end_ms.0.saturating_sub(1));
        let span = self.period.at(last);
        if span.start_ms <= state.start_ms && span.end >= state.end_ms {
            FixedWindowState {
                units: state.units,
                held: state.held.clone(),
                ..FixedWindowState::empty(span)
            }
        } else {
            FixedWindowState {
                held: state.as_carried_units(),
                ..FixedWindowState::default()
            }
        }
    }
}

impl Carry for FixedWindow {
    type State = FixedWindowState;

    /// Whether a state is of one of these windows.
    fn owns(&self, state: &FixedWindowState) -> bool {
        let span = self.period.at(EpochMs(state.end_ms.0.saturating_sub(1)));
        (span.start_ms, span.end) == (state.start_ms, state.end_ms)
    }

    /// The state of a cold key that is charged what was used.
    fn charged(&self, used: &Used, latest: EpochMs) -> FixedWindowState {
        let span = self.period.at(latest);
        let inside = |at: EpochMs| i64::try_from(at.0).is_ok_and(|at| at >= span.start_ms);
        let inside = used.charges().filter(|(at, _)| inside(*at));
        FixedWindowState {
            units: inside.fold(0, |sum: u64, (_, units)| sum.saturating_add(units)),
            ..FixedWindowState::empty(span)
        }
    }
}

impl FixedWindowState {
    /// Of a window from `start_ms` up to `end` in which `units` were charged, beside what is held of others.
    pub(super) fn new(start_ms: i64, end: EpochMs, units: u64, held: CarriedUnits) -> Self {
        Self {
            start_ms,
            end_ms: end,
            units,
            held,
        }
    }

    /// All of it as units that are held.
    pub(super) fn as_carried_units(&self) -> CarriedUnits {
        let own = [(self.end_ms, self.units)];
        CarriedUnits::new(own.into_iter().chain(self.held.iter()))
    }

    pub(super) fn receipt(&self) -> FixedWindowReceipt {
        let end_ms = self.end_ms;
        FixedWindowReceipt { end_ms }
    }

    pub(super) fn refund(
        &self,
        receipt: &FixedWindowReceipt,
        units: u64,
        now: EpochMs,
    ) -> Option<Self> {
        let units = units.min(self.units);
        let open = self.end_ms == receipt.end_ms && now < self.end_ms;
        (open && units > 0).then(|| Self {
            units: self.units - units,
            ..self.clone()
        })
    }

    pub(super) fn spendable_until(&self) -> EpochMs {
        self.end_ms
    }

    fn empty(span: Span) -> Self {
        Self::new(span.start_ms, span.end, 0, CarriedUnits::default())
    }
}

impl CarriedState for FixedWindowState {
    /// What was counted, at `now`.
    fn used(&self, now: EpochMs) -> Used {
        let own = [(self.end_ms, self.units)];
        Used::until(own.into_iter().chain(self.held.iter()), now)
    }

    /// The count in parts of `1 / to` of a unit instead of `1 / from`, rounded up.
    fn rescaled(&self, from: u64, to: u64) -> Self {
        Self {
            units: rescaled_up(self.units, from, to),
            held: self.held.rescaled(from, to),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_counted_in_parts_of_a_zeroth() {
        let window = FixedWindow::new(10, 1_000).unwrap();
        assert_eq!(window.scaled(0), None);
        assert_eq!(window.scaled(u64::MAX), None);
    }
}
