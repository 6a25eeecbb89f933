//! Settlements on their way to the ledgers: entries in the order of their numbers, each counted once by the region's own
//! ledger and by the one at home, and dropped when both have.
//!
//! Where a frame ends is durable before it leaves, so that a region that dies sends the same again. That a ledger has
//! counted it is durable before its entries are dropped.

use std::mem;

use weir_accounting::settled::{Ledger, LedgerCursor, NextFrame};
use weir_core::limits::{CALL_MS_MAX, SETTLED_FRAMES_MAX};
use weir_core::units::{EpochMs, HolderId, Sequence};
use weir_wire::accounting::{FrameBody, FrameReply, SettledEntry};

/// What happens to it.
#[derive(Debug, Clone)]
pub enum Event {
    /// Tell the ledgers what they have not counted.
    Flush {
        /// Whether it is known where the ledger at home is.
        knows_home: bool,
    },
    /// The entries that were asked for, each with its number, from the lowest on. One that cannot be read is `None`.
    Read(Vec<(u64, Option<SettledEntry>)>),
    /// They could not be looked for.
    NotRead,
    /// The cursor is durable.
    Persisted,
    /// It is not.
    NotPersisted,
    /// What came of a frame: the ledger's answer, or none in time.
    Answered {
        /// The ledger that was sent it.
        ledger: Ledger,
        /// The frame's number.
        sequence: Sequence,
        /// The answer.
        answer: Option<FrameReply>,
    },
}

/// Something to be done, in the order of the list.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Read the first [`SETTLED_ENTRIES_MAX`](weir_core::limits::SETTLED_ENTRIES_MAX) entries whose numbers are above the one
    /// and up to the other, and say `Read` or `NotRead`.
    ReadEntries {
        /// The last number before them.
        after: u64,
        /// The last number that may be among them.
        through: u64,
    },
    /// Make the ledger's cursor durable, and say `Persisted` or `NotPersisted`.
    Persist(Ledger, LedgerCursor),
    /// Send the frame to the ledger, and say `Answered` with what comes of it, within a call's time.
    Send(Ledger, Box<FrameBody>),
    /// Drop the entries up to that number.
    DropThrough(u64),
}

/// How far each ledger has counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cursors {
    /// The region's own.
    pub own: LedgerCursor,
    /// The one at home.
    pub home: LedgerCursor,
}

impl Cursors {
    /// The cursor of a ledger.
    #[must_use]
    pub fn of(&self, ledger: Ledger) -> LedgerCursor {
        match ledger {
            Ledger::Own => self.own,
            Ledger::Home => self.home,
        }
    }

    /// The same, to change.
    pub fn of_mut(&mut self, ledger: Ledger) -> &mut LedgerCursor {
        match ledger {
            Ledger::Own => &mut self.own,
            Ledger::Home => &mut self.home,
        }
    }
}

/// Whom a flush tells at present.
#[derive(Debug, Clone, Copy)]
struct Turn {
    ledger: Ledger,
    frames_left: u32,
    knows_home: bool,
}

/// What is awaited.
#[derive(Debug, Clone, Default)]
enum Phase {
    #[default]
    Idle,
    Reading(Turn, u64),
    /// Where the frame ends is being written.
    Beginning(Turn, LedgerCursor, Box<FrameBody>),
    Sent(Turn, Sequence, EpochMs),
    /// That the frame was counted is being written.
    Counting(Turn, LedgerCursor),
}

/// The entries of a region, and how far they are told.
#[derive(Debug, Clone)]
pub struct SettledNode {
    own_sender: HolderId,
    home_sender: HolderId,
    /// The number of the last entry.
    last: u64,
    cursors: Cursors,
    /// The last entry that was dropped in this life.
    dropped: u64,
    phase: Phase,
}

type Effects = Vec<Effect>;

impl SettledNode {
    /// Starts with what is stored: the number of the last entry that is there, 0 without one, and the cursors.
    #[must_use]
    pub fn new(region: &str, last: u64, cursors: Cursors) -> Self {
        let told = [cursors.own, cursors.home];
        let told = told.map(|cursor| cursor.counted.max(cursor.under_way));
        Self {
            own_sender: HolderId::of_name(&format!("{region}/settled")),
            home_sender: HolderId::of_name(&format!("{region}/settled windows")),
            last: told.into_iter().fold(last, u64::max),
            cursors,
            dropped: 0,
            phase: Phase::Idle,
        }
    }

    /// The number of the next entry. Above the clock's milliseconds, so that none comes again where rows were lost.
    #[must_use]
    pub fn next_number(&self, now: EpochMs) -> u64 {
        (self.last + 1).max(now.0)
    }

    /// The entry of that number is durable.
    pub fn wrote(&mut self, number: u64) {
        self.last = self.last.max(number);
    }

    /// Whether all is told.
    #[must_use]
    pub fn is_told(&self) -> bool {
        let least = self.cursors.own.counted.min(self.cursors.home.counted);
        least >= self.last
    }

