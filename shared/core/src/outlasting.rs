//! Units of windows that an edit of the policy closed before they would have ended.
//!
//! A day that becomes minutes ends with a minute, and from the next on nothing of it counts: who has used the day up waits
//! no longer than a minute. But the day may come back. What was lent, or used, in it and in the minutes since is kept for as long
//! as the day would have lasted, and counts again in a window that covers it.

use serde::{Deserialize, Serialize};

use crate::units::EpochMs;

/// What was lent under windows that were to last longer, and does not count in the open one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outlasting {
    /// When the last of those windows would have ended: from then on nothing is kept.
    pub until: EpochMs,
    /// When the last of the units was lent, at the latest.
    pub ended_at: EpochMs,
    /// Units.
    pub units: u64,
}

impl Outlasting {
    /// Whether nothing is kept at `now`.
    #[must_use]
    pub fn is_over(&self, now: EpochMs) -> bool {
        now >= self.until
    }

    /// Windows close early by an edit that would have counted until then.
    #[must_use]
    pub fn lasting(self, until: EpochMs) -> Self {
        Self {
            until: self.until.max(until),
            ..self
        }
    }

    /// The next window opens, in which `units` do not count any more that were lent no later than `ended_at`.
    ///
    /// ```
    /// use weir_core::outlasting::Outlasting;
    /// use weir_core::units::EpochMs;
    /// // A day was closed at 60 s, when 1,000 units of it were lent.
    /// let day = Outlasting::default().lasting(EpochMs(86_400_000));
    /// let kept = day.and(1_000, EpochMs(60_000), EpochMs(60_000));
    /// assert_eq!((kept.units, kept.until), (1_000, EpochMs(86_400_000)));
    /// // A minute more, in which 100 were lent; and when the day would have been over.
    /// assert_eq!(kept.and(100, EpochMs(120_000), EpochMs(120_000)).units, 1_100);
    /// assert_eq!(kept.and(100, EpochMs(86_400_000), EpochMs(86_400_000)), Outlasting::default());
    /// ```
    #[must_use]
    pub fn and(self, units: u64, ended_at: EpochMs, now: EpochMs) -> Self {
        if self.is_over(now) {
            return Self::default();
        }
        Self {
            units: self.units.saturating_add(units),
            ended_at: self.ended_at.max(ended_at),
            ..self
        }
    }

    /// The units that count again in windows that reach back to `from`, and what is left: the time until which what is
    /// lent from here on is kept.
    ///
    /// ```
    /// use weir_core::outlasting::Outlasting;
    /// use weir_core::units::EpochMs;
    /// let kept = Outlasting { until: EpochMs(86_400_000), ended_at: EpochMs(60_000), units: 1_000 };
    /// assert_eq!(kept.woken(EpochMs(60_000)), (0, kept)); // the minute after
    /// let (units, left) = kept.woken(EpochMs(0)); // the day again
    /// assert_eq!((units, left.units, left.until), (1_000, 0, kept.until));
    /// ```
    #[must_use]
    pub fn woken(self, from: EpochMs) -> (u64, Self) {
        if from >= self.ended_at {
            return (0, self);
        }
        (self.units, Self { units: 0, ..self })
    }
}
