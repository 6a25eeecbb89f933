//! How much a tenant can still be expected to ask for in a window: its recent pace times the time that is left.

use super::ask::Moment;
use super::rate::parts;

/// Stretches of a window over which a pace is measured. Fewer follow a tenant that stops too slowly, more take the gaps
/// between a tenant's requests for an end.
const STRETCHES: u64 = 8;

/// The shortest stretch: holders tell what was asked of them this often.
const STRETCH_MS_MIN: u64 = 500;

/// Eighths of a window in which a member is expected to ask as much as in the last one: at least, and at most for one
/// that begins late.
const AWAITED_EIGHTHS: u64 = 2;
const AWAITED_EIGHTHS_MAX: u64 = 5;

/// A point in time on a clock of stretches that runs on over windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    index: u64,
    /// Milliseconds of the window that are gone.
    window_gone_ms: u64,
    /// Milliseconds since it began, and its length.
    gone_ms: u64,
    length_ms: u64,
}

impl Stretch {
    /// The stretch of `moment` in the window of this number.
    pub fn at(window: u64, moment: &Moment) -> Self {
        let window_ms = moment.window_ms.max(1);
        let count = (window_ms / STRETCH_MS_MIN).clamp(1, STRETCHES);
        let length_ms = window_ms.div_ceil(count);
        let gone_ms = window_ms.saturating_sub(moment.left_ms);
        let within = (gone_ms / length_ms).min(count - 1);
        Self {
            index: window.saturating_mul(count).saturating_add(within),
            window_gone_ms: gone_ms,
            gone_ms: gone_ms.saturating_sub(within.saturating_mul(length_ms)),
            length_ms,
        }
    }
}

/// What a tenant asked for lately, in units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Pace {
    stretch: u64,
    current: u64,
    previous: u64,
    /// In this window and in the one before.
    window: u64,
    last_window: u64,
    /// What was lent ahead in this window and has not come back.
    ahead: u64,
    /// What was used of idle units and is not counted yet.
    taken: u64,
    seen: bool,
    /// Milliseconds after which it was first seen in the last window that it was seen in.
    began_ms: u64,
}

impl Pace {
    /// Counts what was asked for.
    pub fn ask(&mut self, units: u64, now: Stretch) {
        if !std::mem::replace(&mut self.seen, true) {
            self.began_ms = now.window_gone_ms;
        }
        let (current, previous) = self.lately(now);
        (self.current, self.previous) = (current.saturating_add(units), previous);
        self.stretch = now.index;
        self.window = self.window.saturating_add(units);
    }

    /// Counts what was lent ahead of requests.
    pub fn lent_ahead(&mut self, units: u64, now: Stretch) {
        if units > 0 {
            self.ask(units, now);
            self.ahead = self.ahead.saturating_add(units);
        }
    }

    /// Notes units that a holder had idle and the tenant used: they count as asked for with the next ask.
    pub fn took(&mut self, units: u64) {
        self.taken = self.taken.saturating_add(units);
    }

    /// Takes out what is to be counted with an ask.
    pub fn taken(&mut self) -> u64 {
        std::mem::take(&mut self.taken)
    }

    /// Takes off units that came back, as far as they were lent ahead: nobody asked for them after all.
    pub fn came_back(&mut self, units: u64) {
        let units = units.min(self.ahead);
        let earlier = units.saturating_sub(self.current);
        self.ahead -= units;
        self.current = self.current.saturating_sub(units);
        self.previous = self.previous.saturating_sub(earlier);
        self.window = self.window.saturating_sub(units);
    }

    /// Whether it was seen in this window.
    pub fn seen(&self) -> bool {
        self.seen
    }

    /// Goes on to the next window.
    pub fn roll(&mut self) {
        self.last_window = self.window;
        self.window = 0;
        self.ahead = 0;
        self.taken = 0;
        self.seen = false;
    }

    /// Parts of a unit that it can still be expected to ask for.
    ///
    /// | it | is expected to ask for |
    /// | --- | --- |
    /// | has just begun in this window, or began as late in the last one | at least the rest of what it asked for then |
    /// | else | its pace times the time left |
    pub fn expected(&self, now: Stretch, moment: &Moment) -> u128 {
        let habit = if now.window_gone_ms < self.awaited_ms(now, moment) {
            self.last_window.saturating_sub(self.window)
        } else {
            0
        };
        let (current, previous) = self.lately(now);
        let asked = u128::from(current) + u128::from(previous);
        let measured_ms = u128::from(now.length_ms + now.gone_ms).max(1);
        let units = asked.saturating_mul(u128::from(moment.left_ms)) / measured_ms;
        parts(u64::try_from(units).unwrap_or(u64::MAX).max(habit))
    }

    /// Until when in a window its pace says less than what it asked for in the last one.
    fn awaited_ms(&self, now: Stretch, moment: &Moment) -> u64 {
        let eighth_ms = moment.window_ms / 8;
        let least_ms = eighth_ms.saturating_mul(AWAITED_EIGHTHS);
        let most_ms = eighth_ms.saturating_mul(AWAITED_EIGHTHS_MAX);
        let known_ms = self.began_ms.saturating_add(now.length_ms);
        known_ms.clamp(least_ms, most_ms)
    }

    /// Units asked for in the present stretch and in the one before.
    fn lately(&self, now: Stretch) -> (u64, u64) {
        match now.index.saturating_sub(self.stretch) {
            0 => (self.current, self.previous),
            1 => (0, self.current),
            _ => (0, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(window_ms: u64, gone_ms: u64) -> Moment {
        Moment {
            limit: 100,
            unlent: 100,
            left_ms: window_ms - gone_ms,
            window_ms,
        }
    }

    #[test]
    fn a_window_has_eight_stretches_of_half_a_second_at_least_and_the_last_ends_with_it() {
        let stretch = |window_ms, gone_ms| {
            let stretch = Stretch::at(3, &moment(window_ms, gone_ms));
            (stretch.index, stretch.gone_ms, stretch.length_ms)
        };
        assert_eq!(stretch(8_000, 0), (24, 0, 1_000));
        assert_eq!(stretch(8_000, 999), (24, 999, 1_000));
        assert_eq!(stretch(8_000, 1_000), (25, 0, 1_000));
        assert_eq!(stretch(8_000, 7_999), (31, 999, 1_000));
        assert_eq!(stretch(8_000, 8_000), (31, 1_000, 1_000));
        // Of a second there are two, of less there is one.
        assert_eq!(stretch(1_000, 500), (7, 0, 500));
        assert_eq!(stretch(999, 999), (3, 999, 999));
    }

    #[test]
    fn what_was_used_of_idle_units_counts_once_and_in_its_window() {
        let mut pace = Pace::default();
        pace.took(3);
        pace.took(4);
        assert_eq!((pace.taken(), pace.taken()), (7, 0));
        pace.took(5);
        pace.roll();
        assert_eq!(pace.taken(), 0);
    }

    #[test]
    fn what_comes_back_was_asked_for_by_nobody_as_far_as_it_was_lent_ahead() {
        let expected = |back| {
            let at = moment(8_000, 1_000);
            let now = Stretch::at(1, &at);
            let mut pace = Pace::default();
            pace.ask(2, Stretch::at(1, &moment(8_000, 0)));
            pace.lent_ahead(3, now);
            pace.came_back(back);
            // What was asked for in a second, for the 7 that are left.
            pace.expected(now, &at)
        };
        let all = [0, 1, 3, 4].map(expected);
        assert_eq!(all, [35, 28, 14, 14].map(parts));
    }
}
