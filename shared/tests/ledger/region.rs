//! A region that keeps what its settlements come to in rows, and can die between any two effects.

use std::collections::VecDeque;

use weir_shared::accounting::settled::{Ledger, LedgerCursor};
use weir_shared::node::settled::{Cursors, Effect, Event, SettledNode};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;
use weir_shared::wire::accounting::SettledEntry;

use super::world::World;

/// Entries that are read at once: few, so that there are many frames.
const ENTRIES: usize = 3;

/// What befalls a region during one flush. Effects are numbered from 0 on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fate {
    /// No answer of a ledger arrives.
    pub lost: bool,
    /// That effect, if it is a write, does not succeed.
    pub fails_at: Option<u8>,
    /// It dies in place of that effect.
    pub dies_at: Option<u8>,
}

/// Wrong orders of whoever carries out what the node says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// A frame leaves before where it ends is written.
    SendBeforeWrite,
    /// A write that failed is told as done.
    FailedWriteIgnored,
    /// Entries go that one of the ledgers has counted.
    DropBeforeBothCounted,
    /// An entry has the number after the last row, whatever was told before.
    NumberUsedAgain,
    /// Numbers do not rise with the clock.
    NumberBelowClock,
}

/// A region at work: carries out what its node says.
pub struct Region {
    pub rows: OrderedMap<u64, String>,
    pub stored: Cursors,
    pub node: SettledNode,
    /// The rules that are broken on purpose.
    pub broken: Option<Broken>,
}

impl Region {
    pub fn new(broken: Option<Broken>) -> Self {
        Self {
            rows: OrderedMap::new(),
            stored: Cursors::default(),
            node: SettledNode::new("weur", 0, Cursors::default()),
            broken,
        }
    }

    /// Writes what one settlement comes to.
    pub fn settle(&mut self, entry: &SettledEntry, now: EpochMs) {
        let number = match self.broken {
            Some(Broken::NumberUsedAgain) => self.last_row() + 1,
            Some(Broken::NumberBelowClock) => self.node.next_number(EpochMs(0)),
            _ => self.node.next_number(now),
        };
        let text = serde_json::to_string(entry).unwrap();
        self.rows.insert(number, text);
        self.node.wrote(number);
    }

    /// Tells its own ledger and the one at home.
    pub fn flush(&mut self, own: &mut World, home: &mut World, fate: Fate) {
        let now = own.now;
        let mut effects = VecDeque::from(self.node.step(Event::Flush { knows_home: true }, now));
        let mut unwritten = None;
        for at in 0.. {
            let Some(effect) = effects.pop_front() else {
                break;
            };
            if fate.dies_at == Some(at) {
                return self.die();
            }
            if !matches!(effect, Effect::Send(..)) {
                self.store(unwritten.take());
            }
            let event = match effect {
                Effect::ReadEntries { after, through } => Event::Read(self.read(after, through)),
                Effect::Persist(ledger, cursor) => {
                    let row = Some((ledger, cursor));
                    let fails = fate.fails_at == Some(at);
                    match self.broken {
                        Some(Broken::SendBeforeWrite) => unwritten = row,
                        _ if fails => {}
                        _ => self.store(row),
                    }
                    match fails && self.broken != Some(Broken::FailedWriteIgnored) {
                        true => Event::NotPersisted,
                        false => Event::Persisted,
                    }
                }
                Effect::Send(ledger, frame) => {
                    let sequence = frame.sequence;
                    let reply = match ledger {
                        Ledger::Own => own.take(*frame),
                        Ledger::Home => home.take(*frame),
                    };
                    Event::Answered {
                        ledger,
                        sequence,
                        answer: reply.filter(|_| !fate.lost),
                    }
                }
                Effect::DropThrough(last) => {
                    let last = match self.broken {
                        Some(Broken::DropBeforeBothCounted) => {
                            self.stored.own.counted.max(self.stored.home.counted)
                        }
                        _ => last,
                    };
                    self.rows = self.rows.split_off(&(last + 1));
                    continue;
                }
            };
            effects.extend(self.node.step(event, now));
        }
        self.store(unwritten);
    }

    /// Tells all that there is, with nothing that befalls it.
    pub fn flush_all(&mut self, own: &mut World, home: &mut World) {
        for _ in 0..1_000 {
            self.flush(own, home, Fate::default());
            if self.node.is_told() {
                return;
            }
        }
        panic!("it does not end: {:?}", self.node);
    }

    /// The object dies and wakes.
    pub fn die(&mut self) {
        self.node = SettledNode::new("weur", self.last_row(), self.stored);
    }

    fn last_row(&self) -> u64 {
        self.rows.last_key_value().map_or(0, |(number, _)| *number)
    }

    fn read(&self, after: u64, through: u64) -> Vec<(u64, Option<SettledEntry>)> {
        let rows = self.rows.range(after + 1..=through).take(ENTRIES);
        rows.map(|(number, text)| (*number, serde_json::from_str(text).ok()))
            .collect()
    }

    fn store(&mut self, row: Option<(Ledger, LedgerCursor)>) {
        if let Some((ledger, cursor)) = row {
            *self.stored.of_mut(ledger) = cursor;
        }
    }
}
