//! What a limiter decided, and what the caller may do about it.

use crate::units::EpochMs;
pub use crate::wire::check::Reason;

/// When the same request could be admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// It was admitted.
    Now,
    /// After this many milliseconds, at least 1.
    AfterMs(u64),
    /// No future state of this policy admits it.
    Never,
}

impl Retry {
    /// The wire's `retry_after_ms`: 0 when admitted, `None` for never.
    #[must_use]
    pub fn after_ms(self) -> Option<u64> {
        match self {
            Self::Now => Some(0),
            Self::AfterMs(ms) => Some(ms),
            Self::Never => None,
        }
    }
}

/// One decision of one machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Why; [`Reason::Admitted`] is the only reason that admits.
    pub reason: Reason,
    /// The ceiling that was compared with, in units.
    pub limit: u64,
    /// Units that could still be admitted at this instant.
    pub remaining: u64,
    /// When the state is back to full, or the window ends.
    pub reset_at: EpochMs,
    /// When to try again.
    pub retry: Retry,
}

impl Decision {
    /// Whether the machine admitted.
    #[must_use]
    pub fn admitted(&self) -> bool {
        self.reason == Reason::Admitted
    }

    /// A holder of the state was out of reach; `after_ms` is when to ask again.
    #[must_use]
    pub fn unavailable(limit: u64, now: EpochMs, after_ms: u64) -> Self {
        let after_ms = after_ms.max(1);
        Self {
            reason: Reason::Unavailable,
            limit,
            remaining: 0,
            reset_at: now.plus(after_ms),
            retry: Retry::AfterMs(after_ms),
        }
    }

    /// The cost is above what any state could admit.
    #[must_use]
    pub fn never(limit: u64, remaining: u64, reset_at: EpochMs) -> Self {
        Self {
            reason: Reason::Never,
            limit,
            remaining,
            reset_at,
            retry: Retry::Never,
        }
    }
}
