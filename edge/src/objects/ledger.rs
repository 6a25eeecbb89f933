//! The ledger of one region: adds frames to its totals, each once, in one statement.

use std::cell::RefCell;

use weir_shared::accounting::frame::{Counted, Inbox};
use weir_shared::accounting::ledger::Totals;
use weir_shared::units::Incarnation;
use weir_shared::wire::accounting::{Counters, FrameReply};
use weir_shared::wire::stored::Damaged;
use worker::{Date, DurableObject, Env, Request, Response, State, durable_object};

use super::calls::{ReadCounters, TakeFrame};
use super::server::{Arrived, Refused};
use super::storage::{Database, Value, number, report_damaged, text, wrong_type};

/// `cells` holds the rows of the totals under their number and what was counted last under `counted`, so that a
/// frame and its mark are written by one statement. A cell that cannot be read is moved to `damaged`.
const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS cells (name TEXT PRIMARY KEY, body TEXT)",
    "CREATE TABLE IF NOT EXISTS damaged (at INTEGER, name TEXT, body TEXT)",
];

const COUNTED: &str = "counted";

/// A ledger remembers durably, so it has one life.
const INCARNATION: Incarnation = Incarnation(1);

/// One region's ledger.
#[durable_object]
pub struct Ledger {
    database: Database,
    books: RefCell<Option<Books>>,
}

struct Books {
    totals: Totals,
    counted: Counted,
}

impl DurableObject for Ledger {
    fn new(state: State, _env: Env) -> Self {
        Self {
            database: Database::open(&state, SCHEMA),
            books: RefCell::default(),
        }
    }

    async fn fetch(&self, request: Request) -> worker::Result<Response> {
        let arrived = Arrived::read(request).await?;
        if arrived.is::<TakeFrame>() {
            arrived.answer(arrived.parse().and_then(|call| self.take(&call)))
        } else if arrived.is::<ReadCounters>() {
            arrived.answer(self.with_books(|books| Ok(books.totals.all())))
        } else {
            arrived.unknown()
        }
    }
}

impl Ledger {
    fn take(&self, call: &TakeFrame) -> Result<FrameReply, Refused> {
        self.with_books(|books| {
            let mut inbox = Inbox::new(INCARNATION, books.counted.clone());
            let (add, reply) = inbox.take(&call.frame);
            if !add {
                return Ok(reply);
            }
            let mut totals = books.totals.clone();
            let changed = totals.add(&call.frame.counters);
            let counted = inbox.counted().clone();
            self.store(&totals, &changed, &counted)?;
            *books = Books { totals, counted };
            Ok(reply)
        })
    }

    fn with_books<R>(
        &self,
        event: impl FnOnce(&mut Books) -> Result<R, Refused>,
    ) -> Result<R, Refused> {
        let mut books = self.books.try_borrow_mut()?;
        match books.as_mut() {
            Some(books) => event(books),
            None => event(books.insert(self.load()?)),
        }
    }

    fn load(&self) -> Result<Books, Refused> {
        let mut books = Books {
            totals: Totals::default(),
            counted: Counted::new(),
        };
        for row in self.database.rows("SELECT name, body FROM cells", vec![])? {
            let Some(name) = text(row.first()).map(str::to_owned) else {
                continue;
            };
            if let Err(damaged) = books.restore(&name, row.get(1)) {
                report_damaged(&name, &damaged);
                self.set_aside(&name)?;
            }
        }
        Ok(books)
    }

    fn store(&self, totals: &Totals, changed: &[u32], counted: &Counted) -> Result<(), Refused> {
        let mut values: Vec<Value> = vec![COUNTED.into(), write_counted(counted)?.into()];
        for row in changed {
            let counters = totals.row(*row).cloned().unwrap_or_default();
            values.push(row.to_string().into());
            values.push(serde_json::to_string(&counters)?.into());
        }
        let places = vec!["(?, ?)"; 1 + changed.len()].join(", ");
        let statement = format!("INSERT OR REPLACE INTO cells (name, body) VALUES {places}");
        self.database.run(&statement, values)
    }

    /// Keeps a cell that cannot be read where an operator finds it; its next value starts anew.
    fn set_aside(&self, name: &str) -> Result<(), Refused> {
        let at = number(Date::now().as_millis());
        let statement =
            "INSERT INTO damaged (at, name, body) SELECT ?, name, body FROM cells WHERE name = ?";
        self.database.run(statement, vec![at, name.into()])?;
        let statement = "DELETE FROM cells WHERE name = ?";
        self.database.run(statement, vec![name.into()])
    }
}

impl Books {
    fn restore(&mut self, name: &str, body: Option<&Value>) -> Result<(), Damaged> {
        let body = text(body).ok_or_else(|| wrong_type("body"))?;
        let form = |error: serde_json::Error| Damaged::Form {
            message: error.to_string(),
        };
        if name == COUNTED {
            let entries: Vec<_> = serde_json::from_str(body).map_err(form)?;
            self.counted = entries.into_iter().collect();
            return Ok(());
        }
        let row: u32 = name.parse().map_err(|_| wrong_type("name"))?;
        let counters: Counters = serde_json::from_str(body).map_err(form)?;
        self.totals.restore(row, counters);
        Ok(())
    }
}

fn write_counted(counted: &Counted) -> Result<String, Refused> {
    let entries: Vec<_> = counted.iter().collect();
    Ok(serde_json::to_string(&entries)?)
}
