//! The rows of a shard: what it reads, what an event writes, and the draft in between.

use weir_algorithms::composite::StateKey;
use weir_algorithms::scale::{Scaled, ScaledState};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, OpId};

use super::owner::Account;
use crate::messages::SettledKeys;
use crate::stored::StoredHold;

/// How a key is kept.
#[derive(Debug, Clone, Copy)]
pub struct KeyPlacement<'a> {
    /// Whether it is the one key of a tenant that the policy names.
    pub only: bool,
    /// On whose account.
    pub account: &'a Account,
    /// Tells its rules apart, where they are not those of every key.
    pub rules: Option<u64>,
}

/// The rows that a shard reads.
pub trait Rows {
    /// Where the state of a key is kept, as [`Room`](super::room::Room) says: under itself where it has a row that may grow
    /// or there is room for one on its account, else under an owner's overflow, that of its rules where these are not
    /// every key's.
    fn place(&mut self, key: StateKey, placement: KeyPlacement<'_>) -> StateKey;

    /// The state of a key.
    fn state(&mut self, key: &StateKey) -> Row;

    /// What came of the settlement of a reservation, if it was settled.
    fn settled(&mut self, op: OpId) -> Option<SettledKeys>;
}

/// A row, as far as it can be read.
#[derive(Debug, Clone, PartialEq)]
pub enum Row {
    /// There is none.
    Cold,
    /// The state.
    Warm(ScaledState),
    /// It cannot be read: the key counts as used up.
    Damaged,
}

/// A row to write.
#[derive(Debug, Clone, PartialEq)]
pub enum Put {
    /// The state of a key.
    State {
        /// The key.
        key: StateKey,
        /// Its state.
        state: ScaledState,
        /// When it may be forgotten.
        expires_at: EpochMs,
    },
    /// A hold.
    Hold {
        /// The question.
        op: OpId,
        /// The hold; `None` when it is over.
        row: Option<StoredHold>,
    },
    /// A key was put back to its start.
    Reset {
        /// The key.
        key: StateKey,
        /// When.
        at: EpochMs,
        /// When nothing from before can come any more.
        expires_at: EpochMs,
    },
    /// The result of a settlement.
    Settled {
        /// The reservation.
        op: OpId,
        /// The result.
        result: SettledKeys,
        /// When it may be forgotten.
        expires_at: EpochMs,
    },
}

/// States as they will be, over the rows as they are.
pub(super) struct Draft<'a, R> {
    pub(super) rows: &'a mut R,
    pub(super) touched: OrderedMap<StateKey, ScaledState>,
    pub(super) puts: Vec<Put>,
    /// The keys that were asked for, of those that are kept under another.
    asked: OrderedMap<StateKey, StateKey>,
}

impl<R> Draft<'_, R> {
    /// Remembers that `asked` is kept under `kept`: the rules of the one are those of the other.
    pub(super) fn keep(&mut self, asked: StateKey, kept: StateKey) -> StateKey {
        if kept != asked {
            self.asked.insert(kept.clone(), asked);
        }
        kept
    }

    /// The key that was asked for, of one that is kept.
    pub(super) fn asked<'b>(&'b self, kept: &'b StateKey) -> &'b StateKey {
        self.asked.get(kept).unwrap_or(kept)
    }
}

impl<R: Rows> Draft<'_, R> {
    /// The state of a key, as this event has left it so far.
    pub(super) fn state(
        &mut self,
        machine: &Scaled,
        key: &StateKey,
        now: EpochMs,
    ) -> Option<ScaledState> {
        if let Some(state) = self.touched.get(key) {
            return Some(state.clone());
        }
        match self.rows.state(key) {
            Row::Cold => None,
            Row::Warm(state) => match machine.carried(&state, now) {
                // Written, so that what was used by other rules counts by these from now on.
                Some(carried) => {
                    self.touched.insert(key.clone(), carried.clone());
                    Some(carried)
                }
                None => Some(state),
            },
            Row::Damaged => {
                // Written, so that it comes to an end.
                let state = machine.exhausted(now);
                self.touched.insert(key.clone(), state.clone());
                Some(state)
            }
        }
    }
}

/// A draft that has changed nothing.
pub(super) fn draft<R: Rows>(rows: &mut R) -> Draft<'_, R> {
    Draft {
        rows,
        touched: OrderedMap::new(),
        puts: Vec::new(),
        asked: OrderedMap::new(),
    }
}
