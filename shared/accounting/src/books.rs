//! A ledger's books: what it has counted, and which rows it writes for that.
//!
//! A frame that is counted becomes one entry of a journal: one row, however many tenants it names. Once a minute the
//! entries are folded into the rows of the totals, of the minute and of the windows, and dropped. Each row carries the
//! last entry that is in it, so that a ledger which dies in between counts no entry twice when it wakes.

use weir_core::limits::{JOURNAL_ENTRIES_MAX, LEDGER_ROWS, MINUTE_MS};
use weir_core::ordered::{OrderedMap, OrderedSet};
use weir_core::units::{EpochMs, Sequence};
use weir_wire::accounting::{Counters, FrameBody, FrameReply, OTHERS, Tally, TenantCounters};
use weir_wire::cells::{StoredCell, StoredEntry, StoredMarks};
use weir_wire::count::Count;
use weir_wire::exchange::VERSION;
use weir_wire::series::TotalsReply;
use weir_wire::telemetry::Telemetry;
use weir_wire::usage::Usage;
use weir_wire::windows::StoredWindow;

use super::frame::{Counted, Inbox};
use super::interval;
use super::ledger::{Totals, by_row};
use super::reservations::{Reserved, ReservedRows, resolved};
use super::windows::{Finished, Windows};

/// What a ledger has counted.
#[derive(Debug, Clone, Default)]
pub struct Books {
    totals: Totals,
    /// The last entry of the journal in each stored row of the totals.
    marks: OrderedMap<u32, u64>,
    /// Rows of the totals that are not stored as they are.
    changed: OrderedSet<u32>,
    /// Minutes that are not stored yet.
    minutes: OrderedMap<EpochMs, Minute>,
    windows: Windows,
    reserved: Reserved,
    counted: Counted,
    usage: Usage,
    telemetry: Telemetry,
    since: EpochMs,
    /// The last entry of the journal.
    sequence: u64,
    /// The last entry that is in all rows.
    folded: u64,
    /// The time of the last event: time does not run backwards in a journal.
    at: EpochMs,
}

/// What was counted in one minute.
#[derive(Debug, Clone, Default)]
struct Minute {
    counters: Counters,
    /// The last entry of the journal in it.
    through: u64,
}

/// What came of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The answer.
    pub reply: FrameReply,
    /// The entry to write before the answer leaves, under its number; `None` when the frame was not counted.
    pub entry: Option<(u64, StoredEntry)>,
}

/// Rows to write, all or none, and entries of the journal to drop with that.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fold {
    /// Entries up to this one are dropped: those of minutes that are over.
    pub dropped: u64,
    /// Of the totals, by number.
    pub totals: Vec<(u32, StoredCell)>,
    /// Of minutes: the minute, the row's number, its text.
    pub minutes: Vec<(EpochMs, u32, String)>,
    /// Windows that are not finished.
    pub windows: Vec<StoredWindow>,
    /// Windows that are.
    pub finished: Vec<Finished>,
    /// Reservations.
    pub reserved: ReservedRows,
    /// What is remembered besides.
    pub marks: Option<StoredMarks>,
}

impl Books {
    /// Takes what is remembered besides counters.
    pub fn restore_marks(&mut self, marks: &StoredMarks) {
        self.counted = marks.counted.iter().copied().collect();
        self.usage = marks.usage;
        self.telemetry = marks.telemetry.clone();
        self.since = marks.since;
        self.folded = marks.through;
        self.sequence = self.sequence.max(marks.through);
    }

    /// Takes a row of the totals.
    pub fn restore_totals(&mut self, row: u32, through: u64, counters: Counters) {
        self.totals.restore(row, counters);
        self.marks.insert(row, through);
        self.sequence = self.sequence.max(through);
    }

    /// Takes a window that was not finished.
    pub fn restore_window(&mut self, stored: StoredWindow) {
        self.sequence = self.sequence.max(stored.through);
        self.windows.restore(stored);
    }

    /// Takes the reservations of a minute.
    pub fn restore_reserved(&mut self, until: EpochMs, through: u64, counters: Counters) {
        self.reserved.restore(until, through, counters);
        self.sequence = self.sequence.max(through);
    }

