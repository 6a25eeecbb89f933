//! Lending to isolates, and borrowing from coordinators when the region is short.

use std::rc::Rc;

use futures_util::future::join_all;
use weir_shared::contact::{ContactBody, ContactReply};
use weir_shared::federation::escrow::{Escrow, Tickets};
use weir_shared::federation::holder::Outlook;
use weir_shared::federation::message::Message;
use weir_shared::federation::pool_name::PoolName;
use weir_shared::federation::stored::StoredEscrow;
use weir_shared::json;
use weir_shared::limiting::key::shard;
use weir_shared::limiting::owner::Account;
use weir_shared::limits::{
    CALL_MS_MAX, CLOCK_STEP_MS_MAX, CONTACT_MS_MIN, COORDINATOR_CALL_MS_MAX, PURGE_MS,
};
use weir_shared::units::{EpochMs, HolderId, Incarnation, Sequence};
use weir_shared::wire::exchange::{ExchangeAnswer, ExchangeBody, Refusal, Terms};
use weir_shared::wire::shard_key::ShardKey;
use weir_shared::wire::stored::read_row;
use worker::console_error;

use super::policy::Loaded;
use super::{Core, Flight};
use crate::objects::binding::{Address, call};
use crate::objects::deadline::within;
use crate::objects::server::Refused;
use crate::objects::storage::{number, report_damaged, text, wrong_type};

impl Core {
    /// An isolate's contact.
    pub(super) async fn contact(
        self: &Rc<Self>,
        call: ContactBody,
    ) -> Result<ContactReply, Refused> {
        self.wake(&call.region)?;
        // First, so that a question to the registry takes them along.
        self.with(|machine, now| {
            machine.heard_at = Some(now);
            machine.note_uses(&call.tokens_used);
        })?;
        let wanted = call.token_wanted.as_deref();
        let loaded = self.policy(&call.region, wanted).await?;
        let frame = match &call.frame {
            Some(frame) => Some(self.receive(frame)?),
            None => None,
        };
        let (nobody, accounts) = (Account::default(), call.accounts);
        let lending = call.exchanges.into_iter().map(|body| {
            let account = accounts.get(&body.budget).unwrap_or(&nobody);
            self.lend(body, account, &loaded)
        });
        let exchanges: Result<Vec<_>, _> = join_all(lending).await.into_iter().collect();
        let exchanges = exchanges?;
        let shares = call.overload.as_ref();
        let overload = shares.map(|shares| self.take_shares(shares)).transpose()?;
        self.tend()?;
        let next_contact_ms = self.with(|machine, now| {
            let escrows = machine.escrows.values();
            let contacts = escrows.map(|escrow| escrow.next_contact_ms(now));
            let own = machine.own.values().map(|pool| pool.next_contact_ms(now));
            contacts.chain(own).max().unwrap_or(CONTACT_MS_MIN)
        })?;
        let access = self.with(|machine, _| machine.access_beyond(call.access_revision))?;
        let access = access.map(|access| json::to_value(access.as_ref()));
        let older = call.revision < loaded.saved.revision;
        let policy = older.then(|| json::to_value(loaded.saved.as_ref()));
        Ok(ContactReply {
            policy: policy.transpose()?,
            exchanges,
            frame,
            next_contact_ms,
            access: access.transpose()?,
            overload,
        })
    }

    /// One message: asks the coordinator while the region is short of what waits behind it, then answers from what
    /// is held.
    pub(super) async fn lend(
        self: &Rc<Self>,
        body: ExchangeBody,
        account: &Account,
        loaded: &Loaded,
    ) -> Result<ExchangeAnswer, Refused> {
        let message = match Message::try_from(body) {
            Ok(message) => message,
            Err(refusal) => return Ok(ExchangeAnswer::Refused(refusal)),
        };
        let revision = loaded.saved.revision;
        let name = self.with(|machine, _| machine.name.clone())?;
        let Some(terms) = loaded.policy.terms(&message.budget, &name, revision) else {
            return Ok(ExchangeAnswer::Refused(Refusal::UnknownBudget));
        };
        if loaded.policy.region_owns(&message.budget) {
            let handover = loaded.handover(&message.budget, &name);
            return self.lend_own(&message, &terms, handover);
        }
        if !self.load_escrow(&message.budget, account)? {
            return Ok(ExchangeAnswer::Refused(Refusal::NoRoom));
        }
        let outage = !self.fill(&message, &terms, &loaded.policy.home).await?;
        let answer = self.with_escrow(&message.budget, |escrow, now| {
            escrow.exchange(&message, outage, now)
        })?;
        self.store_escrow(&message.budget)?;
        let wanting = self.with_escrow(&message.budget, |escrow, now| escrow.wants_contact(now))?;
        if wanting {
            // Nobody waits for it.
            let _landing = self.borrow_more(&message.budget, &terms, &loaded.policy.home)?;
        }
        Ok(match answer {
            Ok(reply) => ExchangeAnswer::Reply(reply),
            Err(refusal) => ExchangeAnswer::Refused(refusal),
        })
    }

