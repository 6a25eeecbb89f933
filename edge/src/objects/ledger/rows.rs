//! The rows of a ledger. One that cannot be read is reported and moved to `damaged`; what it counted starts anew.

use weir_shared::accounting::books::{Books, Fold};
use weir_shared::limits::MINUTE_MS;
use weir_shared::node::ledger::Rows;
use weir_shared::units::EpochMs;
use weir_shared::wire::cells::{StoredCell, StoredEntry, StoredMarks};
use weir_shared::wire::stored::{Damaged, Row, read_row};
use weir_shared::wire::windows::StoredWindow;
use worker::Date;

use super::old;
use crate::objects::server::Refused;
use crate::objects::storage::{
    Database, Statement, Value, integer, number, report_damaged, text, wrong_type,
};

/// `totals` by row, over which tenants are hashed; `marks`, one row; `journal`, the frames that are not in all of the
/// others; `intervals`, minutes and hours, each in a fixed number of rows; `windows` that are not finished, and the
/// `records` of those that are; `reservations` that are open, by the minute of their end. Tables without row ids have no index beside them, which would be written too.
pub(super) const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS totals (row INTEGER PRIMARY KEY, body TEXT)",
    "CREATE TABLE IF NOT EXISTS marks (id INTEGER PRIMARY KEY, body TEXT)",
    "CREATE TABLE IF NOT EXISTS journal (sequence INTEGER PRIMARY KEY, body TEXT)",
    "CREATE TABLE IF NOT EXISTS intervals (step_ms INTEGER, row INTEGER, at INTEGER, body TEXT, \
     PRIMARY KEY (step_ms, row, at)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS windows (budget TEXT, label INTEGER, body TEXT, \
     PRIMARY KEY (budget, label)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS records (ends_at INTEGER, budget TEXT, label INTEGER, body TEXT, \
     PRIMARY KEY (ends_at, budget, label)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS reservations (until INTEGER PRIMARY KEY, body TEXT)",
    "CREATE TABLE IF NOT EXISTS damaged (at INTEGER, name TEXT, body TEXT)",
];

const PUT_TOTALS: &str = "INSERT OR REPLACE INTO totals (row, body) VALUES (?, ?)";
const PUT_MARKS: &str = "INSERT OR REPLACE INTO marks (id, body) VALUES (1, ?)";
const PUT_ENTRY: &str = "INSERT OR REPLACE INTO journal (sequence, body) VALUES (?, ?)";
const DROP_ENTRIES: &str = "DELETE FROM journal WHERE sequence <= ?";
const PUT_INTERVAL: &str =
    "INSERT OR REPLACE INTO intervals (step_ms, row, at, body) VALUES (?, ?, ?, ?)";
const PUT_WINDOW: &str = "INSERT OR REPLACE INTO windows (budget, label, body) VALUES (?, ?, ?)";
const DROP_WINDOW: &str = "DELETE FROM windows WHERE budget = ? AND label = ?";
const PUT_RECORD: &str =
    "INSERT OR REPLACE INTO records (ends_at, budget, label, body) VALUES (?, ?, ?, ?)";
const PUT_RESERVATIONS: &str = "INSERT OR REPLACE INTO reservations (until, body) VALUES (?, ?)";
const DROP_RESERVATIONS: &str = "DELETE FROM reservations WHERE until = ?";
const KEEP_DAMAGED: &str = "INSERT INTO damaged (at, name, body) VALUES (?, ?, ?)";

/// Writes rows, all or none.
pub(super) fn write(database: &Database, rows: &Rows) -> Result<(), Refused> {
    match rows {
        Rows::Entry(sequence, entry) => {
            let body = serde_json::to_string(entry)?;
            database.run(PUT_ENTRY, vec![number(*sequence), body.into()])
        }
        Rows::Fold(fold) => write_fold(database, fold),
    }
}

