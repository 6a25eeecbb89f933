//! Overloaded resources: decided here, without waiting, by what all holders together have of each as of the last
//! contact. What is used here is told with the contacts that are made anyway.

use std::rc::Rc;

use getrandom::fill;
use weir_shared::access::table::AccessTable;
use weir_shared::accounting::counters::Charged;
use weir_shared::algorithms::composite::Mode;
use weir_shared::check::Item;
use weir_shared::decision::{Decision, Reason, Retry};
use weir_shared::fairness::weight::Weight;
use weir_shared::gateway::provider_limits::{ProviderLimits, TokensLately};
use weir_shared::gateway::usage::tokens::Tokens;
use weir_shared::limiting::verdict::DimensionRules;
use weir_shared::limits::{CALL_MS_MAX, JSON_INTEGER_MAX, OVERLOAD_RESOURCES_MAX};
use weir_shared::ordered::OrderedMap;
use weir_shared::overload::config::Config;
use weir_shared::overload::resource::{Client, Outcome, Resource, Verdict};
use weir_shared::overload::slots::Slots;
use weir_shared::policy::Policy;
use weir_shared::units::{EpochMs, HolderId, Revision};
use weir_shared::wire::shares::{SharesBody, SharesReply};
use worker::js_sys::Math;

use super::plan::{Dimension, Place, Planner, Step};
use super::region::Loaded;
use super::request::RequestHandles;
use super::{contact, now, with};
use crate::http::failure::Failure;
use crate::http::ratelimit::QuotaPolicy;

/// Keeps this use of the deployment's key apart from others.
const PURPOSE: &str = "overload";

/// A fair rate is told in units a second.
const SECOND_MS: u64 = 1_000;

/// What an isolate knows of the resources of one region.
#[derive(Default)]
pub struct Resources {
    by_name: OrderedMap<String, (Revision, Resource)>,
    /// What of each that takes so many requests at once is taken.
    slots: OrderedMap<String, Slots>,
    /// What a request takes at each whose provider tells its limits.
    tokens: OrderedMap<String, TokensLately>,
    secret: Option<Secret>,
    /// The tokens that the secret was derived from.
    secret_of: Revision,
    /// Whether something was used or reported since the last share.
    news: bool,
    /// Until when an answer to the last share may come.
    telling_until: EpochMs,
}

/// By what clients are placed.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Secret {
    bytes: [u8; 32],
    /// Whether it is the deployment's, so that others place clients alike.
    shared: bool,
}

impl Secret {
    /// The deployment's, once the isolate knows it; a random one until then, which is not shared.
    fn of(table: Option<&Rc<AccessTable>>, known: Option<Self>) -> Self {
        if let Some(bytes) = table.and_then(|table| table.mac(PURPOSE, "placement")) {
            return Self {
                bytes,
                shared: true,
            };
        }
        known.unwrap_or_else(|| {
            let mut bytes = [0; 32];
            // Without random bytes collisions could be aimed at this isolate alone, until it knows the secret.
            let _unlikely = fill(&mut bytes);
            Self {
                bytes,
                shared: false,
            }
        })
    }
}

impl Resources {
    /// A resource of the policy.
    fn get(
        &mut self,
        (name, config): (&str, &Config),
        revision: Revision,
        table: Option<&Rc<AccessTable>>,
        now: EpochMs,
    ) -> &mut Resource {
        let secret = self.secret(table);
        if self.by_name.len() >= OVERLOAD_RESOURCES_MAX && !self.by_name.contains_key(name) {
            self.by_name.pop_first();
        }
        let new = || {
            let resource = Resource::new(config, revision, &secret.bytes, name, now);
            (revision, resource)
        };
        let (known, resource) = self.by_name.entry(name.to_owned()).or_insert_with(new);
        if *known < revision {
            resource.reconfigure(config, revision, now);
            *known = revision;
        }
        self.news = true;
        resource
    }

    /// By what clients are placed. What was placed by another secret is dropped.
    fn secret(&mut self, table: Option<&Rc<AccessTable>>) -> Secret {
        let newest = table.map_or(Revision(0), |table| table.revision());
        if let Some(secret) = self.secret
            && newest == self.secret_of
        {
            return secret;
        }
        let secret = Secret::of(table, self.secret);
        if self.secret != Some(secret) {
            self.by_name.clear();
        }
        (self.secret, self.secret_of) = (Some(secret), newest);
        secret
    }

    /// Whether there is something to tell.
    pub fn has_unsent(&self) -> bool {
        self.news && self.secret.is_some_and(|secret| secret.shared)
    }

