//! Pools that are the region's own: budgets of scope `region`, and its slice of a static partition. It opens their
//! windows and lends the whole of them to isolates, as a coordinator does to regions.

use weir_shared::federation::handover::Handover;
use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::units::{EpochMs, WindowLabel};
use weir_shared::wire::exchange::{ExchangeAnswer, Terms};
use weir_shared::wire::windows::{ClosedBody, ClosedReply};
use worker::Date;

use super::Core;
use crate::objects::pool_rows;
use crate::objects::server::Refused;
use crate::objects::storage::number;

impl Core {
    /// One message of an isolate: decide, make durable what the reply depends on, reply.
    pub(super) fn lend_own(
        &self,
        message: &Message,
        terms: &Terms,
        handover: Option<Handover>,
    ) -> Result<ExchangeAnswer, Refused> {
        let name = &message.budget;
        self.load_own(name, terms)?;
        let answer = self.with_own(name, |pool, now| {
            pool.amend(terms);
            pool.hold_to(handover);
            pool.exchange(message, now)
        })?;
        self.store_own(name)?;
        Ok(match answer {
            Ok(reply) => ExchangeAnswer::Reply(reply),
            Err(refusal) => ExchangeAnswer::Refused(refusal),
        })
    }

    /// Takes back units that were spent of a window; none when it is over.
    pub(super) fn refund_own(
        &self,
        name: &str,
        (label, tenant): (WindowLabel, &str),
        units: u64,
    ) -> Result<u64, Refused> {
        let known = self.with(|machine, _| machine.own.contains_key(name))?;
        if !known {
            return Ok(0);
        }
        let taken = self.with_own(name, |pool, now| pool.refund(label, tenant, units, now))?;
        self.store_own(name)?;
        Ok(taken)
    }

    /// What was lent in windows of the region's own that are over.
    pub(super) fn closed(&self, body: &ClosedBody) -> Result<ClosedReply, Refused> {
        let now = EpochMs(Date::now().as_millis());
        let machine = self.machine.try_borrow()?;
        let own = machine
            .as_ref()
            .and_then(|machine| machine.own.get(&body.budget));
        pool_rows::closed(&self.database, own, body, now)
    }

    /// The clock as it is: a step back is the window's own rule.
    fn with_own<R>(
        &self,
        name: &str,
        step: impl FnOnce(&mut Pool, EpochMs) -> R,
    ) -> Result<R, Refused> {
        let now = EpochMs(Date::now().as_millis());
        self.with(|machine, _| machine.own.get_mut(name).map(|pool| step(pool, now)))?
            .ok_or_else(|| Refused(format!("no pool {name}")))
    }

    /// Wakes a pool, once a life.
    fn load_own(&self, name: &str, terms: &Terms) -> Result<(), Refused> {
        if self.with(|machine, _| machine.own.contains_key(name))? {
            return Ok(());
        }
        let now = EpochMs(Date::now().as_millis());
        let pool = match pool_rows::read(&self.database, name)? {
            None => Pool::open(terms.clone(), now),
            Some(row) => pool_rows::wake(name, row, |label| {
                Ok(Pool::damaged(label, terms.clone(), now))
            })?,
        };
        self.with(|machine, _| {
            machine.own.insert(name.to_owned(), pool);
        })
    }

    fn store_own(&self, name: &str) -> Result<(), Refused> {
        let Some(row) = self.with_own(name, |pool, _| pool.due())? else {
            return Ok(());
        };
        let statement = "INSERT INTO pools (name, label, body) VALUES (?, ?, ?) \
             ON CONFLICT (name) DO UPDATE SET label = excluded.label, body = excluded.body";
        let body = serde_json::to_string(&row)?;
        let values = vec![name.into(), number(row.label.0), body.into()];
        self.database.run(statement, values)?;
        self.with_own(name, |pool, _| pool.stored(&row))
    }
}
