//! Pools that are the region's own: budgets of scope `region`, and its slice of a static partition. It opens their
//! windows and lends the whole of them to isolates, as a coordinator does to regions.

use weir_shared::federation::handover::Handover;
use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::stored::StoredPool;
use weir_shared::node::pool::{Event, PoolNode};
use weir_shared::node::{LendAnswer, Refund, Spent};
use weir_shared::units::EpochMs;
use weir_shared::wire::exchange::Terms;
use weir_shared::wire::windows::{ClosedBody, ClosedReply};
use worker::Date;

use super::Core;
use crate::objects::pool_rows;
use crate::objects::server::Refused;
use crate::objects::storage::{Statement, number};

/// What writes the row of a pool.
///
/// # Errors
/// When the row is no JSON.
pub(super) fn statement(name: &str, row: &StoredPool) -> Result<Statement, Refused> {
    let statement = "INSERT INTO pools (name, label, body) VALUES (?, ?, ?) \
         ON CONFLICT (name) DO UPDATE SET label = excluded.label, body = excluded.body";
    let body = serde_json::to_string(row)?;
    Ok((
        statement,
        vec![name.into(), number(row.label.0), body.into()],
    ))
}

impl Core {
    /// One message of an isolate.
    pub(super) fn lend_own(
        &self,
        message: Message,
        terms: Terms,
        handover: Option<Handover>,
    ) -> Result<LendAnswer, Refused> {
        let name = message.budget.clone();
        self.load_own(&name, &terms)?;
        self.run_own(&name, Event::Amend { terms, handover })?;
        let caller = ();
        let answer = self.run_own(&name, Event::Exchange { caller, message })?;
        answer.ok_or_else(|| Refused(format!("pool {name} gave no answer")))
    }

    /// Takes spent units back.
    pub(super) fn refund_own(
        &self,
        name: &str,
        terms: &Terms,
        spent: Spent<'_>,
    ) -> Result<Option<Refund<StoredPool>>, Refused> {
        self.load_own(name, terms)?;
        self.with_own(name, |node, now| node.refund(spent, now))
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

    pub(super) fn run_own(
        &self,
        name: &str,
        event: Event<()>,
    ) -> Result<Option<LendAnswer>, Refused> {
        self.with_own(name, |node, now| {
            pool_rows::run(node, event, now, |row| {
                let (statement, values) = statement(name, row)?;
                self.database.run(statement, values)
            })
        })?
    }

    /// The clock as it is: a step back is the window's own rule.
    fn with_own<R>(
        &self,
        name: &str,
        step: impl FnOnce(&mut PoolNode<()>, EpochMs) -> R,
    ) -> Result<R, Refused> {
        let now = EpochMs(Date::now().as_millis());
        self.with(|machine, _| machine.own.get_mut(name).map(|node| step(node, now)))?
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
            machine.own.insert(name.to_owned(), PoolNode::new(pool));
        })
    }
}
