//! Runs the nodes of the region's pools: carries out what they say, in the order in which they say it.

use std::collections::VecDeque;
use std::rc::Rc;

use futures_channel::oneshot;
use weir_shared::federation::pool_name::PoolName;
use weir_shared::federation::stored::StoredEscrow;
use weir_shared::limiting::key::shard;
use weir_shared::limits::COORDINATOR_CALL_MS_MAX;
use weir_shared::node::escrow::{EscrowNode, Event};
use weir_shared::node::{Effect, LendAnswer};
use weir_shared::units::EpochMs;
use weir_shared::wire::exchange::ExchangeBody;
use weir_shared::wire::shard_key::ShardKey;
use worker::console_error;

use super::{Core, Machine, escrow_rows};
use crate::objects::binding::{Address, call};
use crate::objects::server::Refused;
use crate::objects::trace;

/// Who is answered by a node: the number of a message that arrived in this life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Caller(u64);

/// Takes the answer to one message; nothing when what it rests on could not be written.
pub(super) type Answered = oneshot::Receiver<Option<LendAnswer>>;

/// A message whose answer is awaited; when this goes out of scope, nobody waits for it any more.
pub(super) struct Awaited<'a> {
    core: &'a Rc<Core>,
    pool: String,
    pub(super) caller: Caller,
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        let known = self
            .core
            .with(|machine, _| machine.callers.remove(&self.caller));
        if !matches!(known, Ok(Some(_))) {
            return;
        }
        let left = Event::Left {
            caller: self.caller,
        };
        // A node that is gone has nobody waiting either.
        let _gone = self.core.run_escrow(&self.pool, left);
    }
}

impl Machine {
    pub(super) fn next_caller(&mut self) -> Caller {
        self.calls += 1;
        Caller(self.calls)
    }
}

impl Core {
    /// Expects an answer of the node of a pool.
    pub(super) fn expect_answer(
        self: &Rc<Self>,
        pool: &str,
    ) -> Result<(Awaited<'_>, Answered), Refused> {
        let (sender, receiver) = oneshot::channel();
        let caller = self.with(|machine, _| {
            let caller = machine.next_caller();
            machine.callers.insert(caller, sender);
            caller
        })?;
        let awaited = Awaited {
            core: self,
            pool: pool.to_owned(),
            caller,
        };
        Ok((awaited, receiver))
    }

    /// Lets the node of a pool take an event, and does what it says until nothing is left to do.
    pub(super) fn run_escrow(
        self: &Rc<Self>,
        pool: &str,
        event: Event<Caller>,
    ) -> Result<(), Refused> {
        let step = |event| self.with_escrow(pool, |node, now| node.step(event, now));
        let mut effects = VecDeque::from(step(event)?);
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Persist(row) => effects.extend(step(self.write_escrow(pool, &row))?),
                Effect::Send(body) => self.send_above(*body),
                Effect::Reply(caller, answer) => self.answer(caller, Some(answer))?,
                Effect::Fail(caller) => self.answer(caller, None)?,
                // Whoever awaits an answer wakes the node when it is late.
                Effect::WakeAt(_) => {}
            }
        }
        Ok(())
    }

    fn write_escrow(&self, pool: &str, row: &StoredEscrow) -> Event<Caller> {
        let written = escrow_rows::statement(pool, row)
            .and_then(|(statement, values)| self.database.run(statement, values));
        match written {
            Ok(()) => Event::Persisted,
            Err(refused) => {
                console_error!("escrow of {pool}: {}", refused.0);
                Event::NotPersisted
            }
        }
    }

    fn answer(&self, caller: Caller, answer: Option<LendAnswer>) -> Result<(), Refused> {
        let sender = self.with(|machine, _| machine.callers.remove(&caller))?;
        // One that is gone has stopped waiting.
        let _gone = sender.map(|sender| sender.send(answer));
        Ok(())
    }

    /// Sends a message to what is above, the coordinator but for a branch; the node hears what comes of it.
    fn send_above(self: &Rc<Self>, body: ExchangeBody) {
        if matches!(self.with(|machine, _| machine.is_branch()), Ok(true)) {
            return self.send_to_object_above(body);
        }
        let core = Rc::clone(self);
        self.state.wait_until(trace::carried(Box::pin(async move {
            let pool = body.budget.as_str();
            let answered = Event::Answered {
                sequence: body.sequence,
                answer: core.exchange_above(&body).await,
            };
            if let Err(refused) = core.run_escrow(pool, answered) {
                console_error!("escrow of {pool}: {}", refused.0);
            }
        })));
    }

    async fn exchange_above(&self, body: &ExchangeBody) -> Option<LendAnswer> {
        let pool = body.budget.as_str();
        let known = self.with(|machine, _| {
            let saved = machine.rules.policy()?;
            Some((saved.policy.home.clone(), saved.saved.placement))
        });
        // A message is made under a policy.
        let (home, secret) = known.ok().flatten()?;
        let coordinator = coordinator_name(pool, secret);
        let address = Address::coordinator(&coordinator, &home);
        match call(&self.env, address, body, COORDINATOR_CALL_MS_MAX).await {
            Ok(answer) => {
                let answer = LendAnswer::from(answer);
                if let Err(refusal) = &answer {
                    console_error!("the coordinator of {pool} refused: {refusal:?}");
                }
                Some(answer)
            }
            Err(error) => {
                console_error!("coordinator of {pool}: {error}");
                None
            }
        }
    }

    pub(super) fn with_escrow<R>(
        &self,
        pool: &str,
        step: impl FnOnce(&mut EscrowNode<Caller>, EpochMs) -> R,
    ) -> Result<R, Refused> {
        self.with(|machine, now| {
            let node = machine.escrows.get_mut(pool);
            node.map(|node| step(node, now))
        })?
        .ok_or_else(|| Refused(format!("no escrow of {pool}")))
    }
}

/// The coordinator that has a pool: a budget's own, or one of the shards over which a global limit spreads its keys.
fn coordinator_name(pool: &str, secret: Option<ShardKey>) -> String {
    match PoolName::try_from(pool) {
        Ok(PoolName::Limit { limit, key }) => format!("{limit}/{}", shard(&key, secret)),
        _ => pool.to_owned(),
    }
}