    /// What there is to tell, one message at a time.
    pub fn begin(&mut self, holder: HolderId, now: EpochMs) -> Option<SharesBody> {
        if !self.has_unsent() || now < self.telling_until {
            return None;
        }
        let resources = self.by_name.values_mut();
        let shares: Vec<_> = resources
            .filter_map(|(_, resource)| resource.share(now))
            .collect();
        self.news = !shares.is_empty();
        if shares.is_empty() {
            return None;
        }
        self.telling_until = now.plus(CALL_MS_MAX);
        Some(SharesBody { holder, shares })
    }

    /// The region answered what was told, or did not; what was used since then is told next, and what was not answered
    /// again.
    pub fn finish(&mut self, reply: Option<&SharesReply>, now: EpochMs) {
        self.telling_until = EpochMs(0);
        for reply in reply.into_iter().flat_map(|reply| &reply.replies) {
            if let Some((_, resource)) = self.by_name.get_mut(&reply.resource) {
                resource.learn(reply, now);
            }
        }
    }

    /// The slots of a resource of the policy.
    pub fn slots(&mut self, name: &str) -> &mut Slots {
        self.slots.entry(name.to_owned()).or_default()
    }

    /// Drops what the policy does not have.
    pub fn retain(&mut self, policy: &Policy) {
        self.slots
            .retain(|name, _| policy.overload.contains_key(name));
        self.tokens
            .retain(|name, _| policy.overload.contains_key(name));
        self.by_name
            .retain(|name, _| policy.overload.contains_key(name));
    }
}

/// One check of a resource.
pub struct OverloadCheck<'a> {
    /// The region.
    pub region: &'a str,
    /// The resource.
    pub name: &'a str,
    /// How it is steered.
    pub config: &'a Config,
    /// The policy that says so.
    pub revision: Revision,
    /// Whose request it is.
    pub client: Client<'a>,
    /// Whether it takes a slot where the resource has some: only who says when the request ends does.
    pub holds: bool,
}

impl OverloadCheck<'_> {
    /// Decides `cost` units, 0 to look; and the slot that it takes, where it takes one.
    ///
    /// # Errors
    /// When the isolate decides for too many regions.
    pub fn decide(&self, cost: u64) -> Result<(Decision, Option<u64>), Failure> {
        let (coin, at) = (Math::random(), now());
        let slots = self.slots().filter(|_| cost > 0);
        if let Some(slots) = slots
            && let Some(retry_ms) = with(self.region, |view| {
                let taken = view.overload.slots(self.name);
                (taken.left(slots, at) == 0).then(|| taken.retry_ms(slots))
            })?
        {
            return Ok((full(retry_ms, at), None));
        }
        let verdict = self.with(at, |resource| resource.check(&self.client, cost, coin, at))?;
        let decision = decision(&verdict, self.client.weight, at);
        let slot = match slots.filter(|_| decision.admitted()) {
            Some(_) => Some(with(self.region, |view| {
                view.overload.slots(self.name).take(self.client.name, at)
            })?),
            None => None,
        };
        Ok((decision, slot))
    }

    /// How many requests the resource takes at once, where this one is among them.
    pub fn slots(&self) -> Option<u64> {
        self.config.slots.filter(|_| self.holds)
    }

    /// Takes the charge back, and the slot.
    ///
    /// # Errors
    /// When the isolate decides for too many regions.
    pub fn undo(&self, cost: u64, slot: Option<u64>) -> Result<(), Failure> {
        let at = now();
        if let Some(slot) = slot {
            with(self.region, |view| {
                view.overload.slots(self.name).undo(slot)
            })?;
        }
        self.with(at, |resource| resource.undo(&self.client, cost, at))
    }

    fn with<R>(&self, at: EpochMs, step: impl FnOnce(&mut Resource) -> R) -> Result<R, Failure> {
        with(self.region, |view| {
            let table = view.tokens.table();
            let named = (self.name, self.config);
            step(view.overload.get(named, self.revision, table, at))
        })
    }
}

/// All slots are taken. That bounds nobody in units.
fn full(retry_ms: u64, now: EpochMs) -> Decision {
    Decision {
        reason: Reason::Overloaded,
        limit: JSON_INTEGER_MAX,
        remaining: 0,
        reset_at: now.plus(retry_ms),
        retry: Retry::AfterMs(retry_ms),
    }
}