    /// Takes one event. A flush is over when nothing is left to do.
    #[must_use]
    pub fn step(&mut self, event: Event, now: EpochMs) -> Effects {
        let mut effects = Vec::new();
        match (event, mem::take(&mut self.phase)) {
            // One flush is under way, unless whoever ran it is gone.
            (Event::Flush { .. }, phase @ Phase::Sent(_, _, at)) if now.since(at) < CALL_MS_MAX => {
                self.phase = phase;
            }
            (Event::Flush { knows_home }, _) => {
                // The life before may have ended before it dropped them.
                self.drop_counted(&mut effects);
                let turn = Turn {
                    ledger: Ledger::Own,
                    frames_left: SETTLED_FRAMES_MAX,
                    knows_home,
                };
                self.tell(turn, &mut effects);
            }
            (Event::Read(rows), Phase::Reading(turn, through)) => {
                self.read(turn, rows, through, now, &mut effects);
            }
            (Event::Persisted, Phase::Beginning(turn, begun, frame)) => {
                *self.cursors.of_mut(turn.ledger) = begun;
                self.send(turn, frame, now, &mut effects);
            }
            (Event::Persisted, Phase::Counting(turn, counted)) => {
                *self.cursors.of_mut(turn.ledger) = counted;
                self.drop_counted(&mut effects);
                self.tell(turn, &mut effects);
            }
            // The next flush begins with the cursor as it was.
            (Event::NotRead, Phase::Reading(..))
            | (Event::NotPersisted, Phase::Beginning(..) | Phase::Counting(..)) => {}
            (
                Event::Answered {
                    ledger,
                    sequence,
                    answer,
                },
                Phase::Sent(turn, sent, _),
            ) if (ledger, sequence) == (turn.ledger, sent) => {
                self.answered(turn, answer.as_ref(), &mut effects);
            }
            // What is said of something that is not under way any more.
            (_, phase) => self.phase = phase,
        }
        effects
    }

    /// Asks for the entries of the next frame: to this ledger, or to the next one that has not counted all.
    fn tell(&mut self, turn: Turn, effects: &mut Effects) {
        let known = turn.ledger == Ledger::Own || turn.knows_home;
        let cursor = self.cursors.of(turn.ledger);
        if !known || turn.frames_left == 0 || cursor.counted >= self.last {
            return self.tell_next(turn, effects);
        }
        let (after, through) = cursor.range();
        let through = through.min(self.last);
        let turn = Turn {
            frames_left: turn.frames_left - 1,
            ..turn
        };
        self.phase = Phase::Reading(turn, through);
        effects.push(Effect::ReadEntries { after, through });
    }

    fn tell_next(&mut self, turn: Turn, effects: &mut Effects) {
        if turn.ledger == Ledger::Own {
            let turn = Turn {
                ledger: Ledger::Home,
                frames_left: SETTLED_FRAMES_MAX,
                ..turn
            };
            self.tell(turn, effects);
        }
    }

    fn read(
        &mut self,
        turn: Turn,
        rows: Vec<(u64, Option<SettledEntry>)>,
        through: u64,
        now: EpochMs,
        effects: &mut Effects,
    ) {
        let sender = match turn.ledger {
            Ledger::Own => self.own_sender,
            Ledger::Home => self.home_sender,
        };
        let end = rows.last().map_or(through, |(number, _)| *number);
        let readable = rows
            .into_iter()
            .filter_map(|(at, entry)| Some((at, entry?)));
        let entries: Vec<_> = readable.collect();
        let cursor = self.cursors.of_mut(turn.ledger);
        let mut begun = *cursor;
        match begun.begin(sender, turn.ledger, &entries) {
            NextFrame::Nothing => {
                // Entries that are lost or cannot be read are passed over.
                cursor.counted = end;
                self.tell(turn, effects);
            }
            NextFrame::Passed => {
                *cursor = begun;
                self.drop_counted(effects);
                self.tell(turn, effects);
            }
            NextFrame::Frame(frame) if begun == *cursor => self.send(turn, frame, now, effects),
            NextFrame::Frame(frame) => {
                self.phase = Phase::Beginning(turn, begun, frame);
                effects.push(Effect::Persist(turn.ledger, begun));
            }
        }
    }

    fn send(&mut self, turn: Turn, frame: Box<FrameBody>, now: EpochMs, effects: &mut Effects) {
        self.phase = Phase::Sent(turn, frame.sequence, now);
        effects.push(Effect::Send(turn.ledger, frame));
    }

    /// A ledger that does not answer, or cannot read the frame, is told the same by the next flush.
    fn answered(&mut self, turn: Turn, answer: Option<&FrameReply>, effects: &mut Effects) {
        let mut counted = self.cursors.of(turn.ledger);
        if answer.is_some_and(|reply| counted.finish(reply)) {
            self.phase = Phase::Counting(turn, counted);
            effects.push(Effect::Persist(turn.ledger, counted));
        } else {
            self.tell_next(turn, effects);
        }
    }

    /// What both ledgers have counted is needed no more.
    fn drop_counted(&mut self, effects: &mut Effects) {
        let counted = self.cursors.own.counted.min(self.cursors.home.counted);
        if counted > self.dropped {
            self.dropped = counted;
            effects.push(Effect::DropThrough(counted));
        }
    }
}

#[cfg(test)]
mod tests;
