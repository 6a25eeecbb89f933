//! The coordinator of one budget: runs its [`Pool`] and keeps its one row.

use std::cell::RefCell;

use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::units::{EpochMs, WindowLabel};
use weir_shared::wire::exchange::{ExchangeAnswer, ExchangeBody, Terms};
use weir_shared::wire::stored::{StoredPool, read_row};
use worker::{Date, DurableObject, Env, Request, Response, State, durable_object};

use super::server::{Arrived, Refused};
use super::storage::{Database, integer, number, report_damaged, text, wrong_type};

const SCHEMA: &[&str] =
    &["CREATE TABLE IF NOT EXISTS pool (id INTEGER PRIMARY KEY, label INTEGER, body TEXT)"];

/// One budget's coordinator.
#[durable_object]
pub struct Coordinator {
    database: Database,
    pool: RefCell<Option<Pool>>,
}

impl DurableObject for Coordinator {
    fn new(state: State, _env: Env) -> Self {
        Self {
            database: Database::open(&state, SCHEMA),
            pool: RefCell::default(),
        }
    }

    async fn fetch(&self, request: Request) -> worker::Result<Response> {
        let arrived = Arrived::read(request).await?;
        if !arrived.is::<ExchangeBody>() {
            return arrived.unknown();
        }
        arrived.answer(arrived.parse().and_then(|body| self.exchange(body)))
    }
}

impl Coordinator {
    /// One event: decide, make durable what the reply depends on, reply.
    fn exchange(&self, body: ExchangeBody) -> Result<ExchangeAnswer, Refused> {
        let message = match Message::try_from(body) {
            Ok(message) => message,
            Err(refusal) => return Ok(ExchangeAnswer::Refused(refusal)),
        };
        let mut pool = self.pool.try_borrow_mut()?;
        // The clock as it is: a step back is the window's own rule.
        let now = EpochMs(Date::now().as_millis());
        let pool = match pool.as_mut() {
            Some(pool) => pool,
            None => pool.insert(self.wake(message.terms, now)?),
        };
        let answer = pool.exchange(&message, now);
        if let Some(row) = pool.due() {
            self.store(&row)?;
            pool.stored(&row);
        }
        Ok(match answer {
            Ok(reply) => ExchangeAnswer::Reply(reply),
            Err(refusal) => ExchangeAnswer::Refused(refusal),
        })
    }

    fn wake(&self, terms: Terms, now: EpochMs) -> Result<Pool, Refused> {
        let query = "SELECT label, body FROM pool WHERE id = 1";
        let Some(row) = self.database.first(query, vec![])? else {
            return Ok(Pool::open(terms, now));
        };
        let stored = text(row.get(1))
            .ok_or_else(|| wrong_type("body"))
            .and_then(read_row::<StoredPool>);
        Ok(match stored {
            Ok(stored) => Pool::wake(&stored),
            Err(damaged) => {
                report_damaged("pool", &damaged);
                Pool::damaged(integer(row.first()).map(WindowLabel), terms, now)
            }
        })
    }

    fn store(&self, row: &StoredPool) -> Result<(), Refused> {
        let statement = "INSERT OR REPLACE INTO pool (id, label, body) VALUES (1, ?, ?)";
        let body = serde_json::to_string(row)?;
        self.database
            .run(statement, vec![number(row.label.0), body.into()])
    }
}