    /// Takes an entry of the journal, in their order. Its minute is not stored, else it would have been dropped.
    pub fn replay(&mut self, sequence: u64, entry: &StoredEntry) {
        let frame = &entry.frame;
        // What the ledger enters by itself nobody has sent.
        if frame.sequence > Sequence(0) {
            let last = (frame.incarnation, frame.sequence);
            let known = self.counted.entry(frame.sender).or_insert(last);
            *known = (*known).max(last);
        }
        for (row, part) in by_row(&frame.counters, LEDGER_ROWS) {
            if sequence > self.marks.get(&row).copied().unwrap_or(0) {
                self.totals.add_to(row, &part);
                self.changed.insert(row);
            }
        }
        self.add_minute(entry.at, sequence, &frame.counters);
        self.windows.add(&frame.windows, sequence, entry.at);
        self.reserved.add(&frame.reservations, sequence);
        if sequence > self.folded {
            self.usage.add(&frame.usage);
            self.telemetry.add(&frame.telemetry);
        }
        self.sequence = self.sequence.max(sequence);
        self.at = self.at.max(entry.at);
    }

    /// Takes a frame.
    #[must_use]
    pub fn take(&mut self, frame: &FrameBody, now: EpochMs) -> Taken {
        let mut inbox = Inbox::durable(std::mem::take(&mut self.counted));
        let (add, reply) = inbox.take(frame);
        self.counted = inbox.into_counted();
        if !add {
            return Taken { reply, entry: None };
        }
        let now = self.clock(now);
        if self.since == EpochMs(0) {
            self.since = now;
        }
        Taken {
            reply,
            entry: Some(self.enter(&resolved(frame, now), now)),
        }
    }

    /// Counts reservations as used that nobody settled in time, as much as one entry has room for: the entry to write
    /// before anything else, under its number. `None` when there is nothing left to count.
    #[must_use]
    pub fn expire(&mut self, now: EpochMs) -> Option<(u64, StoredEntry)> {
        let now = self.clock(now);
        let mut frame = self.reserved.expired(now)?;
        frame.v = VERSION;
        Some(self.enter(&frame, now))
    }

    /// Makes a frame an entry of the journal.
    fn enter(&mut self, frame: &FrameBody, now: EpochMs) -> (u64, StoredEntry) {
        self.sequence += 1;
        self.changed.extend(self.totals.add(&frame.counters));
        self.add_minute(now, self.sequence, &frame.counters);
        self.windows.add(&frame.windows, self.sequence, now);
        self.reserved.add(&frame.reservations, self.sequence);
        self.usage.add(&frame.usage);
        self.telemetry.add(&frame.telemetry);
        (self.sequence, StoredEntry::new(now, frame))
    }

    fn clock(&mut self, now: EpochMs) -> EpochMs {
        self.at = self.at.max(now);
        self.at
    }

    fn add_minute(&mut self, at: EpochMs, sequence: u64, counters: &Counters) {
        let minute = self
            .minutes
            .entry(interval::start(at, MINUTE_MS))
            .or_default();
        minute.through = minute.through.max(sequence);
        for (tenant, added) in counters {
            let entry = minute.counters.entry(tenant.clone()).or_default();
            entry.add(added);
            entry.known |= added.known;
        }
    }

    /// Whether a minute is over that is not stored, or a window has to be finished.
    #[must_use]
    pub fn fold_due(&self, now: EpochMs) -> bool {
        let minute = interval::start(self.at.max(now), MINUTE_MS);
        self.minutes.keys().any(|begun| *begun < minute) || self.windows.due(now)
    }

    /// Whether a fold cannot wait for the alarm: that is late, or the journal is long.
    #[must_use]
    pub fn fold_overdue(&self, now: EpochMs) -> bool {
        let minute = interval::start(self.at.max(now), MINUTE_MS);
        let late = |begun: &EpochMs| minute.since(*begun) > 2 * MINUTE_MS;
        let long = self.sequence - self.folded.min(self.sequence) > JOURNAL_ENTRIES_MAX;
        long && self.fold_due(now) || self.minutes.keys().any(late)
    }

    /// Whether nothing is left that a fold would store.
    #[must_use]
    pub fn at_rest(&self) -> bool {
        self.minutes.is_empty() && self.windows.is_empty() && self.reserved.is_empty()
    }

