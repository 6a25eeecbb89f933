//! The charges of questions that may still be undone: held until they are committed, and, for a short time, those
//! that were answered, in case the answer was lost.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::owner::Account;
use super::room::{Bounds, Room, Size};
use crate::algorithms::composite::StateKey;
use crate::algorithms::scale::ScaledReceipt;
use crate::limiting::messages::ReturnBody;
use crate::limiting::stored::StoredHold;
use crate::limits::{CALL_MS_MAX, HOLDS_MAX, RECENT_QUESTIONS_MAX};
use crate::units::{EpochMs, OpId};

/// One charge that can be given back.
#[derive(Debug, Clone, PartialEq)]
pub struct Charge {
    /// The key that was charged.
    pub key: StateKey,
    /// Units, in the limit's scale.
    pub units: u64,
    /// What gives them back.
    pub receipt: ScaledReceipt,
}

impl From<&Charge> for ReturnBody {
    fn from(charge: &Charge) -> Self {
        Self {
            limit: charge.key.limit.clone(),
            key: charge.key.key.clone(),
            units: charge.units,
            receipt: charge.receipt.clone(),
        }
    }
}

/// Holds by their question. What is held lapses by itself; a row of each is durable.
#[derive(Debug, Clone)]
pub struct Holds {
    rows: BTreeMap<OpId, StoredHold>,
    /// When each lapses.
    due: BTreeSet<(EpochMs, OpId)>,
    room: Room,
}

impl Default for Holds {
    fn default() -> Self {
        Self {
            rows: BTreeMap::new(),
            due: BTreeSet::new(),
            room: Room::counted(Bounds::HOLDS, Size::default(), []),
        }
    }
}

impl Holds {
    /// The holds that were stored.
    #[must_use]
    pub fn wake(rows: impl IntoIterator<Item = (OpId, StoredHold)>) -> Self {
        let mut holds = Self::default();
        for (op, row) in rows {
            holds.put(op, row);
        }
        holds
    }

    /// Whether there is room for another on an account: while less than half of it is taken, or while that account has not
    /// used up its part. So one that has many leaves the others theirs.
    #[must_use]
    pub fn has_room(&self, account: &Account) -> bool {
        self.rows.len() < HOLDS_MAX / 2 || self.room.admits(false, account)
    }

    /// Adds or changes a hold.
    pub fn put(&mut self, op: OpId, row: StoredHold) {
        // What is changed is counted anew.
        self.take(op);
        self.due.insert((row.lapses_at, op));
        self.room.took(&row.account, 0);
        self.rows.insert(op, row);
    }

    /// The hold of a question.
    #[must_use]
    pub fn get(&self, op: OpId) -> Option<&StoredHold> {
        self.rows.get(&op)
    }

    /// Takes the hold of a question off.
    pub fn take(&mut self, op: OpId) -> Option<StoredHold> {
        let row = self.rows.remove(&op)?;
        self.due.remove(&(row.lapses_at, op));
        self.room.left(&row.account, 0);
        Some(row)
    }

    /// When the first lapses.
    #[must_use]
    pub fn lapses_at(&self) -> Option<EpochMs> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Takes every hold off whose time is over. Each event asks: it looks at these alone.
    pub fn lapsed(&mut self, now: EpochMs) -> Vec<(OpId, StoredHold)> {
        let mut lapsed = Vec::new();
        while let Some((lapses_at, op)) = self.due.first().copied()
            && now >= lapses_at
        {
            self.due.remove(&(lapses_at, op));
            lapsed.extend(self.take(op).map(|row| (op, row)));
        }
        lapsed
    }
}

/// Questions that were answered a moment ago, and those that were undone before they arrived. In memory alone: an
/// object that dies forgets them, and what a lost answer had charged stays charged.
#[derive(Debug, Clone, Default)]
pub struct Recent {
    charges: BTreeMap<OpId, Vec<Charge>>,
    undone: BTreeMap<OpId, ()>,
    order: VecDeque<(EpochMs, OpId)>,
}

impl Recent {
    /// Remembers what a question charged.
    pub fn charged(&mut self, op: OpId, charges: Vec<Charge>, now: EpochMs) {
        if !charges.is_empty() {
            self.charges.insert(op, charges);
            self.remember(op, now);
        }
    }

    /// What a question charged, once.
    pub fn undo(&mut self, op: OpId, now: EpochMs) -> Vec<Charge> {
        let charges = self.charges.remove(&op).unwrap_or_default();
        if self.undone.insert(op, ()).is_none() {
            self.remember(op, now);
        }
        charges
    }

    /// Whether a question was charged.
    #[must_use]
    pub fn has_charged(&self, op: OpId) -> bool {
        self.charges.contains_key(&op)
    }

    /// Whether a question was undone, maybe before it arrived.
    #[must_use]
    pub fn was_undone(&self, op: OpId) -> bool {
        self.undone.contains_key(&op)
    }

    fn remember(&mut self, op: OpId, now: EpochMs) {
        self.order.push_back((now, op));
        while let Some((at, oldest)) = self.order.front().copied() {
            let late = now.since(at) > 2 * CALL_MS_MAX || at > now;
            if !late && self.order.len() <= RECENT_QUESTIONS_MAX {
                return;
            }
            self.order.pop_front();
            // Undone after it was charged, it stands twice in the order: the later one keeps it.
            if !self.order.iter().take(1).any(|(_, next)| *next == oldest) {
                self.charges.remove(&oldest);
                self.undone.remove(&oldest);
            }
        }
    }
}
