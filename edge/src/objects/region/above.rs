//! What is above a branch: the region's own object, or another branch. A branch speaks to it as an isolate does, for all
//! that are below it.

use std::mem;
use std::rc::Rc;

use futures_util::future::join_all;
use weir_shared::accounting::frame::FrameOutcome;
use weir_shared::contact::{ContactBody, ContactReply, Speaker};
use weir_shared::federation::branch;
use weir_shared::json;
use weir_shared::limits::{BRANCH_CALL_MS_MAX, CALL_MS_MAX, EXCHANGES_PER_CONTACT_MAX};
use weir_shared::node::LendAnswer;
use weir_shared::node::escrow::Event;
use weir_shared::node::rules::Event as RulesEvent;
use weir_shared::units::{HolderId, Revision};
use weir_shared::wire::access::TokenUse;
use weir_shared::wire::accounting::FrameBody;
use weir_shared::wire::exchange::ExchangeBody;
use weir_shared::wire::registry::{PushRules, ReadPolicy, Rules};
use weir_shared::wire::shares::SharesBody;
use worker::console_error;

use super::Core;
use crate::objects::binding::{Address, call};
use crate::objects::deadline::sleep;
use crate::objects::server::Refused;
use crate::objects::{telemetry, trace, usage};

/// What a branch says in one contact.
#[derive(Default)]
struct Said {
    exchanges: Vec<ExchangeBody>,
    frame: Option<FrameBody>,
    overload: Option<SharesBody>,
    tokens_used: Vec<TokenUse>,
    token_wanted: Option<String>,
}

/// What was told of what is in force.
fn rules_of(reply: &ContactReply) -> Rules {
    let unread = |error| console_error!("what is in force above: {error}");
    Rules {
        policy: reply
            .policy
            .as_ref()
            .and_then(|policy| json::from_value(policy).map_err(unread).ok()),
        access: reply
            .access
            .as_ref()
            .and_then(|access| json::from_value(access).map_err(unread).ok()),
    }
}

impl Core {
    /// Sends a message of a pool to the object above, with those of other pools that are made at the same time.
    pub(super) fn send_to_object_above(self: &Rc<Self>, body: ExchangeBody) {
        let begun = self.with(|machine, _| {
            machine.letters.push(body);
            machine.letters.len() == 1
        });
        if !matches!(begun, Ok(true)) {
            return;
        }
        let core = Rc::clone(self);
        self.state.wait_until(trace::carried(Box::pin(async move {
            sleep(0).await;
            let letters = core.with(|machine, _| mem::take(&mut machine.letters));
            let letters = letters.unwrap_or_default();
            let parts = letters.chunks(EXCHANGES_PER_CONTACT_MAX);
            join_all(parts.map(|part| core.exchange_with_object_above(part.to_vec()))).await;
        })));
    }

    async fn exchange_with_object_above(self: &Rc<Self>, exchanges: Vec<ExchangeBody>) {
        let sent: Vec<_> = exchanges
            .iter()
            .map(|body| (body.budget.clone(), body.sequence))
            .collect();
        let said = Said {
            exchanges,
            ..Said::default()
        };
        let reply = self.contact_above(said).await;
        let answers = reply.map(|reply| reply.exchanges).unwrap_or_default();
        let mut answers = answers.into_iter();
        for (pool, sequence) in sent {
            let answered = Event::Answered {
                sequence,
                answer: answers.next().map(LendAnswer::from),
            };
            if let Err(refused) = self.run_escrow(&pool, answered) {
                console_error!("escrow of {pool}: {}", refused.0);
            }
        }
    }

