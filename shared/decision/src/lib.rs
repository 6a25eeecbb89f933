//! What a limiter decided, and what the caller may do about it.

pub mod id;

use weir_core::limits::JSON_INTEGER_MAX;
use weir_core::units::EpochMs;
pub use weir_wire::check::Reason;

/// When the same request could be admitted. Ordered: later is greater, and never is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
    /// Admits everything: the identity of [`Decision::combine`] for limits of up to 2^53 - 1.
    pub const IDENTITY: Self = Self {
        reason: Reason::Admitted,
        limit: JSON_INTEGER_MAX,
        remaining: JSON_INTEGER_MAX,
        reset_at: EpochMs(0),
        retry: Retry::Now,
    };

    /// Both decisions as one that admits when both do: the smaller limit, the smaller remaining, the later reset, the
    /// later retry, and of two denials the reason that lies further from the asker (limit, share, cap, slots, load,
    /// reach, never).
    ///
    /// Each field is combined by itself with the smaller or the greater of an order, so the order and the grouping of
    /// several decisions do not matter, and a decision combined with itself is itself. [`Reason::Never`] comes with
    /// [`Retry::Never`] exactly if it did so in both.
    ///
    /// ```
    /// use weir_decision::{Decision, Reason, Retry};
    /// use weir_core::units::EpochMs;
    /// let wide = Decision {
    ///     reason: Reason::Admitted, limit: 100, remaining: 40, reset_at: EpochMs(9_000), retry: Retry::Now,
    /// };
    /// let spent = Decision {
    ///     reason: Reason::LimitExceeded, limit: 200, remaining: 0, reset_at: EpochMs(5_000), retry: Retry::AfterMs(30),
    /// };
    /// let both = wide.combine(spent);
    /// assert_eq!((both.admitted(), both.limit, both.remaining), (false, 100, 0));
    /// assert_eq!((both.reset_at, both.retry), (EpochMs(9_000), Retry::AfterMs(30)));
    /// assert_eq!(both.combine(Decision::IDENTITY), both);
    /// ```
    #[must_use]
    pub fn combine(self, other: Self) -> Self {
        Self {
            reason: std::cmp::max_by_key(self.reason, other.reason, |reason| distance(*reason)),
            limit: self.limit.min(other.limit),
            remaining: self.remaining.min(other.remaining),
            reset_at: self.reset_at.max(other.reset_at),
            retry: self.retry.max(other.retry),
        }
    }

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

/// How far from the asker the cause of a denial lies: what it can wait out by itself comes first, what no waiting
/// helps with last.
fn distance(reason: Reason) -> u8 {
    match reason {
        Reason::Admitted => 0,
        Reason::LimitExceeded => 1,
        Reason::OverShare => 2,
        Reason::CapReached => 3,
        Reason::Concurrency => 4,
        Reason::Overloaded => 5,
        Reason::Unavailable => 6,
        Reason::Never => 7,
    }
}
