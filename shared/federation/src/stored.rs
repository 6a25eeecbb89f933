//! The rows in which coordinators and regions keep what they lend.

use serde::{Deserialize, Serialize};
use weir_core::limits::{AHEAD_WINDOWS_MAX, GLOBAL_BUCKETS_MAX, JSON_INTEGER_MAX};
use weir_core::ordered::OrderedMap;
use weir_core::outlasting::Outlasting;
use weir_core::units::{EpochMs, WindowLabel};
use weir_core::window::Window;
use weir_wire::exchange::{Cycle, Seen, Terms, VERSION};
use weir_wire::stored::{Damaged, Row};

use super::ahead::Ahead;
use super::schedule::Schedule;

/// Labels are counted from 1 and stay exact in JSON.
fn labelled(label: WindowLabel) -> Result<(), Damaged> {
    if (1..=JSON_INTEGER_MAX).contains(&label.0) {
        return Ok(());
    }
    Err(Damaged::Contradiction {
        what: "a label outside its range",
    })
}

/// What a coordinator keeps of its budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPool {
    v: u16,
    /// The window's label.
    pub label: WindowLabel,
    /// Its end.
    pub ends_at: EpochMs,
    /// Its length, which the terms in force may no longer say.
    pub window_ms: u64,
    /// The terms in force.
    pub terms: Terms,
    /// Units below which everything counts as granted.
    pub watermark: u64,
    /// Where the window is a part of a rolling one: what was lent in the parts before it, newest first, each
    /// `window_ms` long. In the first window after an edit of their length or kind: what counts in it of what was lent
    /// before, and 0. Empty for any other window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<u64>,
    /// Units of windows to come that count as granted, by label.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub ahead: OrderedMap<WindowLabel, u64>,
    /// What was lent in windows that an edit closed early, for as long as those would have lasted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outlasting: Option<Outlasting>,
    /// When the open window was to end, where an edit has it end earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_until: Option<EpochMs>,
}

impl StoredPool {
    /// A row of the present version, without history.
    #[must_use]
    pub fn new(window: Window, terms: Terms, watermark: u64) -> Self {
        Self {
            v: VERSION,
            label: window.label,
            ends_at: window.ends_at,
            window_ms: window.window_ms,
            terms,
            watermark,
            history: Vec::new(),
            ahead: OrderedMap::new(),
            outlasting: None,
            whole_until: None,
        }
    }

    /// When it may be forgotten: the window is over, and of a rolling one all that was lent.
    #[must_use]
    pub fn expires_at(&self) -> EpochMs {
        let last = self.ahead.keys().next_back().map_or(0, |last| last.0);
        let promised = last.saturating_sub(self.label.0);
        let over_at = self.ends_at.plus(promised.saturating_mul(self.window_ms));
        let outlasted_at = self.outlasting.map_or(EpochMs(0), |kept| kept.until);
        // What was lent may count in the window that follows, where that is another.
        let rolls = matches!(self.terms.cycle, Some(Cycle::Sliding { .. }));
        if rolls || !self.history.is_empty() || self.window_ms < self.terms.window_ms {
            over_at.plus(self.terms.window_ms).max(outlasted_at)
        } else {
            over_at.max(outlasted_at)
        }
    }

    /// The row with units of windows to come.
    #[must_use]
    pub fn with_ahead(mut self, ahead: OrderedMap<WindowLabel, u64>) -> Self {
        self.ahead = ahead;
        self
    }

    /// The row with what was lent in windows that an edit closed early.
    #[must_use]
    pub fn with_outlasting(mut self, outlasting: Outlasting) -> Self {
        self.outlasting = Some(outlasting).filter(|kept| *kept != Outlasting::default());
        self
    }

    /// The row of a window that was to end then.
    #[must_use]
    pub fn with_whole_until(mut self, whole_until: Option<EpochMs>) -> Self {
        self.whole_until = whole_until;
        self
    }

    /// The row with what was lent in earlier parts of a rolling window.
    #[must_use]
    pub fn with_history(mut self, history: Vec<u64>) -> Self {
        self.history = history;
        self
    }
}

impl Row for StoredPool {
    fn version(&self) -> u16 {
        self.v
    }

    fn consistent(&self) -> Result<(), Damaged> {
        if self.window_ms == 0 || self.terms.limit == 0 || self.terms.window_ms == 0 {
            return Err(Damaged::Contradiction {
                what: "a window without limit or length",
            });
        }
        if self.history.len() as u64 > GLOBAL_BUCKETS_MAX {
            return Err(Damaged::Contradiction {
                what: "more parts than a rolling window has",
            });
        }
        if self.ahead.len() > AHEAD_WINDOWS_MAX
            || self.ahead.keys().any(|label| *label <= self.label)
        {
            return Err(Damaged::Contradiction {
                what: "units of windows to come that cannot be",
            });
        }
        if self.terms.cycle.is_some() && Schedule::try_from(&self.terms).is_err() {
            return Err(Damaged::Contradiction {
                what: "a cycle that cannot be",
            });
        }
        labelled(self.label)
    }
}