    /// Tells the object above what there is to tell beside pools. False when nothing was to be told of overloaded resources.
    pub(super) async fn tell_above(self: &Rc<Self>) -> Result<bool, Refused> {
        let now = self.with(|_, now| now)?;
        let shares = self.hubs.shares(now)?;
        let telling = !shares.is_empty();
        let (frame, holder) = self.with(|machine, now| {
            if !machine.outbox.is_empty() {
                machine.outbox.pending().used(&usage::drain());
                machine.outbox.pending().observed(&telemetry::drain());
            }
            (machine.outbox.begin(now), HolderId::of_name(&machine.name))
        })?;
        if frame.is_none() && !telling {
            return Ok(false);
        }
        let sequence = frame.as_ref().map(|frame| frame.sequence);
        let said = Said {
            frame,
            overload: telling.then_some(SharesBody { holder, shares }),
            ..Said::default()
        };
        let reply = self.contact_above(said).await;
        let counted = reply.as_ref().and_then(|reply| reply.frame.as_ref());
        let outcome = self.with(|machine, _| match (counted, sequence) {
            (Some(counted), _) => machine.outbox.finish(counted),
            (None, Some(sequence)) => {
                machine.outbox.fail(sequence);
                None
            }
            (None, None) => None,
        })?;
        if outcome == Some(FrameOutcome::GivenUp) {
            console_error!("what is above gave a frame up");
        }
        if let Some(shares) = reply.and_then(|reply| reply.overload) {
            let now = self.with(|_, now| now)?;
            self.hubs.learn(&shares.replies, now)?;
        }
        Ok(telling)
    }

    /// What is in force above, in the place of the registry's answer.
    pub(super) async fn rules_above(self: &Rc<Self>, question: &ReadPolicy) -> Option<Rules> {
        let wanted = self.with(|machine, _| machine.token_wanted.take());
        let said = Said {
            tokens_used: question.tokens_used.clone(),
            token_wanted: wanted.ok().flatten(),
            ..Said::default()
        };
        let known = (question.policy_revision, question.access_revision);
        let reply = self.ask_above(said, known).await?;
        Some(rules_of(&reply))
    }

    /// One contact, and what is in force above as far as that is news here.
    async fn contact_above(self: &Rc<Self>, said: Said) -> Option<ContactReply> {
        let known = self.with(|machine, _| machine.revisions());
        let reply = self.ask_above(said, known.ok()?).await?;
        let rules = rules_of(&reply);
        if rules.policy.is_some() || rules.access.is_some() {
            let caller = self.with(|machine, _| machine.next_caller()).ok()?;
            let rules = Box::new(rules);
            let taken = self.take_rules(RulesEvent::Pushed { caller, rules });
            let failed = taken.map_or_else(Some, |carried| carried.failed);
            if let Some(refused) = failed {
                console_error!("what is in force above: {}", refused.0);
            }
        }
        Some(reply)
    }

    async fn ask_above(
        &self,
        said: Said,
        (revision, access_revision): (Revision, Revision),
    ) -> Option<ContactReply> {
        let body = self.with(|machine, now| {
            let pools = said.exchanges.iter().map(|body| &body.budget);
            let accounts = pools
                .filter_map(|pool| Some((pool.clone(), machine.roll.account(pool)?.clone())))
                .collect();
            ContactBody {
                region: branch::name_of(&machine.region, branch::above(machine.number)),
                revision,
                exchanges: said.exchanges,
                frame: said.frame,
                access_revision,
                tokens_used: said.tokens_used,
                token_wanted: said.token_wanted,
                overload: said.overload,
                accounts,
                speaker: Some(Speaker {
                    holder: HolderId::of_name(&machine.name),
                    isolates: machine.heard.isolates(now),
                }),
            }
        });
        let body = body.ok()?;
        let above = Address::region(&body.region);
        let answer = call(&self.env, above, &body, BRANCH_CALL_MS_MAX).await;
        let reply = answer
            .inspect_err(|error| console_error!("{}: {error}", body.region))
            .ok()?;
        if let Some(branches) = reply.branches {
            let told = self.with(|machine, _| machine.branches.told(branches));
            told.ok()?;
        }
        Some(reply)
    }

    /// Tells the branches below that something has changed: each asks for it at once, so that it is in force there as soon as
    /// here. What is lost on the way comes with a later contact.
    pub(super) fn poke_below(self: &Rc<Self>) {
        let below = self.with(|machine, _| machine.below());
        for region in below.unwrap_or_default() {
            let core = Rc::clone(self);
            self.state.wait_until(async move {
                let poke = PushRules {
                    region,
                    rules: Rules::default(),
                    look: Vec::new(),
                };
                let below = Address::region(&poke.region);
                if let Err(error) = call(&core.env, below, &poke, CALL_MS_MAX).await {
                    console_error!("{}: {error}", poke.region);
                }
            });
        }
    }

    /// A branch asks what has changed above.
    pub(super) fn poked(self: &Rc<Self>) {
        let core = Rc::clone(self);
        self.state.wait_until(async move {
            let _told = core.contact_above(Said::default()).await;
        });
    }
}
