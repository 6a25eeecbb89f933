//! The charges of questions that may still be undone: held until they are committed, and, for a short time, those
//! that were answered, in case the answer was lost.

use std::collections::VecDeque;

use weir_algorithms::composite::StateKey;
use weir_algorithms::scale::ScaledReceipt;
use weir_core::limits::{CALL_MS_MAX, HOLDS_MAX, RECENT_QUESTIONS_MAX};
use weir_core::ordered::{OrderedMap, OrderedSet};
use weir_core::units::{EpochMs, OpId};

use super::owner::Account;
use super::room::{Bounds, Room, Size};
use crate::messages::ReturnBody;
use crate::stored::StoredHold;

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
    rows: OrderedMap<OpId, StoredHold>,
    /// When each lapses.
    due: OrderedSet<(EpochMs, OpId)>,
    room: Room,
}

impl Default for Holds {
    fn default() -> Self {
        Self {
            rows: OrderedMap::new(),
            due: OrderedSet::new(),
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
    questions: OrderedMap<OpId, Question>,
    /// When each was charged or undone: one that was both stands twice, and the later one counts.
    order: VecDeque<(EpochMs, OpId)>,
}

/// One of them.
#[derive(Debug, Clone, Default)]
struct Question {
    at: EpochMs,
    charges: Vec<Charge>,
    undone: bool,
}

impl Recent {
    /// Remembers what a question charged.
    pub fn charged(&mut self, op: OpId, charges: Vec<Charge>, now: EpochMs) {
        if !charges.is_empty() {
            self.remember(op, now).charges = charges;
            self.forget(now);
        }
    }

    /// What a question charged, once.
    pub fn undo(&mut self, op: OpId, now: EpochMs) -> Vec<Charge> {
        if self.was_undone(op) {
            return Vec::new();
        }
        let question = self.remember(op, now);
        question.undone = true;
        let charges = std::mem::take(&mut question.charges);
        self.forget(now);
        charges
    }

    /// Whether a question was charged.
    #[must_use]
    pub fn has_charged(&self, op: OpId) -> bool {
        let question = self.questions.get(&op);
        question.is_some_and(|question| !question.charges.is_empty())
    }

    /// Whether a question was undone, maybe before it arrived.
    #[must_use]
    pub fn was_undone(&self, op: OpId) -> bool {
        self.questions
            .get(&op)
            .is_some_and(|question| question.undone)
    }

    fn remember(&mut self, op: OpId, now: EpochMs) -> &mut Question {
        self.order.push_back((now, op));
        let question = self.questions.entry(op).or_default();
        question.at = now;
        question
    }

    fn forget(&mut self, now: EpochMs) {
        while let Some((at, oldest)) = self.order.front().copied() {
            let late = now.since(at) > 2 * CALL_MS_MAX || at > now;
            if !late && self.order.len() <= RECENT_QUESTIONS_MAX {
                return;
            }
            self.order.pop_front();
            if self
                .questions
                .get(&oldest)
                .is_some_and(|question| question.at == at)
            {
                self.questions.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_algorithms::Receipt;

    use super::*;

    const MEMORY_MS: u64 = 2 * CALL_MS_MAX;

    fn charge() -> Vec<Charge> {
        let key = StateKey {
            limit: "hourly".to_owned(),
            key: "acme".to_owned(),
        };
        let receipt = ScaledReceipt::whole(Receipt::Nothing);
        vec![Charge {
            key,
            units: 3,
            receipt,
        }]
    }

    /// Something else happens, at which what is old is forgotten.
    fn passes(recent: &mut Recent, now: EpochMs) {
        recent.charged(OpId(now.0), charge(), now);
    }

    #[test]
    fn a_question_is_remembered_for_two_calls_and_no_longer() {
        let (charged, undone) = (OpId(1), OpId(2));
        let begin = EpochMs(1_000_000);
        for (now, remembered) in [
            (begin, true),
            (begin.plus(MEMORY_MS), true),
            (begin.plus(MEMORY_MS + 1), false),
            // By a clock that steps back nothing would become old.
            (EpochMs(begin.0 - 1), false),
        ] {
            let mut recent = Recent::default();
            recent.charged(charged, charge(), begin);
            assert_eq!(recent.undo(undone, begin), Vec::new(), "it has not arrived");
            passes(&mut recent, now);
            assert_eq!(recent.has_charged(charged), remembered, "{now:?}");
            assert_eq!(recent.was_undone(undone), remembered, "{now:?}");
        }
    }

    #[test]
    fn a_question_that_is_undone_after_it_was_charged_is_remembered_from_then_on() {
        let (op, begin, undone_at) = (OpId(1), EpochMs(1_000_000), EpochMs(1_001_000));
        let mut recent = Recent::default();
        recent.charged(op, charge(), begin);
        passes(&mut recent, begin.plus(1));
        assert_eq!(recent.undo(op, undone_at), charge());
        assert_eq!(recent.undo(op, undone_at.plus(1)), Vec::new(), "once");
        assert!(!recent.has_charged(op));
        passes(&mut recent, undone_at.plus(MEMORY_MS));
        assert!(recent.was_undone(op), "it may come again");
        passes(&mut recent, undone_at.plus(MEMORY_MS + 1));
        assert!(!recent.was_undone(op));
    }

    #[test]
    fn no_more_questions_are_remembered_than_there_is_room_for() {
        let mut recent = Recent::default();
        let op = |number: usize| OpId(number as u64);
        for number in 0..RECENT_QUESTIONS_MAX {
            recent.charged(op(number), charge(), EpochMs(1));
        }
        assert!(recent.has_charged(op(0)));
        recent.charged(op(RECENT_QUESTIONS_MAX), charge(), EpochMs(1));
        assert!(!recent.has_charged(op(0)), "the oldest makes room");
        assert!(recent.has_charged(op(1)) && recent.has_charged(op(RECENT_QUESTIONS_MAX)));
    }
}
