//! A key's state and the receipt of a charge, of any algorithm, as they are stored.

use serde::{Deserialize, Serialize};

use super::deficit_bucket::DeficitBucketState;
use super::fixed_window::{FixedWindowReceipt, FixedWindowState};
use super::gcra::GcraState;
use super::guard::{GuardReceipt, GuardState};
use super::leaky_bucket::{LeakyBucketReceipt, LeakyBucketState};
use super::quota::{QuotaReceipt, QuotaState};
use super::sliding_log::{SlidingLogReceipt, SlidingLogState};
use super::sliding_window::{SlidingWindowReceipt, SlidingWindowState};
use super::tally::TallyMark;
use super::token_bucket::TokenBucketState;

/// The state of one key.
///
/// ```
/// use weir_shared::algorithms::gcra::Gcra;
/// use weir_shared::algorithms::{Algorithm, State};
/// use weir_shared::units::EpochMs;
/// let gcra = Algorithm::Gcra(Gcra::new(10, 1_000, 2).unwrap());
/// let state = gcra.check(None, 1, EpochMs(50_000)).next.unwrap();
/// let json = serde_json::to_string(&state).unwrap();
/// assert!(json.starts_with(r#"{"gcra":{"ms":50100,"#)); // the next unit is due one T = 100 ms later
/// assert_eq!(serde_json::from_str::<State>(&json).unwrap(), state);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are those of the algorithms")]
pub enum State {
    Gcra(GcraState),
    TokenBucket(TokenBucketState),
    FixedWindow(FixedWindowState),
    SlidingWindow(SlidingWindowState),
    SlidingLog(SlidingLogState),
    Quota(QuotaState),
    LeakyBucket(LeakyBucketState),
    DeficitBucket(DeficitBucketState),
    Guard(GuardState),
}

impl State {
    /// The state of the same limit counted in parts of `1 / to` of a unit instead of `1 / from`. What was used is
    /// rounded up. The queue of a leaky bucket and the slots of a guard have no parts.
    pub(super) fn rescaled(&self, from: u64, to: u64) -> Self {
        match self {
            Self::LeakyBucket(_) | Self::Guard(_) => self.clone(),
            Self::Gcra(state) => Self::Gcra(state.rescaled(from, to)),
            Self::DeficitBucket(state) => Self::DeficitBucket(state.rescaled(from, to)),
            Self::TokenBucket(state) => Self::TokenBucket(state.rescaled(from, to)),
            Self::FixedWindow(state) => Self::FixedWindow(state.rescaled(from, to)),
            Self::SlidingWindow(state) => Self::SlidingWindow(state.rescaled(from, to)),
            Self::SlidingLog(state) => Self::SlidingLog(state.rescaled(from, to)),
            Self::Quota(state) => Self::Quota(state.rescaled(from, to)),
        }
    }

    pub(super) fn gcra(&self) -> Option<&GcraState> {
        match self {
            Self::Gcra(state) => Some(state),
            _ => None,
        }
    }

    pub(super) fn token_bucket(&self) -> Option<&TokenBucketState> {
        match self {
            Self::TokenBucket(state) => Some(state),
            _ => None,
        }
    }

    pub(super) fn fixed_window(&self) -> Option<&FixedWindowState> {
        match self {
            Self::FixedWindow(state) => Some(state),
            _ => None,
        }
    }

    pub(super) fn sliding_window(&self) -> Option<&SlidingWindowState> {
        match self {
            Self::SlidingWindow(state) => Some(state),
            _ => None,
        }
    }

    pub(super) fn sliding_log(&self) -> Option<&SlidingLogState> {
        match self {
            Self::SlidingLog(state) => Some(state),
            _ => None,
        }
    }

    pub(super) fn quota(&self) -> Option<&QuotaState> {
        match self {
            Self::Quota(state) => Some(state),
            _ => None,
        }
    }

    pub(super) fn deficit_bucket(&self) -> Option<&DeficitBucketState> {
        match self {
            Self::DeficitBucket(state) => Some(state),
            _ => None,
        }
    }

    pub(super) fn leaky_bucket(&self) -> Option<&LeakyBucketState> {
        match self {
            Self::LeakyBucket(state) => Some(state),
            _ => None,
        }
    }

    pub(super) fn guard(&self) -> Option<&GuardState> {
        match self {
            Self::Guard(state) => Some(state),
            _ => None,
        }
    }
}

/// `units` of `1 / from` in parts of `1 / to`, rounded up: what was used.
pub(crate) fn rescaled_up(units: u64, from: u64, to: u64) -> u64 {
    let units = (u128::from(units) * u128::from(to)).div_ceil(u128::from(from.max(1)));
    u64::try_from(units).unwrap_or(u64::MAX)
}

/// What names one charge, so that it can be given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Receipt {
    /// Of the generic cell rate algorithm.
    Gcra(TallyMark),
    /// Of a token bucket.
    TokenBucket(TallyMark),
    /// Of a fixed window.
    FixedWindow(FixedWindowReceipt),
    /// Of a sliding window.
    SlidingWindow(SlidingWindowReceipt),
    /// Of a sliding log.
    SlidingLog(SlidingLogReceipt),
    /// Of a quota.
    Quota(QuotaReceipt),
    /// Of a deficit bucket.
    DeficitBucket(TallyMark),
    /// Of a leaky bucket: a place in its queue.
    LeakyBucket(LeakyBucketReceipt),
    /// Of a guard.
    Guard(GuardReceipt),
    /// Of nothing that could be given back.
    Nothing,
}