    /// What has to be written so that the entries of minutes that are over can be dropped. How many rows that are does not
    /// depend on tenants or requests.
    ///
    /// # Errors
    /// When a number cannot be written. The books have to be read again then, as where the rows could not be written.
    pub fn fold(&mut self, now: EpochMs) -> Result<Fold, serde_json::Error> {
        let now = self.clock(now);
        let current = interval::start(now, MINUTE_MS);
        let open = self.minutes.split_off(&current);
        let over = std::mem::replace(&mut self.minutes, open);
        let mut fold = Fold::default();
        for (at, minute) in over {
            fold.dropped = fold.dropped.max(minute.through);
            let rows = interval::rows(&minute.counters, minute.through)?;
            let rows = rows.into_iter().map(|(row, text)| (at, row, text));
            fold.minutes.extend(rows);
        }
        fold.finished = self.windows.finish(now);
        for window in &fold.finished {
            self.charge_borrowed(window);
        }
        let through = self.sequence;
        fold.totals = self.changed_rows(through);
        fold.windows = self.windows.store(through);
        fold.reserved = self.reserved.store(through, now)?;
        self.folded = through;
        let marks =
            StoredMarks::new(through, self.since, self.usage).with_telemetry(&self.telemetry);
        fold.marks = Some(marks.with_counted(self.counted.iter().map(|(id, last)| (*id, *last))));
        Ok(fold)
    }

    fn changed_rows(&mut self, through: u64) -> Vec<(u32, StoredCell)> {
        let changed = std::mem::take(&mut self.changed).into_iter();
        let rows = changed.filter_map(|row| {
            let cell = StoredCell::new(through, self.totals.row(row)?);
            self.marks.insert(row, through);
            Some((row, cell))
        });
        rows.collect()
    }

    /// What was borrowed in a window that is finished counts for good.
    fn charge_borrowed(&mut self, window: &Finished) {
        let budget = &window.name.0;
        let charged = window
            .borrowed
            .iter()
            .map(|(tenant, units)| (tenant.clone(), borrowed_counters(budget, *units)));
        self.changed
            .extend(self.totals.add(&OrderedMap::from_iter(charged)));
    }

    /// All that was counted, and how far the windows that are open now are used.
    #[must_use]
    pub fn totals_at(&self, now: EpochMs) -> TotalsReply {
        TotalsReply {
            open: self.windows.open_at(now),
            ..self.totals()
        }
    }

    /// All that was counted.
    #[must_use]
    pub fn totals(&self) -> TotalsReply {
        let mut counters = self.totals.all();
        for (budget, tenants) in self.windows.borrowed() {
            for (tenant, units) in tenants {
                if let Some(entry) = counters.get_mut(&tenant) {
                    entry.add(&borrowed_counters(&budget, units));
                }
            }
        }
        for (tenant, open) in self.reserved.open() {
            let name = if counters.contains_key(&tenant) {
                tenant
            } else {
                OTHERS.to_owned()
            };
            counters.entry(name).or_default().add(&open);
        }
        TotalsReply {
            counters,
            since: self.since,
            usage: self.usage,
            telemetry: self.telemetry.clone(),
            open: OrderedMap::new(),
            entitlements: self.windows.entitlements(),
        }
    }

    /// Minutes that are not stored yet.
    pub fn minutes(&self) -> impl Iterator<Item = (EpochMs, &Counters)> {
        let minutes = self.minutes.iter();
        minutes.map(|(at, minute)| (*at, &minute.counters))
    }

    /// Windows that are not finished.
    #[must_use]
    pub fn windows(&self) -> &Windows {
        &self.windows
    }

    /// Windows that are not finished, to be told what their roots say.
    pub fn windows_mut(&mut self) -> &mut Windows {
        &mut self.windows
    }
}

fn borrowed_counters(budget: &str, units: u128) -> TenantCounters {
    let tally = Tally {
        borrowed_units: Count(units),
        ..Tally::default()
    };
    TenantCounters {
        budgets: [(budget.to_owned(), tally)].into(),
        ..TenantCounters::default()
    }
}

