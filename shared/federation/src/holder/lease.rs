//! What is held of one window.

use weir_core::units::{EpochMs, WindowLabel};

/// What is held of one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The window.
    pub label: WindowLabel,
    /// Its end on this holder's clock, never after its true end.
    pub ends_at: EpochMs,
    /// Its end on this holder's clock, never before its true end.
    pub over_at: EpochMs,
    /// What remained of it when the parent last told: it is never further off, whatever the clock does.
    pub span_ms: u64,
    /// Units in the whole window, over the whole deployment.
    pub limit: u64,
    /// Units lent to this holder and not returned.
    pub held: u64,
    /// Units of those that were spent here, or lent on.
    pub used: u64,
    /// What the parent could still lend when it last spoke.
    pub left: u64,
    /// Whether the parent's parent was out of reach when it last spoke.
    pub outage: bool,
}

impl Lease {
    /// Units that may be used.
    #[must_use]
    pub fn balance(&self) -> u64 {
        self.held.saturating_sub(self.used)
    }

    /// Whether the window is open: before its end, and not further from it than it can be, which it is only on a
    /// clock that has stepped back.
    #[must_use]
    pub fn open(&self, now: EpochMs) -> bool {
        now < self.ends_at && self.ends_at.since(now) <= self.span_ms
    }

    /// Whether the window is over, for the parent too.
    #[must_use]
    pub fn over(&self, now: EpochMs) -> bool {
        !self.open(now) && (now < self.ends_at || now >= self.over_at)
    }
}
