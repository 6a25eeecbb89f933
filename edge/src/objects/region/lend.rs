//! What isolates and branches ask of the object above them: units of pools, and everything that travels with that.

use std::rc::Rc;

use futures_util::future::join_all;
use weir_shared::contact::{ContactBody, ContactReply};
use weir_shared::federation::message::Message;
use weir_shared::json;
use weir_shared::limiting::owner::Account;
use weir_shared::limits::{CALL_MS_MAX, CONTACT_MS_MIN};
use weir_shared::node::rules::PolicyInForce;
use weir_shared::node::{LendAnswer, escrow};
use weir_shared::wire::exchange::{ExchangeAnswer, ExchangeBody, Refusal, Terms};

use super::Core;
use crate::objects::deadline::within;
use crate::objects::server::Refused;

impl Core {
    /// A contact of an isolate, or of a branch below.
    pub(super) async fn contact(
        self: &Rc<Self>,
        call: ContactBody,
    ) -> Result<ContactReply, Refused> {
        self.wake(&call.region)?;
        // First, so that a question to the registry takes them along.
        self.with(|machine, now| {
            machine.heard_at = Some(now);
            if let Some(speaker) = call.speaker {
                machine.heard.note(speaker.holder, speaker.isolates, now);
            }
            machine.rules.note_uses(&call.tokens_used);
        })?;
        let wanted = call.token_wanted.as_deref();
        let loaded = self.policy(&call.region, wanted).await?;
        let frame = match &call.frame {
            Some(frame) => Some(self.receive(frame)?),
            None => None,
        };
        let (nobody, accounts) = (Account::default(), call.accounts);
        let isolates: Vec<_> = call
            .exchanges
            .iter()
            .map(|body| (body.budget.clone(), body.holder))
            .collect();
        let lending = call.exchanges.into_iter().map(|body| {
            let account = accounts.get(&body.budget).unwrap_or(&nobody);
            self.lend(body, account, &loaded)
        });
        let exchanges: Result<Vec<_>, _> = join_all(lending).await.into_iter().collect();
        let exchanges = exchanges?;
        self.with(|machine, now| {
            for ((pool, isolate), answer) in isolates.iter().zip(&exchanges) {
                if let ExchangeAnswer::Reply(reply) = answer {
                    machine.note_held(pool, *isolate, reply, now);
                }
            }
        })?;
        let shares = call.overload.as_ref();
        let overload = shares.map(|shares| self.take_shares(shares)).transpose()?;
        self.schedule_flush()?;
        let next_contact_ms = self.with(|machine, now| {
            let nodes = machine.escrows.values();
            let contacts = nodes.map(|node| node.escrow().next_contact_ms(now));
            let own = machine.own.values();
            let own = own.map(|node| node.pool().next_contact_ms(now));
            contacts.chain(own).max().unwrap_or(CONTACT_MS_MIN)
        })?;
        let access = self.with(|machine, _| machine.rules.access_beyond(call.access_revision))?;
        let access = access.map(|access| json::to_value(access.as_ref()));
        let branches = self.with(|machine, _| machine.branches.number())?;
        let older = call.revision < loaded.saved.revision;
        let policy = older.then(|| json::to_value(loaded.saved.as_ref()));
        Ok(ContactReply {
            policy: policy.transpose()?,
            exchanges,
            frame,
            next_contact_ms,
            access: access.transpose()?,
            overload,
            branches: call.speaker.and(branches),
        })
    }

    /// One message: from what is held here, once what is above was asked where that is short of what waits behind it.
    pub(super) async fn lend(
        self: &Rc<Self>,
        body: ExchangeBody,
        account: &Account,
        loaded: &PolicyInForce,
    ) -> Result<ExchangeAnswer, Refused> {
        let message = match Message::try_from(body) {
            Ok(message) => message,
            Err(refusal) => return Ok(ExchangeAnswer::Refused(refusal)),
        };
        let Some(terms) = self.terms_of(&message.budget, loaded)? else {
            return Ok(ExchangeAnswer::Refused(Refusal::UnknownBudget));
        };
        let is_branch = self.with(|machine, _| machine.is_branch())?;
        let answer = if !is_branch && loaded.policy.region_owns(&message.budget) {
            let handover =
                self.with(|machine, _| loaded.handover(&message.budget, &machine.name))?;
            self.lend_own(message, terms, handover)?
        } else if self.load_escrow(&message.budget, account)? {
            self.lend_on(message, terms).await?
        } else {
            Err(Refusal::NoRoom)
        };
        Ok(answer.into())
    }

    async fn lend_on(
        self: &Rc<Self>,
        message: Message,
        terms: Terms,
    ) -> Result<LendAnswer, Refused> {
        let pool = message.budget.clone();
        let (call, mut answer) = self.expect_answer(&pool)?;
        let exchange = escrow::Event::Exchange {
            caller: call.caller,
            message,
            terms,
        };
        self.run_escrow(&pool, exchange)?;
        loop {
            match within(CALL_MS_MAX, &mut answer).await {
                Some(Ok(Some(answer))) => return Ok(answer),
                Some(_) => return Err(Refused(format!("no row of {pool} was written"))),
                // The node gives up what is late.
                None => self.run_escrow(&pool, escrow::Event::Woke)?,
            }
        }
    }
}
