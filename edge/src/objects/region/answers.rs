//! Answers that are remembered by idempotency keys: an object of its own, with a row a key. Carries out what `node::answers`
//! says.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use weir_shared::clock::MonotonicClock;
use weir_shared::limiting::idempotency::{ClaimBody, Claimed, KeepBody, Keys, Remembered};
use weir_shared::node::answers::{AnswersNode, Effect, Event};
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
    node: AnswersNode,
}

/// What came of an event.
#[derive(Default)]
struct Carried {
    claimed: Option<Claimed>,
    wake_in_ms: Option<u64>,
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
            let claimed = match arrived.parse() {
                Ok(body) => self.claim(body).await,
                Err(refused) => Err(refused),
            };
            return Some(arrived.answer(claimed));
        }
        if arrived.is::<KeepBody>() {
            let body = arrived.parse();
            let kept = body.and_then(|body| self.carry_out(Event::Keep(body)));
            return Some(arrived.answer(kept.map(|_| Done {})));
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
        match self.carry_out(Event::Woke) {
            Ok(carried) => self.wake_in(&carried).await,
            Err(refused) => console_error!("answers: {}", refused.0),
        }
    }

    async fn claim(&self, body: ClaimBody) -> Result<Claimed, Refused> {
        let carried = self.carry_out(Event::Claim(body))?;
        self.wake_in(&carried).await;
        let unanswered = || Refused("a claim came to nothing".to_owned());
        carried.claimed.ok_or_else(unanswered)
    }

    async fn wake_in(&self, carried: &Carried) {
        if let Some(ms) = carried.wake_in_ms {
            self.alarm.set(ms).await;
        }
    }

    /// Does what the node says until nothing is left.
    fn carry_out(&self, event: Event) -> Result<Carried, Refused> {
        let (mut carried, mut failed) = (Carried::default(), None);
        let mut effects = VecDeque::from(self.step(event)?);
        while let Some(effect) = effects.pop_front() {
            let done = match effect {
                Effect::Forget(until) => self.forget(until).map(Event::Forgotten),
                Effect::Read(key) => self.stored(&key).map(Event::Read),
                Effect::Persist(key, row) => self.write(&key, row).map(|()| Event::Persisted),
                Effect::Claimed(claimed) => {
                    carried.claimed = Some(claimed);
                    continue;
                }
                Effect::WakeIn(ms) => {
                    carried.wake_in_ms = Some(ms);
                    continue;
                }
                Effect::Kept | Effect::Fail => continue,
            };
            let event = done.unwrap_or_else(|refused| {
                failed = Some(refused);
                Event::Failed
            });
            effects.extend(self.step(event)?);
        }
        failed.map_or(Ok(carried), Err)
    }

    fn step(&self, event: Event) -> Result<Vec<Effect>, Refused> {
        let Memory { clock, node } = &mut *self.memory.try_borrow_mut()?;
        let now = clock.read(EpochMs(Date::now().as_millis()));
        Ok(node.step(event, now))
    }

    fn write(&self, key: &str, row: Option<Remembered>) -> Result<(), Refused> {
        let Some(row) = row else {
            let statement = "DELETE FROM answers WHERE key = ?";
            return self.database.run(statement, vec![key.into()]);
        };
        let statement =
            "INSERT OR REPLACE INTO answers (key, owner, print, at, body) VALUES (?, ?, ?, ?, ?)";
        let values = vec![
            key.into(),
            row.owner.into(),
            row.print.into(),
            number(row.at.0),
            row.answer.map_or(Value::Null, Value::from),
        ];
        self.database.run(statement, values)
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

    /// Drops answers that are over, and counts the rest.
    fn forget(&self, until: EpochMs) -> Result<Keys, Refused> {
        let statement = "DELETE FROM answers WHERE at <= ?";
        self.database.run(statement, vec![number(until.0)])?;
        let count = "SELECT owner, COUNT(*) FROM answers GROUP BY owner";
        let rows = self.database.rows(count, vec![])?;
        let owners = rows.into_iter().filter_map(|row: Vec<Value>| {
            let count = usize::try_from(integer(row.get(1))?).ok()?;
            Some((text(row.first())?.to_owned(), count))
        });
        Ok(Keys::of(owners))
    }
}
