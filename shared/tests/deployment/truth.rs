//! What really happened, kept apart from the machines.

use weir_shared::limits::EARLY_MS_MAX;
use weir_shared::ordered::OrderedMap;
use weir_shared::units::{EpochMs, WindowLabel};

use super::setup::WINDOW_MS;

/// What no step may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Wrong {
    /// Units were spent before or after the window that they belong to.
    SpentOutsideWindow,
    /// A request was answered that nobody asked, or twice.
    AnsweredTwice,
    /// A reply that does not answer the message in flight was credited, or one that does was not.
    WronglyCredited,
    /// A row that was written cannot be read.
    RowUnreadable,
}

/// What really happened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Truth {
    /// Units admitted, by window and region.
    admitted: OrderedMap<(u64, usize), u64>,
    /// When the coordinator opened its first window.
    opened_at: EpochMs,
    /// The window in which the coordinator crashed, with units lent and more than a block left.
    pub(crate) crashed_in: Option<u64>,
    pub(crate) wrong: Option<Wrong>,
}

impl Truth {
    /// A unit of a window is admitted; at what time, where windows keep their length.
    pub(crate) fn admit(&mut self, region: usize, label: WindowLabel, now: Option<EpochMs>) {
        *self.admitted.entry((label.0, region)).or_default() += 1;
        let Some(now) = now else {
            return;
        };
        // A window lent from ahead may open too early, at each of two depths.
        let early_ms = 2 * EARLY_MS_MAX.min(WINDOW_MS / 16);
        let inside = (self.label_at(now)..=self.label_at(now.plus(early_ms))).contains(&label);
        self.require(inside, Wrong::SpentOutsideWindow);
    }

    /// The coordinator has opened its first window, of which nobody has heard yet.
    pub(crate) fn opens(&mut self, now: EpochMs) {
        self.opened_at = now;
    }

    /// The window that is open at the coordinator: they follow each other without a gap, on multiples of their length.
    fn label_at(&self, now: EpochMs) -> WindowLabel {
        let begun = |at: EpochMs| at.0 / WINDOW_MS;
        WindowLabel(begun(now) - begun(self.opened_at) + 1)
    }

    pub(crate) fn require(&mut self, holds: bool, wrong: Wrong) {
        if !holds {
            self.wrong.get_or_insert(wrong);
        }
    }

    /// Labels with something admitted.
    pub(crate) fn labels(&self) -> impl Iterator<Item = u64> {
        self.admitted.keys().map(|(label, _)| *label)
    }

    pub(crate) fn admitted(&self, label: u64) -> u64 {
        let window = self.admitted.range((label, 0)..=(label, usize::MAX));
        window.map(|(_, units)| units).sum()
    }

    pub(crate) fn admitted_in(&self, region: usize, label: u64) -> u64 {
        self.admitted.get(&(label, region)).copied().unwrap_or(0)
    }
}
