//! The limiting algorithms, one file each, as pure transitions `(state, cost, now) -> (decision, state)`.
//!
//! [`Algorithm`] is any of them behind one interface, with [`State`] and [`Receipt`] as they are stored. All
//! arithmetic is on integers. Time never runs backwards inside a state: what happens earlier than the latest that it
//! has seen happens at that latest. A cost of 0 looks: it tells what one unit would meet and changes nothing.

mod bucket;
pub mod calendar;
mod carry;
pub mod composite;
mod counted;
pub mod deficit_bucket;
mod fine_ms;
pub mod fixed_window;
mod free_places;
pub mod gcra;
pub mod guard;
mod held;
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
pub mod state;
pub mod tally;
pub mod token_bucket;
mod used;
mod zone;

use self::deficit_bucket::DeficitBucket;
use self::fixed_window::FixedWindow;
use self::gcra::Gcra;
use self::guard::Guard;
use self::leaky_bucket::LeakyBucket;
use self::quota::Quota;
use self::sliding_log::SlidingLog;
use self::sliding_window::SlidingWindow;
pub use self::state::{Receipt, State};
use self::token_bucket::TokenBucket;
use crate::decision::Decision;
use crate::units::EpochMs;

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

/// A limit that answers with a [`Decision`].
#[derive(Debug, Clone, PartialEq)]
#[allow(
    missing_docs,
    reason = "the names are the field's own; each algorithm's file explains it"
)]
pub enum Algorithm {
    Gcra(Gcra),
    TokenBucket(TokenBucket),
    FixedWindow(FixedWindow),
    SlidingWindow(SlidingWindow),
    SlidingLog(SlidingLog),
    Quota(Quota),
    DeficitBucket(DeficitBucket),
    LeakyBucket(LeakyBucket),
    Guard(Guard),
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

    #[inline]
    fn check_own(&self, state: Option<&State>, cost: u64, now: EpochMs) -> Checked<State> {
        match self {
            Self::Gcra(gcra) => gcra
                .check(state.and_then(State::gcra), cost, now)
                .map(State::Gcra),
            Self::TokenBucket(bucket) => bucket
                .check(state.and_then(State::token_bucket), cost, now)
                .map(State::TokenBucket),
            Self::FixedWindow(window) => window
                .check(state.and_then(State::fixed_window), cost, now)
                .map(State::FixedWindow),
            Self::SlidingWindow(window) => window
                .check(state.and_then(State::sliding_window), cost, now)
                .map(State::SlidingWindow),
            Self::SlidingLog(log) => log
                .check(state.and_then(State::sliding_log), cost, now)
                .map(State::SlidingLog),
            Self::Quota(quota) => quota
                .check(state.and_then(State::quota), cost, now)
                .map(State::Quota),
            Self::DeficitBucket(bucket) => bucket
                .check(state.and_then(State::deficit_bucket), cost, now)
                .map(State::DeficitBucket),
            Self::LeakyBucket(bucket) => bucket
                .check(state.and_then(State::leaky_bucket), cost, now)
                .map(State::LeakyBucket),
            Self::Guard(guard) => guard
                .check(state.and_then(State::guard), cost, now)
                .map(State::Guard),
        }
    }

    /// What names the charge that led to `after`, for [`refund`](Self::refund). `after` is the state right after it.
    #[must_use]
    pub fn receipt(&self, after: &State) -> Receipt {
        match (self, after) {
            (Self::Gcra(gcra), State::Gcra(after)) => Receipt::Gcra(gcra.receipt(after)),
            (Self::TokenBucket(bucket), State::TokenBucket(after)) => {
                Receipt::TokenBucket(bucket.receipt(after))
            }
            (Self::FixedWindow(window), State::FixedWindow(after)) => {
                Receipt::FixedWindow(window.receipt(after))
            }
            (Self::SlidingWindow(window), State::SlidingWindow(after)) => {
                Receipt::SlidingWindow(window.receipt(after))
            }
            (Self::SlidingLog(log), State::SlidingLog(after)) => {
                Receipt::SlidingLog(log.receipt(after))
            }
            (Self::Quota(quota), State::Quota(after)) => Receipt::Quota(quota.receipt(after)),
            (Self::DeficitBucket(bucket), State::DeficitBucket(after)) => {
                Receipt::DeficitBucket(bucket.receipt(after))
            }
            (Self::LeakyBucket(bucket), State::LeakyBucket(after)) => bucket
                .receipt(after)
                .map_or(Receipt::Nothing, Receipt::LeakyBucket),
            (Self::Guard(guard), State::Guard(after)) => Receipt::Guard(guard.receipt(after)),
            _ => Receipt::Nothing,
        }
    }