    /// Borrows until the requests behind `message` are covered or the coordinator has no more. False when the
    /// coordinator did not answer.
    async fn fill(
        self: &Rc<Self>,
        message: &Message,
        terms: &Terms,
        home: &str,
    ) -> Result<bool, Refused> {
        let budget = &message.budget;
        let mut waiting = Waiting {
            core: self,
            message,
            tickets: Tickets::new(),
        };
        let started = self.with(|_, now| now)?;
        loop {
            let (outlook, now) = self.with_escrow(budget, |escrow, now| {
                escrow.advance(now);
                (escrow.outlook(message, &waiting.tickets, now), now)
            })?;
            if outlook != Outlook::Short {
                return Ok(outlook != Outlook::Unknown);
            }
            if now.since(started) >= COORDINATOR_CALL_MS_MAX || !waiting.register()? {
                return Ok(false);
            }
            let landing = self.borrow_more(budget, terms, home)?;
            let landed = within(CALL_MS_MAX, landing).await;
            if !matches!(landed, Some(Ok(true))) {
                return Ok(false);
            }
        }
    }

    /// Sends the next message to the coordinator unless one is in flight; the flight lands with its answer.
    pub(super) fn borrow_more(
        self: &Rc<Self>,
        budget: &str,
        terms: &Terms,
        home: &str,
    ) -> Result<futures_channel::oneshot::Receiver<bool>, Refused> {
        let flight = Flight::Pool(budget.to_owned());
        let landing = self.join(flight.clone())?;
        let Some(body) =
            self.with_escrow(budget, |escrow, now| escrow.begin(terms.clone(), now))?
        else {
            return Ok(landing);
        };
        // What the message returns must not be held any more when this object wakes again.
        if let Err(refused) = self.store_escrow(budget) {
            self.with_escrow(budget, |escrow, _| escrow.fail(body.sequence))?;
            self.land(&flight, false);
            return Err(refused);
        }
        let core = Rc::clone(self);
        let home = home.to_owned();
        self.state.wait_until(async move {
            let well = core.exchange_above(&body, &home).await;
            core.land(&flight, well);
        });
        Ok(landing)
    }

    async fn exchange_above(self: &Rc<Self>, body: &ExchangeBody, home: &str) -> bool {
        let budget = &body.budget;
        let secret = self.with(|machine, _| machine.policy.as_ref()?.saved.placement);
        let coordinator = coordinator_name(budget, secret.unwrap_or_default());
        let address = Address::coordinator(&coordinator, home);
        let answer = call(&self.env, address, body, COORDINATOR_CALL_MS_MAX).await;
        let credited = self.with_escrow(budget, |escrow, now| match &answer {
            Ok(ExchangeAnswer::Reply(reply)) => escrow.finish(reply, now),
            Ok(ExchangeAnswer::Refused(refusal)) => refuse(escrow, body.sequence, refusal),
            Err(_) => {
                escrow.fail(body.sequence);
                false
            }
        });
        if let Err(error) = &answer {
            console_error!("coordinator of {budget}: {error}");
        }
        let stored = self.store_escrow(budget);
        if let Err(refused) = &stored {
            console_error!("escrow of {budget}: {}", refused.0);
        }
        stored.is_ok() && credited.unwrap_or(false)
    }

    pub(super) fn with_escrow<R>(
        &self,
        budget: &str,
        step: impl FnOnce(&mut Escrow, EpochMs) -> R,
    ) -> Result<R, Refused> {
        self.with(|machine, now| {
            let escrow = machine.escrows.get_mut(budget);
            escrow.map(|escrow| step(escrow, now))
        })?
        .ok_or_else(|| Refused(format!("no escrow of {budget}")))
    }

    /// Makes durable what a reply or a message depends on, before it leaves.
    pub(super) fn store_escrow(&self, budget: &str) -> Result<(), Refused> {
        let Some(row) = self.with_escrow(budget, |escrow, _| escrow.due())? else {
            return Ok(());
        };
        // A row that is there stays where it is: one that is replaced is written twice, with its index.
        let statement = "INSERT INTO escrows (pool, ends_at, body) VALUES (?, ?, ?) \
             ON CONFLICT (pool) DO UPDATE SET ends_at = excluded.ends_at, body = excluded.body";
        let body = serde_json::to_string(&row)?;
        let values = vec![budget.into(), number(row.ends_at.0), body.into()];
        self.database.run(statement, values)?;
        self.with_escrow(budget, |escrow, _| escrow.stored(row))
    }

