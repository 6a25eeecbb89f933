//! What was lent in the parts of a rolling window before the open one: the estimator of
//! [`SlidingWindow`](weir_algorithms::sliding_window::SlidingWindow), counted in leases.
//!
//! At an instant of the open part, what was lent in the last `S - 1` parts counts whole and what was lent in the one
//! before these by the share of it that the window still covers. Shares are rounded up: never more than the estimator
//! admits is lent.

use weir_core::units::EpochMs;
use weir_core::window::Window;

/// Units lent in earlier parts, newest first: one number for each of the window's `S` parts. Empty where windows do
/// not roll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History(Vec<u64>);

impl History {
    /// Nothing was lent.
    #[must_use]
    pub fn empty(parts: usize) -> Self {
        Self(vec![0; parts])
    }

    /// As it was stored.
    #[must_use]
    pub fn of(lent: Vec<u64>) -> Self {
        Self(lent)
    }

    /// What was lent, newest first.
    #[must_use]
    pub fn lent(&self) -> &[u64] {
        &self.0
    }

    /// Units of `limit` that may be lent in `window`, those that were included, at `now`.
    ///
    /// ```
    /// use weir_federation::history::History;
    /// use weir_core::window::Window;
    /// use weir_core::units::{EpochMs, WindowLabel};
    /// // A minute in three parts: 30 units in the last, 10 before, 24 in the one that is half over.
    /// let history = History::of(vec![30, 10, 24]);
    /// let part = Window { label: WindowLabel(9), ends_at: EpochMs(60_000), window_ms: 20_000 };
    /// assert_eq!(history.capacity(100, &part, EpochMs(50_000)), 100 - 30 - 10 - 12);
    /// assert_eq!(history.capacity(100, &part, EpochMs(50_001)), 100 - 30 - 10 - 12); // 11.9988, rounded up
    /// ```
    #[must_use]
    pub fn capacity(&self, limit: u64, window: &Window, now: EpochMs) -> u64 {
        let Some((oldest, whole)) = self.0.split_last() else {
            return limit;
        };
        let left_ms = window.remaining_ms(now).min(window.window_ms);
        let share = share(*oldest, left_ms, window.window_ms);
        limit.saturating_sub(sum(whole)).saturating_sub(share)
    }

    /// In how many milliseconds `units` more can be lent, when `lent` are in the open part and nothing else is lent
    /// meanwhile. `None` for more than the limit, and where windows do not roll.
    ///
    /// ```
    /// use weir_federation::history::History;
    /// use weir_core::window::Window;
    /// use weir_core::units::{EpochMs, WindowLabel};
    /// // 100 units two parts ago, of which one leaves each 200 ms in the part that has just begun.
    /// let history = History::of(vec![0, 0, 100]);
    /// let part = Window { label: WindowLabel(9), ends_at: EpochMs(60_000), window_ms: 20_000 };
    /// assert_eq!(history.retry_ms(100, 0, 1, &part, EpochMs(40_000)), Some(200));
    /// assert_eq!(history.retry_ms(100, 1, 1, &part, EpochMs(40_200)), Some(200));
    /// // All 100 at once: when the part is over.
    /// assert_eq!(history.retry_ms(100, 0, 100, &part, EpochMs(40_000)), Some(20_000));
    /// assert_eq!(history.retry_ms(100, 0, 101, &part, EpochMs(40_000)), None);
    /// ```
    #[must_use]
    pub fn retry_ms(
        &self,
        limit: u64,
        lent: u64,
        units: u64,
        window: &Window,
        now: EpochMs,
    ) -> Option<u64> {
        if self.0.is_empty() || units > limit {
            return None;
        }
        let part_ms = window.window_ms.max(1);
        let left_ms = window.remaining_ms(now).min(part_ms);
        let lent: Vec<u64> = std::iter::once(lent)
            .chain(self.0.iter().copied())
            .collect();
        // In the open part all but the oldest count whole; with each part to come, one less.
        for (to_come, whole) in (0..=self.0.len()).rev().enumerate() {
            let (counted, rest) = lent.split_at(whole);
            let Some(spare) = limit.checked_sub(sum(counted).saturating_add(units)) else {
                continue;
            };
            let oldest = rest.first().copied().unwrap_or(0);
            let share_ms = share_ms(spare, oldest, part_ms);
            let (begins_in_ms, length_ms) = match to_come {
                0 => (0, left_ms),
                more => (
                    left_ms.saturating_add((more as u64 - 1).saturating_mul(part_ms)),
                    part_ms,
                ),
            };
            if share_ms > 0 {
                return Some(begins_in_ms.saturating_add(length_ms.saturating_sub(share_ms)));
            }
        }
        let parts_ms = (self.0.len() as u64).saturating_mul(part_ms);
        Some(left_ms.saturating_add(parts_ms))
    }

