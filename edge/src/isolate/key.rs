//! A check of one key that a shard keeps: from units drawn ahead, from a denial that still stands, else by
//! one question, which one request asks for all that wait.

use std::rc::Rc;

use weir_shared::algorithms::composite::{Mode, StateKey};
use weir_shared::algorithms::scale::ScaledReceipt;
use weir_shared::decision::{Decision, Reason};
use weir_shared::federation::waiting::Ticket;
use weir_shared::limiting::key_cache::{Draw, KeyCache, Look};
use weir_shared::limiting::messages::{AskedBody, DecideBody, DrawnBody, GroupBody, ReturnBody};
use weir_shared::limiting::owner::Account;
use weir_shared::limiting::verdict::{DimensionRules, StepRules};
use weir_shared::limits::DECIDE_WAIT_MS_MAX;
use weir_shared::node::question::answers::{Answers, At, Charge, DimensionAnswer, Part};
use weir_shared::units::EpochMs;
use weir_shared::wire::exchange::VERSION;
use weir_shared::wire::limit_terms::LimitTerms;

use super::look::Looks;
use super::memory::{now, with};
use super::request::RequestHandles;
use super::shard::{ask, question_id};
use crate::http::failure::Failure;
use crate::objects::binding::KeyShard;

/// Where the one key of a question stands.
const ONLY: At = (0, 0);

/// One check of one key.
pub struct KeyCheck<'a> {
    /// The region that decides.
    pub region: &'a str,
    /// The shard that keeps the key.
    pub shard: &'a KeyShard,
    /// The key.
    pub key: &'a StateKey,
    /// The limit's rules.
    pub terms: &'a LimitTerms,
    /// Units to charge, in the limit's scale.
    pub units: u64,
    /// The most that the limit admits at once, in its scale.
    pub ceiling: u64,
    /// Whether it only looks.
    pub look: bool,
    /// Whether units may be drawn ahead: not of a key whose few units isolates would keep from one another.
    pub draws: bool,
    /// Whether it is the only key of a tenant that the policy names.
    pub known: bool,
    /// On whose account it is kept.
    pub account: &'a Account,
}

impl KeyCheck<'_> {
    /// Decides.
    ///
    /// # Errors
    /// When the isolate decides for too many regions.
    pub async fn decide(&self, handles: &RequestHandles) -> Result<DimensionAnswer, Failure> {
        let started = now();
        let mut looks = Looks::default();
        loop {
            let at = now();
            let (look, receipt) = with(self.region, |view| {
                let cache = view.key_cache(self.key, self.account, at);
                let receipt = cache.receipt();
                let look = cache.look((self.units, self.ceiling), self.look, at);
                (look, receipt)
            })?;
            match look {
                Look::Decided(decision) => {
                    return Ok(self.answer(decision, receipt, Charge::Drawn));
                }
                Look::Ask => return self.ask(handles, at).await,
                Look::Wait if now().since(started) >= DECIDE_WAIT_MS_MAX => {
                    return self.unavailable();
                }
                Look::Wait => {
                    let Some(_wait) = Wait::register(self, at)? else {
                        return self.unavailable();
                    };
                    looks.again().await;
                }
            }
        }
    }

    async fn ask(
        &self,
        handles: &RequestHandles,
        sent_at: EpochMs,
    ) -> Result<DimensionAnswer, Failure> {
        let question = with(self.region, |view| {
            view.key_cache(self.key, self.account, sent_at)
                .ask(self.look, sent_at)
        })?;
        let back = question.back.map(|(units, receipt)| ReturnBody {
            limit: self.key.limit.clone(),
            key: self.key.key.clone(),
            units,
            receipt,
        });
        let body = DecideBody {
            v: VERSION,
            op: question_id(),
            limits: vec![self.terms.clone()],
            returns: back.into_iter().collect(),
            groups: vec![GroupBody {
                mode: Mode::All,
                dimensions: vec![AskedBody::Key {
                    limit: self.key.limit.clone(),
                    key: self.key.key.clone(),
                    cost: self.units,
                    look: self.look,
                    ahead: if self.draws { question.ahead } else { 0 },
                    shadow: false,
                    known: self.known,
                    account: self.account.clone(),
                }],
            }],
            hold: false,
        };
        let part = Part {
            shard: self.shard.clone(),
            body,
            keys: vec![(ONLY, ONLY)],
        };
        let rules = Rc::new(vec![StepRules {
            mode: Mode::All,
            enforced: true,
            dimensions: vec![DimensionRules::default()],
        }]);
        let open = Answers::open(&rules);
        let landing = ask(handles, rules, open, vec![part]);
        let asked = ShardQuestion { check: self };
        let answers = landing.await.ok();
        let answer = asked.finish(answers.as_ref().and_then(|all| all.get(ONLY)), sent_at);
        std::mem::forget(asked);
        answer
    }

    fn answer(
        &self,
        decision: Decision,
        receipt: Option<ScaledReceipt>,
        charge: impl FnOnce(ScaledReceipt) -> Charge,
    ) -> DimensionAnswer {
        let charged = decision.admitted() && !self.look;
        DimensionAnswer {
            charge: match receipt {
                Some(receipt) if charged => charge(receipt),
                _ => Charge::Nothing,
            },
            ..DimensionAnswer::uncharged(decision)
        }
    }

    fn unavailable(&self) -> Result<DimensionAnswer, Failure> {
        let after_ms = with(self.region, |view| view.contact_ms)?;
        let decision = Decision::unavailable(0, now(), after_ms);
        Ok(self.answer(decision, None, Charge::Shard))
    }
}

