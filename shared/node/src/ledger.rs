//! A ledger at work: counts frames, each once, and stores what is over.
//!
//! A frame is answered when its entry of the journal is durable, and those who look on are told then. A write that fails
//! leaves the books ahead of the rows: whoever runs the node drops it, and makes one of the rows when the next event comes.

use std::collections::VecDeque;

use weir_accounting::books::{Books, Fold};
use weir_core::limits::{LEDGER_FOLD_AFTER_MS, MINUTE_MS};
use weir_core::units::EpochMs;
use weir_wire::accounting::{Counters, FrameBody, FrameReply};
use weir_wire::cells::StoredEntry;
use weir_wire::windows::ClosedWindow;

/// What happens to it.
#[derive(Debug, Clone)]
pub enum Event<C> {
    /// A sender's frame.
    Frame {
        /// Who is answered.
        caller: C,
        /// What was counted.
        frame: Box<FrameBody>,
    },
    /// The root of a budget tells what it lent in windows that are over.
    Closed {
        /// The budget.
        budget: String,
        /// Its windows.
        windows: Vec<ClosedWindow>,
    },
    /// The time has come that [`next_fold_at`] named, or a later one.
    Woke,
    /// The rows are durable.
    Persisted,
    /// They are not.
    NotPersisted,
}

/// Rows to be written, all or none.
#[derive(Debug, Clone, PartialEq)]
pub enum Rows {
    /// One entry of the journal, under its number.
    Entry(u64, Box<StoredEntry>),
    /// What is over, and the entries that are in it and dropped.
    Fold(Box<Fold>),
}

/// Something to be done, in the order of the list. `C` names who asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect<C> {
    /// Make the rows durable, and say `Persisted` or `NotPersisted`. There is one at a time.
    Persist(Rows),
    /// Answer the caller.
    Reply(C, FrameReply),
    /// What the caller's answer rests on could not be made durable.
    Fail(C),
    /// Tell those who look on what was counted: the caller whose frame it was, if somebody's.
    Publish(Option<C>, Counters),
    /// The books are ahead of the rows, for that reason: drop this node, and make another of the rows for the next event.
    Drop(String),
}

/// What is being written.
#[derive(Debug, Clone)]
enum Writing<C> {
    /// A frame's entry, with what it lets out.
    Frame {
        caller: C,
        reply: FrameReply,
        counters: Counters,
    },
    /// Reservations that nobody settled in time.
    Expired(Counters),
    Fold,
}

/// A ledger's books, and what waits for their rows.
#[derive(Debug, Clone)]
pub struct LedgerNode<C> {
    books: Books,
    writing: Option<Writing<C>>,
    /// What came while rows were written.
    behind: VecDeque<Event<C>>,
    /// Whether what is over is being stored, entry by entry.
    folding: bool,
}

impl<C: Clone> LedgerNode<C> {
    /// Starts with books as they were written.
    #[must_use]
    pub fn new(books: Books) -> Self {
        Self {
            books,
            writing: None,
            behind: VecDeque::new(),
            folding: false,
        }
    }

    /// The books, to read.
    #[must_use]
    pub fn books(&self) -> &Books {
        &self.books
    }

    /// Takes one event.
    #[must_use]
    pub fn step(&mut self, event: Event<C>, now: EpochMs) -> Vec<Effect<C>> {
        let mut effects = Vec::new();
        match event {
            Event::Persisted => self.written(&mut effects, now),
            Event::NotPersisted => self.failed(&mut effects, "rows were not written".to_owned()),
            other => self.behind.push_back(other),
        }
        while self.writing.is_none() {
            if self.folding {
                self.fold(&mut effects, now);
            } else if let Some(event) = self.behind.pop_front() {
                self.take(event, &mut effects, now);
            } else {
                break;
            }
        }
        effects
    }

    fn take(&mut self, event: Event<C>, effects: &mut Vec<Effect<C>>, now: EpochMs) {
        match event {
            Event::Frame { caller, frame } => {
                let taken = self.books.take(&frame, now);
                let reply = taken.reply;
                match taken.entry {
                    Some((sequence, entry)) => {
                        let counters = entry.frame.counters.clone();
                        self.writing = Some(Writing::Frame {
                            caller,
                            reply,
                            counters,
                        });
                        effects.push(Effect::Persist(Rows::Entry(sequence, Box::new(entry))));
                    }
                    // It was counted before, and its row is there.
                    None => effects.push(Effect::Reply(caller, reply)),
                }
            }
            Event::Closed { budget, windows } => self.books.windows_mut().close(&budget, &windows),
            Event::Woke => self.folding = !self.books.at_rest(),
            // Said of a write, of which there is none.
            Event::Persisted | Event::NotPersisted => {}
        }
    }

    /// The next rows of what is over: what nobody settled in time is an entry of its own, then all is folded.
    fn fold(&mut self, effects: &mut Vec<Effect<C>>, now: EpochMs) {
        if let Some((sequence, entry)) = self.books.expire(now) {
            self.writing = Some(Writing::Expired(entry.frame.counters.clone()));
            effects.push(Effect::Persist(Rows::Entry(sequence, Box::new(entry))));
            return;
        }
        self.folding = false;
        match self.books.fold(now) {
            Ok(fold) => {
                self.writing = Some(Writing::Fold);
                effects.push(Effect::Persist(Rows::Fold(Box::new(fold))));
            }
            Err(error) => self.failed(effects, error.to_string()),
        }
    }

    fn written(&mut self, effects: &mut Vec<Effect<C>>, now: EpochMs) {
        match self.writing.take() {
            Some(Writing::Frame {
                caller,
                reply,
                counters,
            }) => {
                effects.push(Effect::Publish(Some(caller.clone()), counters));
                effects.push(Effect::Reply(caller, reply));
                // An alarm that is late does not let the journal grow.
                self.folding |= self.books.fold_overdue(now);
            }
            Some(Writing::Expired(counters)) => effects.push(Effect::Publish(None, counters)),
            Some(Writing::Fold) | None => {}
        }
    }

    /// Nobody is told anything that rests on the books as they are.
    fn failed(&mut self, effects: &mut Vec<Effect<C>>, why: String) {
        if let Some(Writing::Frame { caller, .. }) = self.writing.take() {
            effects.push(Effect::Fail(caller));
        }
        self.folding = false;
        for event in self.behind.drain(..) {
            if let Event::Frame { caller, .. } = event {
                effects.push(Effect::Fail(caller));
            }
        }
        effects.push(Effect::Drop(why));
    }
}

/// When what is over is stored next: a moment after the end of the present minute, by when frames that were under way are
/// in it.
///
/// ```
/// use weir_node::ledger::next_fold_at;
/// use weir_core::units::EpochMs;
///
/// // Ten seconds into the second minute: a second after the third has begun.
/// assert_eq!(next_fold_at(EpochMs(70_000)), EpochMs(121_000));
/// ```
#[must_use]
pub fn next_fold_at(now: EpochMs) -> EpochMs {
    EpochMs((now.0 / MINUTE_MS + 1) * MINUTE_MS + LEDGER_FOLD_AFTER_MS)
}
