//! A shard of keys: an object of its own that runs a [`Shard`] on its rows. Those of a region are objects of the class
//! `Region`, those of the whole deployment of the class `Coordinator`.

mod rows;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use serde::Serialize;
use weir_shared::clock::MonotonicClock;
use weir_shared::invalid::Invalid;
use weir_shared::limiting::messages::{
    DecideBody, FinishBody, GuardBody, ResetBody, ResetReply, SettleKeysBody, ShapeBody,
};
use weir_shared::limiting::rows::Put;
use weir_shared::limiting::shard::Shard;
use weir_shared::limits::PURGE_MS;
use weir_shared::units::EpochMs;
use worker::{Date, Response, State, console_error};

use crate::objects::binding::Call;
use crate::objects::server::{Arrived, Refused};
use crate::objects::storage::Database;
use rows::{KeyRows, Table};

pub(super) use rows::SCHEMA;

/// A shard of keys.
pub(super) struct Keys {
    state: Rc<State>,
    database: Database,
    memory: RefCell<Memory>,
}

#[derive(Default)]
struct Memory {
    clock: MonotonicClock,
    shard: Option<Shard>,
    table: Table,
    armed: bool,
}

impl Keys {
    pub(super) fn new(state: Rc<State>, database: Database) -> Self {
        Self {
            state,
            database,
            memory: RefCell::default(),
        }
    }

    /// Answers a call that is for keys; `None` for any other.
    pub(super) async fn answer(&self, arrived: &Arrived) -> Option<worker::Result<Response>> {
        if arrived.is::<ResetBody>() {
            return Some(self.reset(arrived));
        }
        let answer = self.event(arrived)?;
        if answer.is_ok() {
            self.arm().await;
        } else {
            // What is in memory may be ahead of what is written.
            self.forget();
        }
        Some(arrived.answer_text(answer))
    }

    /// One event: decide, write in one statement; `None` where it is not one of keys.
    fn event(&self, arrived: &Arrived) -> Option<Result<String, Refused>> {
        Some(if arrived.is::<DecideBody>() {
            self.step(arrived, |shard, body: DecideBody, rows, now| {
                shard.decide(&body, rows, now)
            })
        } else if arrived.is::<FinishBody>() {
            self.step(arrived, |shard, body: FinishBody, rows, now| {
                Ok(shard.finish(body, rows, now))
            })
        } else if arrived.is::<SettleKeysBody>() {
            self.step(arrived, |shard, body: SettleKeysBody, rows, now| {
                shard.settle(&body, rows, now)
            })
        } else if arrived.is::<ShapeBody>() {
            self.step(arrived, |shard, body: ShapeBody, rows, now| {
                shard.shape(&body, rows, now)
            })
        } else if arrived.is::<GuardBody>() {
            self.step(arrived, |shard, body: GuardBody, rows, now| {
                shard.guard(&body, rows, now)
            })
        } else {
            return None;
        })
    }

    fn step<C: Call, R: Serialize>(
        &self,
        arrived: &Arrived,
        step: impl FnOnce(&mut Shard, C, &mut KeyRows<'_>, EpochMs) -> Result<(R, Vec<Put>), Invalid>,
    ) -> Result<String, Refused> {
        let body: C = arrived.parse()?;
        self.with(|shard, rows, now| {
            let (reply, puts) = step(shard, body, rows, now)?;
            rows.write(&puts)?;
            Ok(serde_json::to_string(&reply)?)
        })
    }

    /// Puts keys back to their start: drops their states, and remembers since when what comes back is void.
    fn reset(&self, arrived: &Arrived) -> worker::Result<Response> {
        let answer = arrived.parse().and_then(|body: ResetBody| {
            self.with(|shard, rows, now| {
                let (keys, more) = rows.meant(&body)?;
                let puts = shard.reset(&keys, now);
                rows.remove(&keys)?;
                rows.write(&puts)?;
                Ok(ResetReply {
                    v: body.v,
                    keys: keys.len() as u64,
                    more,
                })
            })
        });
        if answer.is_err() {
            self.forget();
        }
        arrived.answer(answer)
    }

    /// The alarm: holds lapse, what has expired is removed.
    pub(super) async fn alarm(&self) {
        self.set_armed(false);
        let expired = self.with(|shard, rows, now| {
            let puts = shard.expire(rows, now);
            rows.write(&puts)?;
            rows.purge(now)
        });
        if let Err(refused) = expired {
            console_error!("alarm: {}", refused.0);
            self.forget();
        }
        self.arm().await;
    }

    fn with<R>(
        &self,
        step: impl FnOnce(&mut Shard, &mut KeyRows<'_>, EpochMs) -> Result<R, Refused>,
    ) -> Result<R, Refused> {
        let mut memory = self.memory.try_borrow_mut()?;
        let (shard, mut rows, now) = self.awake(&mut memory)?;
        step(shard, &mut rows, now)
    }

    fn awake<'a>(
        &'a self,
        memory: &'a mut Memory,
    ) -> Result<(&'a mut Shard, KeyRows<'a>, EpochMs), Refused> {
        let now = memory.clock.read(EpochMs(Date::now().as_millis()));
        let rows = KeyRows::new(&self.database, &mut memory.table, now);
        let shard = match &mut memory.shard {
            Some(shard) => shard,
            asleep => asleep.insert(Shard::wake(rows.holds()?).with_resets(rows.resets()?)),
        };
        Ok((shard, rows, now))
    }

    fn forget(&self) {
        if let Ok(mut memory) = self.memory.try_borrow_mut() {
            memory.shard = None;
            memory.table = Table::default();
        }
    }

    /// Sets the alarm, a minute ahead, while rows are kept that will expire. A hold that lapses before is seen by the
    /// next event.
    async fn arm(&self) {
        if !self.claim_alarm().unwrap_or(false) {
            return;
        }
        let offset = Duration::from_millis(PURGE_MS);
        if let Err(error) = self.state.storage().set_alarm(offset).await {
            console_error!("alarm: {error}");
            self.set_armed(false);
        }
    }

    fn claim_alarm(&self) -> Result<bool, Refused> {
        let mut memory = self.memory.try_borrow_mut()?;
        let claimed = !memory.armed && !memory.table.is_empty();
        memory.armed |= claimed;
        Ok(claimed)
    }

    fn set_armed(&self, armed: bool) {
        if let Ok(mut memory) = self.memory.try_borrow_mut() {
            memory.armed = armed;
        }
    }
}