#[cfg(test)]
mod tests {
    use weir_core::units::{HolderId, Incarnation, WindowLabel};
    use weir_decision::Reason;
    use weir_wire::windows::WindowPart;

    use super::*;
    use crate::counters::{Charged, Decided, count};

    fn frame() -> FrameBody {
        let mut frame = FrameBody {
            v: VERSION,
            sender: HolderId(7),
            incarnation: Incarnation(1),
            sequence: Sequence(1),
            ..FrameBody::default()
        };
        let decided = Decided {
            tenant: "acme",
            known: true,
            charged: Charged::Budget("tokens"),
            reason: Reason::Admitted,
            units: 5,
        };
        count(&mut frame.counters, &decided, 10);
        let part = WindowPart {
            limit: 100,
            ends_at: EpochMs(10 * MINUTE_MS),
            ..WindowPart::default()
        };
        let labels = OrderedMap::from([(WindowLabel(3), part)]);
        frame.windows.insert("tokens".to_owned(), labels);
        frame
    }

    #[test]
    fn what_was_counted_is_folded_when_its_minute_is_over() {
        let mut books = Books::default();
        assert!(books.at_rest() && !books.fold_due(EpochMs(MINUTE_MS)));
        assert!(books.take(&frame(), EpochMs(MINUTE_MS)).entry.is_some());
        assert!(!books.at_rest());
        for (now, due) in [
            (MINUTE_MS, false),
            (2 * MINUTE_MS - 1, false),
            (2 * MINUTE_MS, true),
        ] {
            assert_eq!(books.fold_due(EpochMs(now)), due, "{now}");
        }
    }

    #[test]
    fn totals_at_an_instant_tell_how_far_the_window_is_used_that_is_open_then() {
        let mut books = Books::default();
        assert!(books.take(&frame(), EpochMs(MINUTE_MS)).entry.is_some());
        let told = books.totals_at(EpochMs(10 * MINUTE_MS - 1));
        assert_eq!(told.open["tokens"].label, WindowLabel(3));
        assert_eq!(told.counters["acme"].total().admitted_units, Count(5));
        assert!(books.totals_at(EpochMs(10 * MINUTE_MS)).open.is_empty());
    }

    #[test]
    fn a_fold_waits_for_its_alarm_unless_that_is_late_by_two_minutes_or_the_journal_is_long() {
        let mut books = Books::default();
        assert!(books.take(&frame(), EpochMs(MINUTE_MS)).entry.is_some());
        for (minute, overdue) in [(1, false), (2, false), (3, false), (4, true)] {
            assert_eq!(books.fold_overdue(EpochMs(minute * MINUTE_MS)), overdue);
        }
        for (entries, minute, overdue) in [
            (JOURNAL_ENTRIES_MAX, 2, false),
            (JOURNAL_ENTRIES_MAX + 1, 2, true),
            (JOURNAL_ENTRIES_MAX + 1, 1, false),
        ] {
            books.sequence = entries;
            assert_eq!(books.fold_overdue(EpochMs(minute * MINUTE_MS)), overdue);
        }
    }

    #[test]
    fn what_the_deployment_told_of_itself_is_counted_once_whatever_of_the_journal_is_folded() {
        let usage = |calls| Usage {
            region_calls: Count(calls),
            ..Usage::default()
        };
        let telemetry = |writes| Telemetry {
            failed_writes: Count(writes),
            ..Telemetry::default()
        };
        let mut books = Books::default();
        let entries = [1, 2, 3].map(|sequence| {
            let frame = FrameBody {
                sequence: Sequence(sequence),
                usage: usage(1),
                telemetry: telemetry(1),
                ..frame()
            };
            books.take(&frame, EpochMs(MINUTE_MS)).entry.unwrap()
        });
        for folded in 0..=3 {
            let marks = StoredMarks::new(folded, EpochMs(0), usage(folded.into()))
                .with_telemetry(&telemetry(folded.into()));
            let mut woken = Books::default();
            woken.restore_marks(&marks);
            for (sequence, entry) in &entries {
                woken.replay(*sequence, entry);
            }
            let totals = woken.totals();
            assert_eq!(
                (totals.usage, totals.telemetry),
                (usage(3), telemetry(3)),
                "{folded} are folded"
            );
        }
    }
}
