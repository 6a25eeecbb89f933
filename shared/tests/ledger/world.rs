//! A ledger over rows in memory, which can die between any two events.

use std::collections::VecDeque;

use weir_shared::accounting::books::{Books, Fold};
use weir_shared::accounting::counters::{Charged, Decided};
use weir_shared::accounting::frame::{FrameOutcome, Outbox};
use weir_shared::decision::Reason;
use weir_shared::limits::MINUTE_MS;
use weir_shared::node::ledger::{Effect, Event, LedgerNode, Rows};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::{EpochMs, HolderId, Incarnation, WindowLabel};
use weir_shared::wire::accounting::{Counters, FrameBody, FrameReply};
use weir_shared::wire::cells::{StoredCell, StoredEntry, StoredMarks};
use weir_shared::wire::windows::{StoredWindow, WindowRecord};

/// What a ledger has written.
#[derive(Debug, Default, Clone)]
pub struct Disk {
    pub totals: OrderedMap<u32, String>,
    pub marks: Option<String>,
    pub journal: OrderedMap<u64, String>,
    pub intervals: OrderedMap<(u64, u32, u64), String>,
    pub windows: OrderedMap<(String, WindowLabel), String>,
    pub records: OrderedMap<(String, WindowLabel), WindowRecord>,
    pub reservations: OrderedMap<u64, String>,
    /// Rows that were put or dropped.
    pub writes: u64,
}

impl Disk {
    pub fn append(&mut self, sequence: u64, entry: &StoredEntry) {
        self.writes += 1;
        let text = serde_json::to_string(entry).unwrap();
        self.journal.insert(sequence, text);
    }

    pub fn write(&mut self, fold: &Fold) {
        let text = |value: &StoredCell| serde_json::to_string(value).unwrap();
        for (row, cell) in &fold.totals {
            self.totals.insert(*row, text(cell));
        }
        for (at, row, body) in &fold.minutes {
            let key = (MINUTE_MS, *row, at.0);
            self.intervals.insert(key, body.clone());
        }
        for window in &fold.windows {
            let key = (window.budget.clone(), window.label);
            let body = serde_json::to_string(window).unwrap();
            self.windows.insert(key, body);
        }
        for finished in &fold.finished {
            self.windows.remove(&finished.name);
            if let Some(record) = finished.record.clone() {
                self.records.insert(finished.name.clone(), record);
            }
        }
        for (until, body) in &fold.reserved.changed {
            self.reservations.insert(until.0, body.clone());
        }
        for until in &fold.reserved.over {
            self.reservations.remove(&until.0);
        }
        if let Some(marks) = &fold.marks {
            self.marks = Some(serde_json::to_string(marks).unwrap());
        }
        let kept = self.journal.split_off(&(fold.dropped + 1));
        let dropped = std::mem::replace(&mut self.journal, kept);
        let puts = fold.totals.len() + fold.minutes.len() + fold.windows.len() + 1;
        self.writes += (puts + 2 * fold.finished.len() + dropped.len()) as u64;
    }

    pub fn load(&self) -> Books {
        let mut books = Books::default();
        if let Some(marks) = &self.marks {
            let marks: StoredMarks = serde_json::from_str(marks).unwrap();
            books.restore_marks(&marks);
        }
        for (row, text) in &self.totals {
            let cell: StoredCell = serde_json::from_str(text).unwrap();
            books.restore_totals(*row, cell.through, cell.counters());
        }
        for text in self.windows.values() {
            let window: StoredWindow = serde_json::from_str(text).unwrap();
            books.restore_window(window);
        }
        for (until, text) in &self.reservations {
            let cell: StoredCell = serde_json::from_str(text).unwrap();
            books.restore_reserved(EpochMs(*until), cell.through, cell.counters());
        }
        for (sequence, text) in &self.journal {
            let entry: StoredEntry = serde_json::from_str(text).unwrap();
            books.replay(*sequence, &entry);
        }
        books
    }
}