    /// Wakes the escrow of a pool of the policy, once a life, or makes it. False when there is no room for another on that
    /// account.
    pub(super) fn load_escrow(&self, budget: &str, account: &Account) -> Result<bool, Refused> {
        self.escrow(budget, account, true)
    }

    /// The same of one that there is; false for one of which nothing is known, too.
    pub(super) fn known_escrow(&self, budget: &str, account: &Account) -> Result<bool, Refused> {
        self.escrow(budget, account, false)
    }

    fn escrow(&self, budget: &str, account: &Account, makes: bool) -> Result<bool, Refused> {
        if self.with(|machine, _| machine.escrows.contains_key(budget))? {
            return Ok(true);
        }
        self.drop_idle()?;
        if !self.with(|machine, _| machine.roll.admits(budget, account))? {
            return Ok(false);
        }
        let stored = self.stored_escrow(budget);
        self.with(|machine, _| {
            let stored = match stored {
                Ok(Some(stored)) => Some(stored),
                Ok(None) if makes => None,
                // What is not kept takes no room.
                nothing => {
                    machine.roll.release(budget);
                    return nothing.map(|_| false);
                }
            };
            let id = HolderId::of_name(&machine.name);
            let escrow = Escrow::wake(budget.to_owned(), id, machine.escrow_life, stored);
            machine.escrows.insert(budget.to_owned(), escrow);
            Ok(true)
        })?
    }

    /// What is stored of an escrow, as far as it can be read.
    fn stored_escrow(&self, budget: &str) -> Result<Option<StoredEscrow>, Refused> {
        let query = "SELECT body FROM escrows WHERE pool = ?";
        let row = self.database.first(query, vec![budget.into()])?;
        Ok(row.and_then(|row| {
            let body = text(row.first()).ok_or_else(|| wrong_type("body"));
            match body.and_then(read_row::<StoredEscrow>) {
                Ok(stored) => Some(stored),
                Err(damaged) => {
                    report_damaged(&format!("escrow of {budget}"), &damaged);
                    None
                }
            }
        }))
    }

    /// Drops the escrows of keys that nobody asks for any more, once a minute at most. One that comes back is another
    /// life: its first message must not be taken for one of the life before.
    fn drop_idle(&self) -> Result<(), Refused> {
        let dropped_at = self.with(|machine, now| {
            if now.since(machine.purged_at) < PURGE_MS {
                return None;
            }
            machine.purged_at = now;
            machine.escrow_life = Incarnation(machine.escrow_life.0 + 1);
            machine.escrows.retain(|_, escrow| !escrow.idle(now));
            let escrows = &machine.escrows;
            machine.roll.retain(|pool| escrows.contains_key(pool));
            Some(now)
        })?;
        let Some(now) = dropped_at else {
            return Ok(());
        };
        // A row of a window that is long over says nothing that a wake would need.
        let over = now.0.saturating_sub(CLOCK_STEP_MS_MAX);
        let values = vec![number(over)];
        self.database
            .run("DELETE FROM escrows WHERE ends_at <= ?", values)
    }
}

/// The coordinator that has a pool: a budget's own, or one of the shards over which a global limit spreads its keys.
fn coordinator_name(pool: &str, secret: Option<ShardKey>) -> String {
    match PoolName::try_from(pool) {
        Ok(PoolName::Limit { limit, key }) => format!("{limit}/{}", shard(&key, secret)),
        _ => pool.to_owned(),
    }
}

fn refuse(escrow: &mut Escrow, sequence: Sequence, refusal: &Refusal) -> bool {
    console_error!("the coordinator refused: {refusal:?}");
    escrow.refused(sequence, refusal);
    false
}

/// Requests that wait for the coordinator; taken off again when this goes out of scope, whatever ends the wait.
struct Waiting<'a> {
    core: &'a Core,
    message: &'a Message,
    tickets: Tickets,
}

impl Waiting<'_> {
    /// Takes tickets for the next message, unless those in hand have not been answered yet.
    fn register(&mut self) -> Result<bool, Refused> {
        let (message, tickets) = (self.message, std::mem::take(&mut self.tickets));
        let wait = |escrow: &mut Escrow, now| escrow.wait_on(tickets, message, now);
        let registered = self.core.with_escrow(&message.budget, wait)?;
        let room = registered.is_some();
        self.tickets = registered.unwrap_or_default();
        Ok(room)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let tickets = &self.tickets;
        let unwait = |escrow: &mut Escrow, _| escrow.unwait(tickets);
        // An escrow that is gone has no waiters either.
        let _gone = self.core.with_escrow(&self.message.budget, unwait);
    }
}