/// What a verdict says in units a second. While nothing is denied there is no bound to tell.
fn decision(verdict: &Verdict, weight: Weight, now: EpochMs) -> Decision {
    let share = |milli: u64| {
        let units = u128::from(milli) * u128::from(weight.micros());
        let whole = units.div_ceil(1_000 * u128::from(Weight::WHOLE.micros()));
        u64::try_from(whole).map_or(JSON_INTEGER_MAX, |units| units.clamp(1, JSON_INTEGER_MAX))
    };
    let limit = verdict.fair_rate_milli.map_or(JSON_INTEGER_MAX, share);
    if verdict.admitted {
        return Decision {
            reason: Reason::Admitted,
            limit,
            remaining: limit,
            reset_at: now,
            retry: Retry::Now,
        };
    }
    let after_ms = verdict.retry_after_ms.max(1);
    Decision {
        reason: Reason::Overloaded,
        limit,
        remaining: 0,
        reset_at: now.plus(after_ms),
        retry: Retry::AfterMs(after_ms),
    }
}

impl<'a> Planner<'a> {
    /// A check of a resource.
    pub(super) fn overload(&self, name: &'a str, item: &Item) -> Result<Step<'a>, Failure> {
        let (policy, revision) = (&self.loaded.policy, self.loaded.revision);
        let unknown = || Failure::NotFound {
            what: "overload resource",
            field: Some(item.name_at()),
        };
        let config = policy.overload.get(name).ok_or_else(unknown)?;
        let tenant = self.metered()?;
        let client = client(policy, tenant, self.now)?;
        Ok(Step {
            charged: Charged::Overload(name),
            cost: item.cost,
            mode: Mode::All,
            enforced: policy.enforcing && !config.shadow,
            dimensions: vec![Dimension {
                name,
                place: Place::Overload(OverloadCheck {
                    region: self.region,
                    name,
                    config,
                    revision,
                    client,
                    holds: self.forwards && policy.enforcing && !config.shadow,
                }),
                units: item.cost.max(1),
                look: item.cost == 0,
                scale: 1,
                quota_policy: QuotaPolicy {
                    quota: JSON_INTEGER_MAX,
                    window_ms: SECOND_MS,
                },
                // In shadow the whole check is not enforced, and is counted as it was decided.
                rules: DimensionRules::default(),
            }],
        })
    }
}

/// A tenant as a client.
fn client<'a>(policy: &Policy, tenant: &'a str, now: EpochMs) -> Result<Client<'a>, Failure> {
    let resolved = policy.resolve(tenant, now);
    let resolved = resolved.ok_or_else(|| Failure::unknown("tenant", ""))?;
    Ok(Client {
        name: tenant,
        weight: resolved.weight,
    })
}

/// Takes what the provider behind a resource has told of its limits.
///
/// # Errors
/// 404 for a resource that the policy does not have.
pub fn told(
    region: &str,
    loaded: &Loaded,
    name: &str,
    limits: &ProviderLimits,
) -> Result<(), Failure> {
    let unknown = || Failure::unknown("resource", "");
    let config = loaded.policy.overload.get(name).ok_or_else(unknown)?;
    with(region, |view| {
        let (table, resources) = (view.tokens.table(), &mut view.overload);
        let lately = resources.tokens.get(name).copied().unwrap_or_default();
        if let Some(milli) = limits.milli_per_s(&lately) {
            let resource = resources.get((name, config), loaded.revision, table, now());
            resource.told(milli, now());
        }
    })
}

/// Takes what a request took at a resource.
///
/// # Errors
/// When the isolate decides for too many regions.
pub fn took(region: &str, name: &str, tokens: &Tokens) -> Result<(), Failure> {
    with(region, |view| {
        let lately = view.overload.tokens.entry(name.to_owned()).or_default();
        lately.record(tokens);
    })
}

/// Takes how a tenant's request came out at a resource.
///
/// # Errors
/// 404 for a resource that the policy does not have, and for a tenant that it refuses.
pub fn report(
    handles: &RequestHandles,
    region: &str,
    loaded: &Loaded,
    (resource, tenant): (&str, &str),
    outcome: Outcome,
) -> Result<(), Failure> {
    let at = now();
    let unknown = || Failure::unknown("resource", "");
    let config = loaded.policy.overload.get(resource).ok_or_else(unknown)?;
    let check = OverloadCheck {
        region,
        name: resource,
        config,
        revision: loaded.revision,
        client: client(&loaded.policy, tenant, at)?,
        holds: false,
    };
    check.with(at, |resource| resource.report(&check.client, outcome, at))?;
    contact::schedule_flush(handles, region)
}
