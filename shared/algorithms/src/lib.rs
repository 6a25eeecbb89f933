//! The limiting algorithms, one file each, as pure transitions `(state, cost, now) -> (decision, state)`.
//!
//! [`Algorithm`] is any of them behind one interface, with [`State`] and [`Receipt`] as they are stored; the table below
//! says which there are. All
//! arithmetic is on integers. Time never runs backwards inside a state: what happens earlier than the latest that it
//! has seen happens at that latest. A cost of 0 looks: it tells what one unit would meet and changes nothing.

#[macro_use]
mod any;
mod bucket;
pub mod calendar;
mod carried_units;
mod carry;
pub mod composite;
mod counted;
pub mod deficit_bucket;
pub mod dual_token_bucket;
mod fine_ms;
pub mod fixed_window;
mod free_places;
pub mod gcra;
pub mod guard;
pub mod leaky_bucket;
mod meter;
pub mod quota;
pub mod rational;
mod runs;
pub mod scale;
pub mod sleep;
pub mod sliding_log;
pub mod sliding_window;
mod slots;
pub mod tally;
pub mod token_bucket;
mod used;
mod zone;

use serde::{Deserialize, Serialize};
use weir_core::units::EpochMs;
use weir_decision::Decision;

use self::carry::{CarriedState, Carry};
use self::deficit_bucket::{DeficitBucket, DeficitBucketState};
use self::dual_token_bucket::{DualTokenBucket, DualTokenBucketReceipt, DualTokenBucketState};
use self::fixed_window::{FixedWindow, FixedWindowReceipt, FixedWindowState};
use self::gcra::{Gcra, GcraState};
use self::guard::{Guard, GuardReceipt, GuardState};
use self::leaky_bucket::{LeakyBucket, LeakyBucketReceipt, LeakyBucketState};
use self::quota::{Quota, QuotaReceipt, QuotaState};
use self::sliding_log::{SlidingLog, SlidingLogReceipt, SlidingLogState};
use self::sliding_window::{SlidingWindow, SlidingWindowReceipt, SlidingWindowState};
use self::tally::TallyMark;
use self::token_bucket::{TokenBucket, TokenBucketState};
use self::used::Used;

any_of! {
    /// Of the generic cell rate algorithm.
    Gcra(Gcra, GcraState, TallyMark);
    /// Of a token bucket.
    TokenBucket(TokenBucket, TokenBucketState, TallyMark);
    /// Of a token bucket with a peak rate.
    DualTokenBucket(DualTokenBucket, DualTokenBucketState, DualTokenBucketReceipt);
    /// Of a fixed window.
    FixedWindow(FixedWindow, FixedWindowState, FixedWindowReceipt);
    /// Of a sliding window.
    SlidingWindow(SlidingWindow, SlidingWindowState, SlidingWindowReceipt);
    /// Of a sliding log.
    SlidingLog(SlidingLog, SlidingLogState, SlidingLogReceipt);
    /// Of a quota.
    Quota(Quota, QuotaState, QuotaReceipt);
    /// Of a deficit bucket.
    DeficitBucket(DeficitBucket, DeficitBucketState, TallyMark);
    /// Of a leaky bucket: its queue, and a place in it.
    LeakyBucket(LeakyBucket, LeakyBucketState, LeakyBucketReceipt);
    /// Of a guard.
    Guard(Guard, GuardState, GuardReceipt);
}

/// What a check came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked<S> {
    /// The decision.
    pub decision: Decision,
    /// The state to keep; `None` when it is as before.
    pub next: Option<S>,
}

impl<S> Checked<S> {
    /// The same with another form of the state.
    #[must_use]
    pub fn map<T>(self, form: impl FnOnce(S) -> T) -> Checked<T> {
        Checked {
            decision: self.decision,
            next: self.next.map(form),
        }
    }
}

/// What a limit promises over time, for the rate-limit headers: `quota` units in `window_ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaPolicy {
    /// Units.
    pub quota: u64,
    /// The time that they are for.
    pub window_ms: u64,
}

impl Algorithm {
    /// Decides `cost` units at `now`. A state of another algorithm counts as [carried](Self::carried) over at
    /// `now`.
    #[must_use]
    pub fn check(&self, state: Option<&State>, cost: u64, now: EpochMs) -> Checked<State> {
        if let Some(other) = state.filter(|state| !self.reads(state)) {
            let carried = self.charged(&other.used(now));
            return self.check_own(carried.as_ref(), cost, now);
        }
        self.check_own(state, cost, now)
    }

    /// The largest cost that would be admitted at `now`: more than `remaining` where a cost may go into debt.
    #[must_use]
    pub fn at_once(&self, state: Option<&State>, now: EpochMs) -> u64 {
        match (self, state) {
            (Self::DeficitBucket(bucket), None) => bucket.at_once(None, now),
            (Self::DeficitBucket(bucket), Some(State::DeficitBucket(state))) => {
                bucket.at_once(Some(state), now)
            }
            _ => self.check(state, 0, now).decision.remaining,
        }
    }
}