fn write_fold(database: &Database, fold: &Fold) -> Result<(), Refused> {
    let mut statements: Vec<Statement> = Vec::new();
    for (row, cell) in &fold.totals {
        let body = serde_json::to_string(cell)?;
        statements.push((PUT_TOTALS, vec![number(u64::from(*row)), body.into()]));
    }
    for (at, row, body) in &fold.minutes {
        statements.push((PUT_INTERVAL, interval(MINUTE_MS, *row, at.0, body)));
    }
    for window in &fold.windows {
        let body = serde_json::to_string(window)?;
        let values = vec![
            window.budget.as_str().into(),
            number(window.label.0),
            body.into(),
        ];
        statements.push((PUT_WINDOW, values));
    }
    for finished in &fold.finished {
        let (budget, label) = &finished.name;
        let name: Vec<Value> = vec![budget.as_str().into(), number(label.0)];
        statements.push((DROP_WINDOW, name.clone()));
        let Some(record) = &finished.record else {
            continue;
        };
        let mut values = vec![number(record.ends_at.0)];
        values.extend(name);
        values.push(serde_json::to_string(record)?.into());
        statements.push((PUT_RECORD, values));
    }
    for (until, body) in &fold.reserved.changed {
        let values = vec![number(until.0), body.as_str().into()];
        statements.push((PUT_RESERVATIONS, values));
    }
    for until in &fold.reserved.over {
        statements.push((DROP_RESERVATIONS, vec![number(until.0)]));
    }
    if let Some(marks) = &fold.marks {
        statements.push((PUT_MARKS, vec![serde_json::to_string(marks)?.into()]));
    }
    if fold.dropped > 0 {
        statements.push((DROP_ENTRIES, vec![number(fold.dropped)]));
    }
    database.atomically(statements)
}

/// The values of a row of an interval.
pub(super) fn interval(step_ms: u64, row: u32, at: u64, body: &str) -> Vec<Value> {
    vec![
        number(step_ms),
        number(u64::from(row)),
        number(at),
        body.into(),
    ]
}

/// The statement that writes a row of an interval.
pub(super) fn put_interval(step_ms: u64, row: u32, at: u64, body: &str) -> Statement {
    (PUT_INTERVAL, interval(step_ms, row, at, body))
}

/// The books as they were written.
pub(super) fn load(database: &Database) -> Result<Books, Refused> {
    old::adopt(database)?;
    let mut books = Books::default();
    let loader = Loader { database };
    let marks = "SELECT id, body FROM marks";
    loader.each::<StoredMarks>(marks, "DELETE FROM marks", |_, marks| {
        books.restore_marks(&marks);
    })?;
    let totals = "SELECT row, body FROM totals";
    let drop_totals = "DELETE FROM totals WHERE row = ?";
    loader.each::<StoredCell>(totals, drop_totals, |row, cell| {
        if let Ok(row) = u32::try_from(row) {
            books.restore_totals(row, cell.through, cell.counters());
        }
    })?;
    // The number of the row serves no more than to find it again: the window names itself.
    let windows = "SELECT label, body, budget FROM windows";
    let drop_windows = "DELETE FROM windows WHERE label = ? AND budget = ?";
    loader.each::<StoredWindow>(windows, drop_windows, |_, window| {
        books.restore_window(window);
    })?;
    let reservations = "SELECT until, body FROM reservations";
    let drop_reservations = "DELETE FROM reservations WHERE until = ?";
    loader.each::<StoredCell>(reservations, drop_reservations, |until, cell| {
        books.restore_reserved(EpochMs(until), cell.through, cell.counters());
    })?;
    let journal = "SELECT sequence, body FROM journal ORDER BY sequence";
    let drop_entry = "DELETE FROM journal WHERE sequence = ?";
    loader.each::<StoredEntry>(journal, drop_entry, |sequence, entry| {
        books.replay(sequence, &entry);
    })?;
    Ok(books)
}

struct Loader<'a> {
    database: &'a Database,
}

impl Loader<'_> {
    /// Reads the rows of a query: a number, a body, and what else its row is found by. One that cannot be read is set
    /// aside, and dropped by `drop`.
    fn each<R: Row>(
        &self,
        query: &str,
        drop: &'static str,
        mut take: impl FnMut(u64, R),
    ) -> Result<(), Refused> {
        for row in self.database.rows(query, vec![])? {
            let body = text(row.get(1)).ok_or_else(|| wrong_type("body"));
            let read = body.and_then(read_row::<R>);
            match (integer(row.first()), read) {
                (Some(number), Ok(stored)) => take(number, stored),
                (number, read) => {
                    let damaged = read.err().unwrap_or_else(|| wrong_type("number"));
                    let mut found: Vec<Value> = row.first().cloned().into_iter().collect();
                    found.extend(row.get(2).cloned());
                    let wanted = drop.matches('?').count();
                    found.truncate(wanted);
                    self.set_aside(&format!("{query}: {number:?}"), row.get(1), &damaged)?;
                    self.database.run(drop, found)?;
                }
            }
        }
        Ok(())
    }

    /// Keeps a row that cannot be read where an operator finds it.
    fn set_aside(
        &self,
        name: &str,
        body: Option<&Value>,
        damaged: &Damaged,
    ) -> Result<(), Refused> {
        report_damaged(name, damaged);
        let at = number(Date::now().as_millis());
        let body = body.cloned().unwrap_or(Value::Null);
        self.database.run(KEEP_DAMAGED, vec![at, name.into(), body])
    }
}
