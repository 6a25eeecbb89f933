//! Answers that are remembered by idempotency keys: an object of its own, with a row a key.

use std::cell::RefCell;
use std::rc::Rc;

use weir_shared::clock::MonotonicClock;
use weir_shared::limiting::idempotency::{ClaimBody, Claimed, KeepBody, Keys, Remembered, claim};
use weir_shared::limits::{IDEMPOTENCY_MS, PURGE_MS};
use weir_shared::units::EpochMs;
use worker::{Date, Response, State, console_error};

use crate::objects::alarm::Alarm;
use crate::objects::calls::Done;
use crate::objects::server::{Arrived, Refused};
use crate::objects::storage::{Database, Value, integer, number, text};

pub(super) const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, owner TEXT, print TEXT, at INTEGER, body TEXT)",
];

/// The answers of a region.
pub(super) struct Answers {
    alarm: Alarm,
    database: Database,
    memory: RefCell<Memory>,
}

#[derive(Default)]
struct Memory {
    clock: MonotonicClock,
    /// How many keys there are, once they were counted.
    keys: Option<Keys>,
    /// When answers that are over were last looked for.
    purged_at: EpochMs,
}

impl Answers {
    pub(super) fn new(state: Rc<State>, database: Database) -> Self {
        Self {
            alarm: Alarm::new(state),
            database,
            memory: RefCell::default(),
        }
    }

    /// Answers a call that is for answers; `None` for any other.
    pub(super) async fn answer(&self, arrived: &Arrived) -> Option<worker::Result<Response>> {
        if arrived.is::<ClaimBody>() {
            let claimed = arrived.parse().and_then(|body| self.claim(&body));
            self.alarm.set(IDEMPOTENCY_MS).await;
            return Some(arrived.answer(claimed));
        }
        if arrived.is::<KeepBody>() {
            let kept = arrived.parse().and_then(|body| self.keep(body));
            return Some(arrived.answer(kept));
        }
        None
    }

    /// Whether this object remembers answers.
    pub(super) fn is_used(&self) -> bool {
        let query = "SELECT 1 FROM answers LIMIT 1";
        self.database
            .first(query, vec![])
            .is_ok_and(|row| row.is_some())
    }

    /// Forgets what is over; the object sleeps once nothing is left.
    pub(super) async fn alarm(&self) {
        self.alarm.rang();
        match self.forget_all(self.now()) {
            Ok(keys) if keys == Keys::default() => {}
            Ok(_) => self.alarm.set(IDEMPOTENCY_MS).await,
            Err(refused) => console_error!("answers: {}", refused.0),
        }
    }

    fn claim(&self, body: &ClaimBody) -> Result<Claimed, Refused> {
        let now = self.now();
        let due = now.since(self.memory.try_borrow()?.purged_at) >= PURGE_MS;
        let known = self.memory.try_borrow()?.keys.is_some();
        if due || !known {
            self.forget_all(now)?;
        }
        let stored = self.stored(&body.key)?;
        let mut memory = self.memory.try_borrow_mut()?;
        let keys = memory.keys.get_or_insert_with(Keys::default);
        let claimed = claim(body, stored.as_ref(), keys, now);
        if let Claimed::New { at } = claimed {
            let new = Remembered::of(body, at);
            self.database.run(
                "INSERT OR REPLACE INTO answers (key, owner, print, at, body) VALUES (?, ?, ?, ?, NULL)",
                vec![
                    body.key.as_str().into(),
                    new.owner.as_str().into(),
                    new.print.as_str().into(),
                    number(at.0),
                ],
            )?;
            if stored.is_none() {
                keys.add(&body.owner);
            }
        }
        Ok(claimed)
    }

    /// Keeps the answer of a claim; without one, the key is as if it had never been claimed.
    fn keep(&self, body: KeepBody) -> Result<Done, Refused> {
        let stored = self.stored(&body.key)?;
        let Some(claim) = stored.filter(|stored| stored.takes(&body)) else {
            return Ok(Done {});
        };
        match body.answer {
            Some(answer) => {
                let statement = "UPDATE answers SET body = ? WHERE key = ?";
                self.database
                    .run(statement, vec![answer.into(), body.key.into()])?;
            }
            None => {
                let statement = "DELETE FROM answers WHERE key = ?";
                self.database.run(statement, vec![body.key.into()])?;
                if let Some(keys) = &mut self.memory.try_borrow_mut()?.keys {
                    keys.remove(&claim.owner);
                }
            }
        }
        Ok(Done {})
    }

    /// What is stored of a key. A row that cannot be read is none.
    fn stored(&self, key: &str) -> Result<Option<Remembered>, Refused> {
        let query = "SELECT owner, print, at, body FROM answers WHERE key = ?";
        let row = self.database.first(query, vec![key.into()])?;
        Ok(row.and_then(|row| {
            Some(Remembered {
                owner: text(row.first())?.to_owned(),
                print: text(row.get(1))?.to_owned(),
                at: EpochMs(integer(row.get(2))?),
                answer: text(row.get(3)).map(str::to_owned),
            })
        }))
    }

    /// Forgets answers that are over, and counts the rest.
    fn forget_all(&self, now: EpochMs) -> Result<Keys, Refused> {
        let over = now.0.saturating_sub(IDEMPOTENCY_MS);
        let statement = "DELETE FROM answers WHERE at <= ?";
        self.database.run(statement, vec![number(over)])?;
        let count = "SELECT owner, COUNT(*) FROM answers GROUP BY owner";
        let rows = self.database.rows(count, vec![])?;
        let owners = rows.into_iter().filter_map(|row: Vec<Value>| {
            let count = usize::try_from(integer(row.get(1))?).ok()?;
            Some((text(row.first())?.to_owned(), count))
        });
        let keys = Keys::of(owners);
        let mut memory = self.memory.try_borrow_mut()?;
        memory.keys = Some(keys.clone());
        memory.purged_at = now;
        Ok(keys)
    }

    fn now(&self) -> EpochMs {
        let now = EpochMs(Date::now().as_millis());
        let memory = self.memory.try_borrow_mut();
        memory.map_or(now, |mut memory| memory.clock.read(now))
    }
}
