//! A place in the queue of a leaky bucket: kept by this isolate, or by a shard of the region.

use std::borrow::Cow;
use std::rc::Rc;

use weir_shared::accounting::counters::{Charged, Decided, Entry};
use weir_shared::algorithms::State;
use weir_shared::algorithms::composite::StateKey;
use weir_shared::algorithms::leaky_bucket::Reservation;
use weir_shared::algorithms::scale::ScaledState;
use weir_shared::check::reserve::Reserve;
use weir_shared::decision::Retry;
use weir_shared::decision::id::Denial;
use weir_shared::invalid::{Fault, Invalid};
use weir_shared::limiting::messages::ShapeBody;
use weir_shared::limiting::owner::{Account, Asking};
use weir_shared::limits::CALL_MS_MAX;
use weir_shared::policy::limit::{Rule, Shaper};
use weir_shared::wire::accounting::ANONYMOUS;
use weir_shared::wire::exchange::VERSION;
use weir_shared::wire::operator::live::DecisionSample;
use weir_shared::wire::policy::Scope;

use super::contact::count;
use super::kept::{shard_of, terms_of};
use super::loaded::Loaded;
use super::local::kept_by;
use super::memory::{now, with};
use super::plan::{key_of, limit_named};
use super::request::RequestHandles;
use crate::http::failure::Failure;
use crate::objects::binding::{Address, call};

/// Who gives places.
pub struct Shape<'a> {
    /// The platform.
    pub handles: &'a RequestHandles,
    /// The region.
    pub region: &'a str,
    /// Its policy.
    pub loaded: &'a Loaded,
    /// Who asks.
    pub asking: Asking<'a>,
}

/// What somebody who wants a place is answered.
pub struct Placed {
    /// The place, or when there could be one.
    pub outcome: Reservation,
    /// The id of a denial.
    pub decision: Option<String>,
}

/// A key, and how it is kept.
struct ShapedKey {
    key: StateKey,
    /// Whether it is the only key of a tenant that the policy names.
    only: bool,
    account: Account,
}

impl Shape<'_> {
    /// Gives a place, or says when there could be one. Counts it either way, and shows it to whoever watches.
    ///
    /// # Errors
    /// 404 for a name that the policy does not have, 400 for one that is no leaky bucket, 503 when the region does not
    /// answer.
    pub async fn reserve(&self, question: &Reserve) -> Result<Placed, Failure> {
        let outcome = self.decide(question).await?;
        let (at, reason) = (now(), outcome.reason());
        let tenant = question.tenant.as_deref().unwrap_or(ANONYMOUS);
        let charged = Charged::Limit(&question.limit);
        let (kind, rule) = charged.rule();
        let denial = Denial {
            at,
            tenant,
            region: self.region,
            reason,
            kind,
            rule,
        };
        let decision = (!outcome.accepted).then(|| denial.to_string());
        let decided = Decided {
            tenant,
            known: self.loaded.policy.tiers.named(tenant).is_some(),
            charged,
            reason,
            units: question.cost,
        };
        count(self.handles, self.region, &decided, Entry::Charge, None)?;
        with(self.region, |view| {
            let pending = view.outbox.pending();
            if question.cost > 0 {
                pending.show(|| DecisionSample {
                    at,
                    tenant: question.tenant.clone(),
                    allowed: outcome.accepted,
                    binding: question.limit.clone(),
                    reason,
                    would_deny: false,
                    decision: decision.clone(),
                });
            }
        })?;
        Ok(Placed { outcome, decision })
    }

    async fn decide(&self, question: &Reserve) -> Result<Reservation, Failure> {
        let limit = limit_named(self.loaded, &question.limit, "")?;
        let tenant = question.tenant.as_deref();
        let at_ms = now();
        let Rule::Shaper(_) = &limit.rule else {
            let by = "/v1/reserve: it is no leaky_bucket and is asked by /v1/check";
            return Err(Invalid::new("/limit", Fault::Excluded { by }).into());
        };
        let key = key_of(limit, tenant, question.key.as_deref(), "/key".to_owned())?;
        let own = self.loaded.policy.limit_at(&question.limit, tenant, at_ms);
        let Some(Rule::Shaper(shaper)) = own.as_deref().map(|limit| &limit.rule) else {
            return Err(Failure::unknown("limit", ""));
        };
        let is_own = matches!(own, Some(Cow::Owned(_)));
        let named = tenant.is_some_and(|tenant| self.loaded.policy.tiers.named(tenant).is_some());
        let kept = ShapedKey {
            only: named && limit.per_tenant && tenant == Some(key.as_str()),
            account: Account::of(self.asking, tenant, named),
            key: StateKey {
                limit: question.limit.clone(),
                key,
            },
        };
        match shaper.scope {
            Scope::Isolate => self.here((shaper, is_own), kept, question.cost),
            _ => self.at_shard(kept, question.cost).await,
        }
    }

    fn here(
        &self,
        (shaper, own): (&Shaper, bool),
        kept: ShapedKey,
        cost: u64,
    ) -> Result<Reservation, Failure> {
        let at = now();
        with(self.region, |view| {
            let account = Rc::new(kept.account);
            let key = view.store.place(&kept.key, kept.only, &account, at);
            let key = kept_by(key, &kept.key, own, &shaper.bucket);
            let state = match view.store.get(&key) {
                Some(ScaledState {
                    state: State::LeakyBucket(state),
                    ..
                }) => Some(state),
                other => other.and_then(|other| shaper.bucket.carried(&other, at)),
            };
            let reserved = shaper.bucket.reserve(state.as_ref(), cost, at);
            if let Some(next) = reserved.next {
                let expires_at = shaper.bucket.expires_at(&next);
                let state = ScaledState::whole(State::LeakyBucket(next));
                view.store.put(key, state, expires_at, &account);
            }
            reserved.outcome
        })
    }

    async fn at_shard(&self, kept: ShapedKey, cost: u64) -> Result<Reservation, Failure> {
        let state = kept.key;
        let name = shard_of(self.loaded, self.region, Scope::Region, &state.key);
        let terms = terms_of(self.loaded, &state, 1, now())
            .ok_or_else(|| Failure::Internal(format!("no rules of {}", state.limit)))?;
        let body = ShapeBody {
            v: VERSION,
            limit: terms,
            key: state.key,
            cost,
            known: kept.only,
            account: kept.account,
        };
        let answer = call(&self.handles.env, Address::keys(&name), &body, CALL_MS_MAX).await;
        let reply = answer.map_err(|error| Failure::Unavailable {
            what: error.to_string(),
        })?;
        Ok(Reservation {
            accepted: reply.accepted,
            delay_ms: reply.delay_ms,
            retry: match reply.retry_after_ms {
                Some(0) => Retry::Now,
                Some(ms) => Retry::AfterMs(ms),
                None => Retry::Never,
            },
        })
    }
}