/// A ledger at work: carries out what its node says.
pub struct World {
    pub disk: Disk,
    pub node: LedgerNode<()>,
    pub now: EpochMs,
    /// What those who look on were told.
    pub published: Vec<Counters>,
    /// Writes fail from that one on.
    pub fails_at: Option<u64>,
    /// The rules that are broken on purpose.
    pub broken: Option<Broken>,
}

/// Wrong orders of whoever carries out what a node says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// The answer leaves before its row is written, and the ledger dies in between.
    ReplyBeforeWrite,
    /// A write that failed is told as done.
    FailedWriteIgnored,
    /// The books go on though they are ahead of the rows.
    NotDropped,
    /// What is over is dropped from the journal and not written.
    FoldNotWritten,
}

impl World {
    pub fn at(now: u64) -> Self {
        Self {
            disk: Disk::default(),
            node: LedgerNode::new(Books::default()),
            now: EpochMs(now),
            published: Vec::new(),
            fails_at: None,
            broken: None,
        }
    }

    pub fn books(&self) -> &Books {
        self.node.books()
    }

    /// The answer to a frame; `None` where there is none, as the row could not be written.
    pub fn take(&mut self, frame: FrameBody) -> Option<FrameReply> {
        let frame = Box::new(frame);
        self.step(Event::Frame { caller: (), frame })
    }

    pub fn fold(&mut self) {
        self.step(Event::Woke);
    }

    pub fn step(&mut self, event: Event<()>) -> Option<FrameReply> {
        let mut effects = VecDeque::from(self.node.step(event, self.now));
        let mut answer = None;
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Persist(rows) => {
                    if self.broken == Some(Broken::ReplyBeforeWrite)
                        && matches!(rows, Rows::Entry(..))
                    {
                        // What it would answer is known, and it dies before the row is there.
                        answer = self
                            .node
                            .step(Event::Persisted, self.now)
                            .into_iter()
                            .find_map(reply);
                        self.die();
                        return answer;
                    }
                    let written = match self.write(&rows)
                        || self.broken == Some(Broken::FailedWriteIgnored)
                    {
                        true => Event::Persisted,
                        false => Event::NotPersisted,
                    };
                    effects.extend(self.node.step(written, self.now));
                }
                Effect::Reply((), reply) => answer = Some(reply),
                Effect::Fail(()) => {}
                Effect::Publish(_, counters) => self.published.push(counters),
                Effect::Drop(_) if self.broken == Some(Broken::NotDropped) => {}
                Effect::Drop(_) => self.die(),
            }
        }
        answer
    }

    fn write(&mut self, rows: &Rows) -> bool {
        if self.fails_at.is_some_and(|first| self.disk.writes >= first) {
            self.fails_at = None;
            return false;
        }
        match rows {
            Rows::Entry(sequence, entry) => self.disk.append(*sequence, entry),
            Rows::Fold(fold) if self.broken == Some(Broken::FoldNotWritten) => {
                self.disk.journal = self.disk.journal.split_off(&(fold.dropped + 1));
            }
            Rows::Fold(fold) => self.disk.write(fold),
        }
        true
    }

    /// The object dies and wakes.
    pub fn die(&mut self) {
        self.node = LedgerNode::new(self.disk.load());
    }
}

fn reply(effect: Effect<()>) -> Option<FrameReply> {
    match effect {
        Effect::Reply((), reply) => Some(reply),
        _ => None,
    }
}

pub fn outbox(id: u64) -> Outbox {
    Outbox::new(HolderId(id), Incarnation(1))
}

pub fn decided<'a>(tenant: &'a str, charged: Charged<'a>, admitted: bool) -> Decided<'a> {
    Decided {
        tenant,
        known: false,
        charged,
        reason: if admitted {
            Reason::Admitted
        } else {
            Reason::LimitExceeded
        },
        units: 1,
    }
}

/// Sends all that an outbox has, and answers how many frames that were.
pub fn flush(world: &mut World, outbox: &mut Outbox) -> usize {
    let mut frames = 0;
    while let Some(frame) = outbox.begin(world.now) {
        frames += 1;
        let reply = world.take(frame).expect("an answer");
        assert_eq!(outbox.finish(&reply), Some(FrameOutcome::Counted));
    }
    frames
}
