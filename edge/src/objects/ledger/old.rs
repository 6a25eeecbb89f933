//! The rows of a ledger as they were before there was a journal: `cells`, with the totals by row and, under `counted`,
//! the last frame of each sender. They are read once and written anew.

use weir_shared::json;
use weir_shared::units::{EpochMs, HolderId, Incarnation, Sequence};
use weir_shared::wire::accounting::Counters;
use weir_shared::wire::cells::{StoredCell, StoredMarks};
use weir_shared::wire::usage::Usage;
use worker::Date;

use crate::objects::server::Refused;
use crate::objects::storage::{Database, Statement, number, text};

const COUNTED: &str = "counted";

/// Takes the old rows over, if there are any. Those that cannot be read are kept in `damaged`.
pub(super) fn adopt(database: &Database) -> Result<(), Refused> {
    let query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'cells'";
    if database.first(query, vec![])?.is_none() {
        return Ok(());
    }
    let now = Date::now().as_millis();
    let mut statements: Vec<Statement> = Vec::new();
    for row in database.rows("SELECT name, body FROM cells", vec![])? {
        let (Some(name), Some(body)) = (text(row.first()), text(row.get(1))) else {
            continue;
        };
        match adopted(name, body, EpochMs(now)) {
            Some(statement) => statements.push(statement),
            None => {
                let put = "INSERT INTO damaged (at, name, body) VALUES (?, ?, ?)";
                statements.push((put, vec![number(now), name.into(), body.into()]));
            }
        }
    }
    statements.push(("DROP TABLE cells", vec![]));
    database.atomically(statements)
}

/// The statement that writes an old row anew; `None` for one that cannot be read.
fn adopted(name: &str, body: &str, now: EpochMs) -> Option<Statement> {
    if name == COUNTED {
        let counted: Vec<(HolderId, (Incarnation, Sequence))> = json::from_str(body).ok()?;
        let marks = StoredMarks::new(0, now, Usage::default()).with_counted(counted);
        let body = serde_json::to_string(&marks).ok()?;
        let put = "INSERT OR REPLACE INTO marks (id, body) VALUES (1, ?)";
        return Some((put, vec![body.into()]));
    }
    let row: u32 = name.parse().ok()?;
    let counters: Counters = json::from_str(body).ok()?;
    let body = serde_json::to_string(&StoredCell::new(0, &counters)).ok()?;
    let put = "INSERT OR REPLACE INTO totals (row, body) VALUES (?, ?)";
    Some((put, vec![number(u64::from(row)), body.into()]))
}
