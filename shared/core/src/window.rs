//! The window of a pool: a label and an end.

use crate::units::{EpochMs, WindowLabel};

/// One window. Where the calendar does not say otherwise, ends lie on multiples of the window's length, so that an
/// idle pool opens where a busy one would.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Rises with each window opened.
    pub label: WindowLabel,
    /// The first millisecond after it.
    pub ends_at: EpochMs,
    /// Its length.
    pub window_ms: u64,
}

impl Window {
    /// The window that is open at `now`, labelled `label`.
    ///
    /// ```
    /// use weir_core::window::Window;
    /// use weir_core::units::{EpochMs, WindowLabel};
    /// let window = Window::open(WindowLabel(1), EpochMs(12_345), 10_000);
    /// assert_eq!(window.ends_at, EpochMs(20_000));
    /// assert_eq!(window.remaining_ms(EpochMs(12_345)), 7_655);
    /// ```
    #[must_use]
    pub fn open(label: WindowLabel, now: EpochMs, window_ms: u64) -> Self {
        let window_ms = window_ms.max(1);
        let ends_at = EpochMs(
            (now.0 / window_ms)
                .saturating_add(1)
                .saturating_mul(window_ms),
        );
        Self {
            label,
            ends_at,
            window_ms,
        }
    }

    /// The window after the event at `now`: this one while it lasts, else the next label with the length
    /// `window_ms_next`. A clock that stepped back by more than a window keeps this window open for at most one
    /// more length; no clock opens a window before this one's end.
    #[must_use]
    pub fn at(self, now: EpochMs, window_ms_next: u64) -> Self {
        let label = WindowLabel(self.label.0.saturating_add(1));
        self.held(now)
            .unwrap_or_else(|| Self::open(label, now, window_ms_next))
    }

    /// This window after the event at `now`, with the end that a clock that stepped back leaves it; `None` when it is
    /// over.
    #[must_use]
    pub fn held(self, now: EpochMs) -> Option<Self> {
        if now >= self.ends_at {
            return None;
        }
        if self.remaining_ms(now) > self.window_ms {
            return Some(Self {
                ends_at: now.plus(self.window_ms),
                ..self
            });
        }
        Some(self)
    }

    /// This window where those that follow it are as long as `next`, the one that would be open now: it ends with that
    /// one if that is shorter.
    #[must_use]
    pub fn ending_with(self, next: &Self) -> Self {
        if !self.is_longer_than(next) {
            return self;
        }
        Self {
            ends_at: self.ends_at.min(next.ends_at),
            ..self
        }
    }

    /// Whether windows like `next` are shorter.
    #[must_use]
    pub fn is_longer_than(&self, next: &Self) -> bool {
        self.window_ms > next.window_ms
    }

    /// When it began, or at a clock that has stepped back since, no later.
    #[must_use]
    pub fn starts_at(&self) -> EpochMs {
        EpochMs(self.ends_at.0.saturating_sub(self.window_ms))
    }

    /// Milliseconds until the end; 0 when it is over.
    #[must_use]
    pub fn remaining_ms(&self, now: EpochMs) -> u64 {
        self.ends_at.since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_rolls_once_at_its_end_and_skips_idle_time_without_skipping_labels() {
        let first = Window::open(WindowLabel(7), EpochMs(1_000), 1_000);
        assert_eq!(first.ends_at, EpochMs(2_000));
        let cases = [
            (1_999, 7, 2_000),
            (2_000, 8, 3_000),
            (2_999, 8, 3_000),
            (9_500, 8, 10_000),
        ];
        for (now, label, ends_at) in cases {
            let window = first.at(EpochMs(now), 1_000);
            assert_eq!(
                (window.label.0, window.ends_at.0),
                (label, ends_at),
                "at {now}"
            );
        }
    }

    #[test]
    fn a_clock_that_steps_back_keeps_the_window_open_for_at_most_one_more() {
        let window = Window::open(WindowLabel(7), EpochMs(100_000), 1_000);
        let back = window.at(EpochMs(40_000), 1_000);
        assert_eq!((back.label.0, back.ends_at.0), (7, 41_000));
        assert_eq!(back.at(EpochMs(41_000), 1_000).label.0, 8);
    }

    #[test]
    fn a_new_length_starts_at_the_next_boundary() {
        let window = Window::open(WindowLabel(1), EpochMs(0), 1_000);
        assert_eq!(window.at(EpochMs(999), 60_000), window);
        assert_eq!(window.at(EpochMs(1_000), 60_000).ends_at, EpochMs(60_000));
    }
}
