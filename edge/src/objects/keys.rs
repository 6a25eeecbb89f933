//! A shard of keys: an object of its own that runs a [`ShardNode`] on its rows. Those of a region are objects of the class
//! `Region`, those of the whole deployment of the class `Coordinator`.

mod rows;

use std::cell::RefCell;
use std::rc::Rc;

use weir_shared::clock::MonotonicClock;
use weir_shared::limiting::messages::{
    DecideBody, FinishBody, GuardBody, ResetBody, ResetReply, SettleKeysBody, ShapeBody,
};
use weir_shared::limiting::rows::Put;
use weir_shared::limiting::shard::Shard;
use weir_shared::limits::PURGE_MS;
use weir_shared::node::keys::{Effect, Event, Reply, ShardAnswer, ShardCall, ShardNode};
use weir_shared::units::EpochMs;
use worker::{Date, Response, State, console_error};

use crate::objects::alarm::Alarm;
use crate::objects::server::{Arrived, Refused};
use crate::objects::storage::Database;
use rows::{KeyRows, Table};

pub(super) use rows::SCHEMA;

/// A shard of keys.
pub(super) struct Keys {
    alarm: Alarm,
    database: Database,
    memory: RefCell<Memory>,
}

#[derive(Default)]
struct Memory {
    clock: MonotonicClock,
    node: Option<ShardNode<()>>,
    table: Table,
}

impl Keys {
    pub(super) fn new(state: Rc<State>, database: Database) -> Self {
        Self {
            alarm: Alarm::new(state),
            database,
            memory: RefCell::default(),
        }
    }

    /// Answers a call that is for keys; `None` for any other.
    pub(super) async fn answer(&self, arrived: &Arrived) -> Option<worker::Result<Response>> {
        if arrived.is::<ResetBody>() {
            return Some(self.reset(arrived));
        }
        let answer = ask(arrived)?.and_then(|ask| self.answered(ask));
        if answer.is_ok() {
            self.arm().await;
        } else {
            // What is in memory may be ahead of what is written.
            self.forget();
        }
        Some(arrived.answer_text(answer.and_then(|reply| text(&reply))))
    }

    /// What the node answers.
    fn answered(&self, ask: ShardCall) -> Result<Reply, Refused> {
        let caller = ();
        let answer = self.run(Event::Asked { caller, ask })?;
        Ok(answer.ok_or_else(|| Refused("it could not be written".to_owned()))??)
    }

    /// Lets the node take an event, and does what it says until nothing is left to do.
    fn run(&self, event: Event<()>) -> Result<Option<ShardAnswer>, Refused> {
        let (mut answer, mut restarts) = (None, false);
        self.with(|node, rows, now| {
            let mut effects = node.step(event, rows, now);
            while !effects.is_empty() {
                let mut next = Vec::new();
                for effect in effects {
                    match effect {
                        Effect::Persist(puts) => next = node.step(written(rows, &puts), rows, now),
                        Effect::Reply((), reply) => answer = Some(reply),
                        Effect::Fail(()) => {}
                        Effect::Restart => restarts = true,
                        // The next event sees what has lapsed, else the alarm does.
                        Effect::WakeAt(_) => {}
                    }
                }
                effects = next;
            }
            Ok(())
        })?;
        if restarts {
            self.forget();
        }
        Ok(answer)
    }

    /// Puts keys back to their start: drops their states, and remembers since when what comes back is void.
    fn reset(&self, arrived: &Arrived) -> worker::Result<Response> {
        let answer = arrived.parse().and_then(|body: ResetBody| {
            let (keys, more) = self.with(|_, rows, _| rows.meant(&body))?;
            let count = keys.len() as u64;
            self.answered(ShardCall::Reset(keys))?;
            Ok(ResetReply {
                v: body.v,
                keys: count,
                more,
            })
        });
        if answer.is_err() {
            self.forget();
        }
        arrived.answer(answer)
    }

    /// The alarm: holds lapse, what has expired is removed.
    pub(super) async fn alarm(&self) {
        self.alarm.rang();
        let expired = self.run(Event::Woke);
        let purged = expired.and_then(|_| self.with(|_, rows, now| rows.purge(now)));
        if let Err(refused) = purged {
            console_error!("alarm: {}", refused.0);
            self.forget();
        }
        self.arm().await;
    }

    fn with<R>(
        &self,
        step: impl FnOnce(&mut ShardNode<()>, &mut KeyRows<'_>, EpochMs) -> Result<R, Refused>,
    ) -> Result<R, Refused> {
        let mut memory = self.memory.try_borrow_mut()?;
        let (node, mut rows, now) = self.awake(&mut memory)?;
        step(node, &mut rows, now)
    }

    fn awake<'a>(
        &'a self,
        memory: &'a mut Memory,
    ) -> Result<(&'a mut ShardNode<()>, KeyRows<'a>, EpochMs), Refused> {
        let now = memory.clock.read(EpochMs(Date::now().as_millis()));
        let rows = KeyRows::new(&self.database, &mut memory.table, now);
        let node = match &mut memory.node {
            Some(node) => node,
            asleep => {
                let shard = Shard::wake(rows.holds()?).with_resets(rows.resets()?);
                asleep.insert(ShardNode::new(shard))
            }
        };
        Ok((node, rows, now))
    }

    fn forget(&self) {
        if let Ok(mut memory) = self.memory.try_borrow_mut() {
            memory.node = None;
            memory.table = Table::default();
        }
    }

    /// Sets the alarm, a minute ahead, while rows are kept that will expire. A hold that lapses before is seen by the
    /// next event.
    async fn arm(&self) {
        let memory = self.memory.try_borrow();
        if memory.is_ok_and(|memory| !memory.table.is_empty()) {
            self.alarm.set(PURGE_MS).await;
        }
    }
}

/// What a call asks; `None` where it is not one of keys.
fn ask(arrived: &Arrived) -> Option<Result<ShardCall, Refused>> {
    Some(if arrived.is::<DecideBody>() {
        arrived.parse().map(ShardCall::Decide)
    } else if arrived.is::<FinishBody>() {
        arrived.parse().map(ShardCall::Finish)
    } else if arrived.is::<SettleKeysBody>() {
        arrived.parse().map(ShardCall::Settle)
    } else if arrived.is::<ShapeBody>() {
        arrived.parse().map(ShardCall::Shape)
    } else if arrived.is::<GuardBody>() {
        arrived.parse().map(ShardCall::Guard)
    } else {
        return None;
    })
}

/// An answer as it travels.
fn text(reply: &Reply) -> Result<String, Refused> {
    Ok(match reply {
        Reply::Decide(reply) => serde_json::to_string(reply)?,
        Reply::Finish(reply) => serde_json::to_string(reply)?,
        Reply::Settle(result) => serde_json::to_string(result)?,
        Reply::Shape(reply) => serde_json::to_string(reply)?,
        Reply::Guard(reply) => serde_json::to_string(reply)?,
        Reply::Reset(keys) => serde_json::to_string(keys)?,
    })
}

fn written(rows: &mut KeyRows<'_>, puts: &[Put]) -> Event<()> {
    match rows.write(puts) {
        Ok(()) => Event::Persisted,
        Err(refused) => {
            console_error!("keys: {}", refused.0);
            Event::NotPersisted
        }
    }
}
