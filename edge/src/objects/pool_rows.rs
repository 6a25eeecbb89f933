//! Rows of the table `pools`, as a coordinator and a region with pools of its own keep them.

use weir_shared::federation::pool::Pool;
use weir_shared::federation::stored::StoredPool;
use weir_shared::units::{EpochMs, WindowLabel};
use weir_shared::wire::stored::{Damaged, read_row};
use weir_shared::wire::windows::{ClosedBody, ClosedReply};

use super::server::Refused;
use super::storage::{Database, integer, report_damaged, text, wrong_type};

/// What is stored of a pool.
pub enum PoolRow {
    /// It can be read.
    Stored(StoredPool),
    /// It cannot; its label may be known all the same.
    Damaged {
        /// The label of its window.
        label: Option<WindowLabel>,
        /// Why.
        why: Damaged,
    },
}

/// The row of a pool; `None` where there is none.
///
/// # Errors
/// When the database does not answer.
pub fn read(database: &Database, name: &str) -> Result<Option<PoolRow>, Refused> {
    let query = "SELECT label, body FROM pools WHERE name = ?";
    let Some(row) = database.first(query, vec![name.into()])? else {
        return Ok(None);
    };
    let body = text(row.get(1)).ok_or_else(|| wrong_type("body"));
    Ok(Some(match body.and_then(read_row::<StoredPool>) {
        Ok(stored) => PoolRow::Stored(stored),
        Err(why) => PoolRow::Damaged {
            label: integer(row.first()).map(WindowLabel),
            why,
        },
    }))
}

/// The pool of a row, woken; `damaged` makes one of a row that cannot be read, which is reported.
///
/// # Errors
/// Those of `damaged`.
pub fn wake(
    name: &str,
    row: PoolRow,
    damaged: impl FnOnce(Option<WindowLabel>) -> Result<Pool, Refused>,
) -> Result<Pool, Refused> {
    match row {
        PoolRow::Stored(stored) => Ok(Pool::wake(&stored)),
        PoolRow::Damaged { label, why } => {
            report_damaged(&format!("pool {name}"), &why);
            damaged(label)
        }
    }
}

/// What was lent in windows that are over. A pool that is not in memory is read, never made.
///
/// # Errors
/// When the database does not answer.
pub fn closed(
    database: &Database,
    known: Option<&Pool>,
    body: &ClosedBody,
    now: EpochMs,
) -> Result<ClosedReply, Refused> {
    let over = |pool: &Pool| ClosedReply {
        windows: pool.windows_over(body.from, now),
    };
    if let Some(pool) = known {
        return Ok(over(pool));
    }
    Ok(match read(database, &body.budget)? {
        Some(PoolRow::Stored(stored)) => over(&Pool::wake(&stored)),
        // Who asks for units will report it.
        _ => ClosedReply::default(),
    })
}
