//! What a key was charged since it was last cold, so that a refund is safe in any order.
//!
//! A refund must leave the key no more generous than if the refunded units had never been charged. Without them its
//! level, in units, would be at most
//! - the level with them, less the units given back, where it has not run empty since that charge, and
//! - what was charged after it, where it has;
//! - and in any case at most all that was charged since the key was cold, less what was given back.
//!
//! So the level after a refund of `u` units is `max(level - u, min(charged after it, kept - u))`. Both sums are kept
//! here. Charges that were given back still count as charged after an earlier one: that errs to the safe side, by at
//! most what has drained since the key was cold.

use serde::{Deserialize, Serialize};
use weir_core::units::EpochMs;

/// Units charged since the key was last cold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; 3]", into = "[u64; 3]")]
pub struct Tally {
    since_ms: u64,
    charged: u64,
    kept: u64,
}

/// Which charge of a [`Tally`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; 2]", into = "[u64; 2]")]
pub struct TallyMark {
    since_ms: u64,
    charged: u64,
}

/// What a refund does to a [`Tally`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refunded {
    /// The tally after it.
    pub tally: Tally,
    /// Units below which the level may not fall.
    pub floor_units: u64,
}

impl Tally {
    /// Of a key that has a level of `kept` units, whose charges are counted since `since`.
    pub(super) fn start(since: EpochMs, kept: u64) -> Self {
        Self {
            since_ms: since.0,
            charged: 0,
            kept,
        }
    }

    /// Starts anew on a level of `level_units`, rounded up, where units mean something else now or were too many to
    /// count: nothing from before can be given back.
    pub(super) fn restarted(self, level_units: u64, at: EpochMs) -> Self {
        let unused = EpochMs(self.since_ms.saturating_add(1));
        Self::start(at.max(unused), level_units)
    }

    /// After a charge of `cost` units at `at`. `before` is the tally so far, absent where the key is cold, and
    /// `level_units` tells what it holds, rounded up.
    #[inline]
    pub(super) fn charged(
        before: Option<Self>,
        level_units: impl FnOnce() -> u64,
        cost: u64,
        at: EpochMs,
    ) -> Self {
        let Some(before) = before else {
            return Self {
                since_ms: at.0,
                charged: cost,
                kept: cost,
            };
        };
        before.plus(cost).unwrap_or_else(|| {
            let level_units = level_units();
            Self {
                charged: cost,
                kept: level_units.saturating_add(cost),
                ..before.restarted(level_units, at)
            }
        })
    }

    /// `None` when that cannot be counted any more.
    #[inline]
    fn plus(self, cost: u64) -> Option<Self> {
        Some(Self {
            since_ms: self.since_ms,
            charged: self.charged.checked_add(cost)?,
            kept: self.kept.checked_add(cost)?,
        })
    }

    /// What names the latest charge.
    pub(super) fn mark(self) -> TallyMark {
        TallyMark {
            since_ms: self.since_ms,
            charged: self.charged,
        }
    }

    /// Gives back `units` of the charge at `mark`; `None` when there are none, or the key has been cold since.
    pub(super) fn refund(self, mark: TallyMark, units: u64) -> Option<Refunded> {
        if units == 0 || mark.since_ms != self.since_ms {
            return None;
        }
        let charged_after = self.charged.checked_sub(mark.charged)?;
        let kept = self.kept.saturating_sub(units);
        Some(Refunded {
            tally: Self { kept, ..self },
            floor_units: charged_after.min(kept),
        })
    }
}

impl From<[u64; 3]> for Tally {
    fn from([since_ms, charged, kept]: [u64; 3]) -> Self {
        Self {
            since_ms,
            charged,
            kept,
        }
    }
}

impl From<Tally> for [u64; 3] {
    fn from(tally: Tally) -> Self {
        [tally.since_ms, tally.charged, tally.kept]
    }
}

impl From<[u64; 2]> for TallyMark {
    fn from([since_ms, charged]: [u64; 2]) -> Self {
        Self { since_ms, charged }
    }
}

impl From<TallyMark> for [u64; 2] {
    fn from(mark: TallyMark) -> Self {
        [mark.since_ms, mark.charged]
    }
}