    /// Gives back `units` of the charge that `receipt` names, once and no more than it cost. The state is then never
    /// more generous than if they had never been charged. `None` when it stays as it is.
    #[must_use]
    pub fn refund(
        &self,
        state: &State,
        receipt: &Receipt,
        units: u64,
        now: EpochMs,
    ) -> Option<State> {
        match (self, state, receipt) {
            (Self::Gcra(gcra), State::Gcra(state), Receipt::Gcra(receipt)) => {
                gcra.refund(state, receipt, units, now).map(State::Gcra)
            }
            (
                Self::TokenBucket(bucket),
                State::TokenBucket(state),
                Receipt::TokenBucket(receipt),
            ) => bucket
                .refund(state, receipt, units, now)
                .map(State::TokenBucket),
            (
                Self::FixedWindow(window),
                State::FixedWindow(state),
                Receipt::FixedWindow(receipt),
            ) => window
                .refund(state, receipt, units, now)
                .map(State::FixedWindow),
            (
                Self::SlidingWindow(window),
                State::SlidingWindow(state),
                Receipt::SlidingWindow(receipt),
            ) => window
                .refund(state, receipt, units, now)
                .map(State::SlidingWindow),
            (Self::SlidingLog(log), State::SlidingLog(state), Receipt::SlidingLog(receipt)) => log
                .refund(state, receipt, units, now)
                .map(State::SlidingLog),
            (Self::Quota(quota), State::Quota(state), Receipt::Quota(receipt)) => {
                quota.refund(state, receipt, units, now).map(State::Quota)
            }
            (
                Self::DeficitBucket(bucket),
                State::DeficitBucket(state),
                Receipt::DeficitBucket(receipt),
            ) => bucket
                .refund(state, receipt, units, now)
                .map(State::DeficitBucket),
            (
                Self::LeakyBucket(bucket),
                State::LeakyBucket(state),
                Receipt::LeakyBucket(receipt),
            ) => bucket
                .refund(state, receipt, units, now)
                .map(State::LeakyBucket),
            (Self::Guard(guard), State::Guard(state), Receipt::Guard(receipt)) => {
                guard.refund(state, receipt, units, now).map(State::Guard)
            }
            _ => None,
        }
    }

    /// What a state that cannot be read is taken for: a key that has used all that it may at `now`.
    #[must_use]
    pub fn exhausted(&self, now: EpochMs) -> State {
        match self {
            Self::Gcra(gcra) => State::Gcra(gcra.exhausted(now)),
            Self::TokenBucket(bucket) => State::TokenBucket(bucket.exhausted(now)),
            Self::FixedWindow(window) => State::FixedWindow(window.exhausted(now)),
            Self::SlidingWindow(window) => State::SlidingWindow(window.exhausted(now)),
            Self::SlidingLog(log) => State::SlidingLog(log.exhausted(now)),
            Self::Quota(quota) => State::Quota(quota.exhausted(now)),
            Self::DeficitBucket(bucket) => State::DeficitBucket(bucket.exhausted(now)),
            Self::LeakyBucket(bucket) => State::LeakyBucket(bucket.exhausted(now)),
            Self::Guard(guard) => State::Guard(guard.exhausted(now)),
        }
    }

    /// The first millisecond at which `state` is no different from a cold key.
    #[must_use]
    pub fn expires_at(&self, state: &State) -> EpochMs {
        match (self, state) {
            (Self::Gcra(gcra), State::Gcra(state)) => gcra.expires_at(state),
            (Self::TokenBucket(bucket), State::TokenBucket(state)) => bucket.expires_at(state),
            (Self::FixedWindow(window), State::FixedWindow(state)) => window.expires_at(state),
            (Self::SlidingWindow(window), State::SlidingWindow(state)) => window.expires_at(state),
            (Self::SlidingLog(log), State::SlidingLog(state)) => log.expires_at(state),
            (Self::Quota(quota), State::Quota(state)) => quota.expires_at(state),
            (Self::DeficitBucket(bucket), State::DeficitBucket(state)) => bucket.expires_at(state),
            (Self::LeakyBucket(bucket), State::LeakyBucket(state)) => bucket.expires_at(state),
            (Self::Guard(guard), State::Guard(state)) => guard.expires_at(state),
            _ => EpochMs(0),
        }
    }

