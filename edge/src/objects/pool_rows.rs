//! Roots of pools, as a coordinator and a region with pools of its own keep them: the rows of the table `pools`, and who
//! carries out what a root says.

use std::collections::VecDeque;

use weir_shared::federation::pool::Pool;
use weir_shared::federation::stored::StoredPool;
use weir_shared::node::pool::{Event, PoolNode};
use weir_shared::node::{Effect, LendAnswer};
use weir_shared::units::{EpochMs, WindowLabel};
use weir_shared::wire::stored::{Damaged, read_row};
use weir_shared::wire::windows::{ClosedBody, ClosedReply};

use super::server::Refused;
use super::storage::{Database, integer, report_damaged, text, wrong_type};

/// What is stored of a pool.
pub enum PoolRow {
    /// It can be read.
    Stored(Box<StoredPool>),
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
        Ok(stored) => PoolRow::Stored(Box::new(stored)),
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
    known: Option<&PoolNode<()>>,
    body: &ClosedBody,
    now: EpochMs,
) -> Result<ClosedReply, Refused> {
    let over = |pool: &Pool| ClosedReply {
        windows: pool.windows_over(body.from, now),
    };
    if let Some(node) = known {
        return Ok(over(node.pool()));
    }
    Ok(match read(database, &body.budget)? {
        Some(PoolRow::Stored(stored)) => over(&Pool::wake(&stored)),
        // Who asks for units will report it.
        _ => ClosedReply::default(),
    })
}

/// Lets a root take an event, and does what it says until nothing is left to do: its answer, if somebody asked.
///
/// # Errors
/// When what the answer rests on could not be written.
pub fn run(
    node: &mut PoolNode<()>,
    event: Event<()>,
    now: EpochMs,
    write: impl Fn(&StoredPool) -> Result<(), Refused>,
) -> Result<Option<LendAnswer>, Refused> {
    let mut effects = VecDeque::from(node.step(event, now));
    let (mut answer, mut failed) = (None, None);
    while let Some(effect) = effects.pop_front() {
        match effect {
            Effect::Persist(row) => {
                failed = write(&row).err();
                let written = match failed {
                    None => Event::Persisted,
                    Some(_) => Event::NotPersisted,
                };
                effects.extend(node.step(written, now));
            }
            Effect::Reply((), reply) => answer = Some(reply),
            // Why not stands in `failed`.
            Effect::Fail(()) => {}
            // There is nobody above a root.
            Effect::Send(_) | Effect::WakeAt(_) => {}
        }
    }
    failed.map_or(Ok(answer), Err)
}