/// What a shard charged ahead.
pub fn draw_of(drawn: DrawnBody) -> Draw {
    Draw {
        units: drawn.units,
        spendable_ms: drawn.spendable_ms,
        receipt: drawn.receipt,
    }
}

/// A question under way. When the request ends before its answer comes, others may ask at once.
struct ShardQuestion<'a> {
    check: &'a KeyCheck<'a>,
}

impl ShardQuestion<'_> {
    fn finish(
        &self,
        answer: Option<&DimensionAnswer>,
        sent_at: EpochMs,
    ) -> Result<DimensionAnswer, Failure> {
        let check = self.check;
        let at = now();
        let heard = answer.filter(|answer| answer.decision.reason != Reason::Unavailable);
        let Some(answer) = heard else {
            with(check.region, |view| {
                view.known_key_cache(check.key).map(KeyCache::fail)
            })?;
            return check.unavailable();
        };
        let draw = answer.drawn.clone().map(draw_of);
        with(check.region, |view| {
            let contact_at = view.contact_due;
            let cache = view.key_cache(check.key, check.account, at);
            let spent = if check.look { 0 } else { check.units };
            let decided = (check.units, spent, answer.decision);
            cache.finish(decided, draw, (sent_at, contact_at));
        })?;
        Ok(DimensionAnswer {
            charge: answer.charge.clone(),
            ..DimensionAnswer::uncharged(answer.decision)
        })
    }
}

impl Drop for ShardQuestion<'_> {
    fn drop(&mut self) {
        // A view that cannot be reached has no key cache either.
        let _gone = with(self.check.region, |view| {
            view.known_key_cache(self.check.key).map(KeyCache::fail)
        });
    }
}

/// A request that waits for another's question; taken off again when this goes out of scope.
struct Wait<'a> {
    check: &'a KeyCheck<'a>,
    ticket: Ticket,
}

impl<'a> Wait<'a> {
    fn register(check: &'a KeyCheck<'a>, at: EpochMs) -> Result<Option<Self>, Failure> {
        let ticket = with(check.region, |view| {
            let units = if check.look { 0 } else { check.units };
            view.key_cache(check.key, check.account, at).wait(units, at)
        })?;
        Ok(ticket.map(|ticket| Self { check, ticket }))
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        // A view that cannot be reached has no waiters either.
        let _gone = with(self.check.region, |view| {
            let cache = view.known_key_cache(self.check.key);
            cache.map(|cache| cache.unwait(self.ticket))
        });
    }
}