/// What a region keeps of one budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredEscrow {
    v: u16,
    /// The window that the units belong to.
    pub label: WindowLabel,
    /// Its end on the region's clock.
    pub ends_at: EpochMs,
    /// What remained of it when the coordinator last told.
    pub span_ms: u64,
    /// Units in the whole window, over the whole deployment.
    pub limit: u64,
    /// Units held of the coordinator.
    pub held: u64,
    /// Units of those below which everything counts as lent on.
    pub watermark: u64,
    /// The coordinator's last reply that is in `held`.
    pub seen: Option<Seen>,
    /// Units of windows to come, the next first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ahead: Vec<Ahead>,
}

impl StoredEscrow {
    /// A row of the present version.
    #[must_use]
    pub fn new(
        label: WindowLabel,
        (ends_at, span_ms): (EpochMs, u64),
        limit: u64,
        (held, watermark): (u64, u64),
        seen: Option<Seen>,
    ) -> Self {
        Self {
            v: VERSION,
            label,
            ends_at,
            span_ms,
            limit,
            held,
            watermark,
            seen,
            ahead: Vec::new(),
        }
    }

    /// When all of which it says something is over: the window, and those to come of which units are held.
    ///
    /// ```
    /// use weir_federation::ahead::Ahead;
    /// use weir_federation::stored::StoredEscrow;
    /// use weir_core::units::{EpochMs, WindowLabel};
    /// let row = StoredEscrow::new(WindowLabel(7), (EpochMs(60_000), 60_000), 100, (40, 30), None);
    /// assert_eq!(row.over_at(), EpochMs(60_000));
    /// let next = Ahead {
    ///     label: WindowLabel(8), starts_at: EpochMs(60_000), ends_at: EpochMs(120_000), units: 50, lent: 0,
    /// };
    /// assert_eq!(row.with_ahead(vec![next]).over_at(), EpochMs(120_000));
    /// ```
    #[must_use]
    pub fn over_at(&self) -> EpochMs {
        let ahead = self.ahead.iter().map(|ahead| ahead.ends_at);
        ahead.fold(self.ends_at, EpochMs::max)
    }

    /// The row with units of windows to come.
    #[must_use]
    pub fn with_ahead(mut self, ahead: Vec<Ahead>) -> Self {
        self.ahead = ahead;
        self
    }
}

impl Row for StoredEscrow {
    fn version(&self) -> u16 {
        self.v
    }

    fn consistent(&self) -> Result<(), Damaged> {
        if self.watermark > self.held {
            return Err(Damaged::Contradiction {
                what: "more lent on than held",
            });
        }
        let later = |ahead: &Ahead| ahead.label > self.label && ahead.lent <= ahead.units;
        if self.ahead.len() > AHEAD_WINDOWS_MAX || !self.ahead.iter().all(later) {
            return Err(Damaged::Contradiction {
                what: "units of windows to come that cannot be",
            });
        }
        labelled(self.label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(held: u64, watermark: u64) -> StoredEscrow {
        StoredEscrow::new(
            WindowLabel(7),
            (EpochMs(60_000), 60_000),
            100,
            (held, watermark),
            None,
        )
    }

    fn ahead(label: u64, lent: u64) -> Ahead {
        Ahead {
            label: WindowLabel(label),
            starts_at: EpochMs(60_000),
            ends_at: EpochMs(120_000),
            units: 5,
            lent,
        }
    }

    #[test]
    fn a_regions_row_that_cannot_be_is_damaged() {
        let windows = |count: usize| (8..).take(count).map(|label| ahead(label, 0)).collect();
        let cases = [
            (row(40, 40), true),
            (row(40, 41), false),
            (row(40, 0).with_ahead(windows(AHEAD_WINDOWS_MAX)), true),
            (row(40, 0).with_ahead(windows(AHEAD_WINDOWS_MAX + 1)), false),
            (row(40, 0).with_ahead(vec![ahead(8, 5)]), true),
            (row(40, 0).with_ahead(vec![ahead(8, 6)]), false),
            (row(40, 0).with_ahead(vec![ahead(7, 0)]), false),
            (row(40, 0).with_ahead(vec![ahead(8, 0), ahead(7, 0)]), false),
        ];
        for (row, sound) in cases {
            assert_eq!(row.consistent().is_ok(), sound, "{row:?}");
        }
    }
}