    /// The history when `begun` parts of `part_ms` have begun since a window of `window_ms`, in which `lent` were
    /// lent, was over. Parts of another kind take over what was lent such that nothing is forgotten earlier than
    /// either kind would: how long the last window of the old kind was open is not known, so what was lent before it
    /// counts as lent until it was over.
    ///
    /// ```
    /// use weir_federation::history::History;
    /// let history = History::of(vec![30, 10, 24]);
    /// assert_eq!(history.rolled((5, 1_000), 1, (1_000, 3)).lent(), [5, 30, 10]);
    /// // Parts of 500 ms in the place of those of a second.
    /// assert_eq!(history.rolled((5, 1_000), 1, (500, 3)).lent(), [35, 10, 24]);
    /// // Parts of two seconds.
    /// assert_eq!(history.rolled((5, 1_000), 1, (2_000, 3)).lent(), [45, 24, 0]);
    /// ```
    #[must_use]
    pub fn rolled(
        &self,
        (lent, window_ms): (u64, u64),
        begun: u64,
        (part_ms, parts): (u64, usize),
    ) -> Self {
        let mut rolled = vec![0_u64; parts];
        let is_alike = window_ms == part_ms && self.0.len() == parts;
        for (age, units) in std::iter::once(lent)
            .chain(self.0.iter().copied())
            .enumerate()
        {
            let age = if is_alike {
                age as u128
            } else {
                let age = age.saturating_sub(1) as u128;
                age * u128::from(window_ms.min(part_ms)) / u128::from(part_ms)
            };
            let age = age + u128::from(begun.saturating_sub(1));
            let place = usize::try_from(age)
                .ok()
                .and_then(|age| rolled.get_mut(age));
            if let Some(place) = place {
                *place = place.saturating_add(units);
            }
        }
        Self(rolled)
    }

    /// With `units` more in the part so many before the open one, 0 for the newest; none where it is older than all. Where
    /// windows do not roll they count whole, for as long as the window lasts: nothing of them leaves.
    ///
    /// ```
    /// use weir_federation::history::History;
    /// assert_eq!(History::of(vec![30, 10, 24]).with(5, 1).lent(), [30, 15, 24]);
    /// assert_eq!(History::empty(0).with(5, 0).lent(), [5, 0]);
    /// assert_eq!(History::empty(0).with(0, 0), History::empty(0));
    /// ```
    #[must_use]
    pub fn with(mut self, units: u64, age: u64) -> Self {
        if units > 0 && self.0.is_empty() {
            self.0 = vec![0, 0];
        }
        let place = usize::try_from(age).unwrap_or(usize::MAX);
        if let Some(part) = self.0.get_mut(place) {
            *part = part.saturating_add(units);
        }
        self
    }

    /// All of it.
    #[must_use]
    pub fn total(&self) -> u64 {
        sum(&self.0)
    }

    /// Whether nothing that was lent counts any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.iter().all(|units| *units == 0)
    }
}

fn sum(units: &[u64]) -> u64 {
    units
        .iter()
        .fold(0, |sum: u64, units| sum.saturating_add(*units))
}

/// `units * left_ms / part_ms`, rounded up.
fn share(units: u64, left_ms: u64, part_ms: u64) -> u64 {
    let share = (u128::from(units) * u128::from(left_ms)).div_ceil(u128::from(part_ms.max(1)));
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// The most milliseconds of `part_ms` for which the share of `units` is at most `spare`.
fn share_ms(spare: u64, units: u64, part_ms: u64) -> u64 {
    if units <= spare {
        return part_ms;
    }
    let share_ms = u128::from(spare) * u128::from(part_ms) / u128::from(units);
    u64::try_from(share_ms).unwrap_or(part_ms)
}