    /// Until when units that were charged at `now` may be spent later; `after` is the state right after the charge.
    #[must_use]
    pub fn spendable_until(&self, after: &State, now: EpochMs) -> EpochMs {
        match (self, after) {
            (Self::Gcra(gcra), State::Gcra(after)) => gcra.spendable_until(after, now),
            (Self::TokenBucket(bucket), State::TokenBucket(after)) => {
                bucket.spendable_until(after, now)
            }
            (Self::FixedWindow(window), State::FixedWindow(after)) => {
                window.spendable_until(after, now)
            }
            (Self::SlidingWindow(window), State::SlidingWindow(after)) => {
                window.spendable_until(after, now)
            }
            (Self::SlidingLog(log), State::SlidingLog(after)) => log.spendable_until(after, now),
            (Self::Quota(quota), State::Quota(after)) => quota.spendable_until(after, now),
            (Self::DeficitBucket(bucket), State::DeficitBucket(after)) => {
                bucket.spendable_until(after, now)
            }
            (Self::LeakyBucket(bucket), State::LeakyBucket(after)) => {
                bucket.spendable_until(after, now)
            }
            (Self::Guard(guard), State::Guard(after)) => guard.spendable_until(after, now),
            _ => now,
        }
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

    /// The largest cost that a cold key admits.
    #[must_use]
    pub fn ceiling(&self) -> u64 {
        match self {
            Self::Gcra(gcra) => gcra.ceiling(),
            Self::TokenBucket(bucket) => bucket.ceiling(),
            Self::FixedWindow(window) => window.ceiling(),
            Self::SlidingWindow(window) => window.ceiling(),
            Self::SlidingLog(log) => log.ceiling(),
            Self::Quota(quota) => quota.ceiling(),
            Self::DeficitBucket(bucket) => bucket.ceiling(),
            Self::LeakyBucket(bucket) => bucket.ceiling(),
            Self::Guard(guard) => guard.ceiling(),
        }
    }

    /// What it promises over time.
    #[must_use]
    pub fn quota_policy(&self) -> QuotaPolicy {
        match self {
            Self::Gcra(gcra) => gcra.quota_policy(),
            Self::TokenBucket(bucket) => bucket.quota_policy(),
            Self::FixedWindow(window) => window.quota_policy(),
            Self::SlidingWindow(window) => window.quota_policy(),
            Self::SlidingLog(log) => log.quota_policy(),
            Self::Quota(quota) => quota.quota_policy(),
            Self::DeficitBucket(bucket) => bucket.quota_policy(),
            Self::LeakyBucket(bucket) => bucket.quota_policy(),
            Self::Guard(guard) => guard.quota_policy(),
        }
    }

    /// Bytes of one stored [`State`] of it, as JSON, at most.
    #[must_use]
    pub fn state_bytes_max(&self) -> u64 {
        match self {
            Self::Gcra(gcra) => gcra.state_bytes_max(),
            Self::TokenBucket(bucket) => bucket.state_bytes_max(),
            Self::FixedWindow(window) => window.state_bytes_max(),
            Self::SlidingWindow(window) => window.state_bytes_max(),
            Self::SlidingLog(log) => log.state_bytes_max(),
            Self::Quota(quota) => quota.state_bytes_max(),
            Self::DeficitBucket(bucket) => bucket.state_bytes_max(),
            Self::LeakyBucket(bucket) => bucket.state_bytes_max(),
            Self::Guard(guard) => guard.state_bytes_max(),
        }
    }

    /// The same limit counted in units of `1 / scale`; `None` when its numbers would leave what is exact.
    #[must_use]
    pub fn scaled(&self, scale: u64) -> Option<Self> {
        match self {
            Self::Gcra(gcra) => gcra.scaled(scale).map(Self::Gcra),
            Self::TokenBucket(bucket) => bucket.scaled(scale).map(Self::TokenBucket),
            Self::FixedWindow(window) => window.scaled(scale).map(Self::FixedWindow),
            Self::SlidingWindow(window) => window.scaled(scale).map(Self::SlidingWindow),
            Self::SlidingLog(log) => log.scaled(scale).map(Self::SlidingLog),
            Self::Quota(quota) => quota.scaled(scale).map(Self::Quota),
            Self::DeficitBucket(bucket) => bucket.scaled(scale).map(Self::DeficitBucket),
            // Neither a place in a queue nor a slot has parts.
            Self::LeakyBucket(bucket) => (scale == 1).then_some(Self::LeakyBucket(*bucket)),
            Self::Guard(guard) => (scale == 1).then_some(Self::Guard(*guard)),
        }
    }
}
