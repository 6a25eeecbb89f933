//! What a question comes to under the policy: for each check its dimensions, and where each is kept.

use std::borrow::Cow;
use std::rc::Rc;

use weir_shared::accounting::counters::Charged;
use weir_shared::algorithms::composite::{Mode, StateKey};
use weir_shared::algorithms::scale::Scaled;
use weir_shared::check::{Check, Item, Keys, Target};
use weir_shared::decision::{Decision, Reason};
use weir_shared::fairness::ask::Party;
use weir_shared::fairness::weight::Weight;
use weir_shared::federation::pool_name::PoolName;
use weir_shared::invalid::{Fault, Invalid};
use weir_shared::limiting::owner::{Account, Asking};
use weir_shared::limiting::verdict::{DimensionRules, StepRules};
use weir_shared::name::full_key;
use weir_shared::policy::budget::Budget;
use weir_shared::policy::limit::{Composite, Limit, Rule};
use weir_shared::units::EpochMs;
use weir_shared::wire::exchange::Terms;
use weir_shared::wire::limit_terms::LimitTerms;
use weir_shared::wire::policy::{OnUnavailable, Scope};

use super::kept::{machine, shard_of, terms_of};
use super::loaded::Loaded;
use super::memory::now;
use super::overload_check::OverloadCheck;
use crate::http::failure::Failure;
use crate::http::ratelimit::QuotaPolicy;
use crate::objects::binding::KeyShard;

/// One check of a question.
pub struct Step<'a> {
    /// What it is counted under.
    pub charged: Charged<'a>,
    /// The cost that the request named.
    pub cost: u64,
    /// How its dimensions combine.
    pub mode: Mode,
    /// Its dimensions; at least one.
    pub dimensions: Vec<Dimension<'a>>,
    /// Whether it is enforced.
    pub enforced: bool,
}

impl Step<'_> {
    /// How its decisions combine.
    pub fn rules(&self) -> StepRules {
        StepRules {
            mode: self.mode,
            enforced: self.enforced,
            dimensions: self.dimensions.iter().map(|one| one.rules).collect(),
        }
    }
}

/// One dimension of a check.
pub struct Dimension<'a> {
    /// Its name, when it decides.
    pub name: &'a str,
    /// Where its state is.
    pub place: Place<'a>,
    /// Units, in the scale of its state; what one would cost where it only looks.
    pub units: u64,
    /// Whether it only looks.
    pub look: bool,
    /// In how many parts of a unit its state is counted.
    pub scale: u64,
    /// What the policy promises.
    pub quota_policy: QuotaPolicy,
    /// Whether it has a say.
    pub rules: DimensionRules,
}

/// Where a state is.
pub enum Place<'a> {
    /// Leased from a pool of the whole deployment.
    Pool {
        /// The pool.
        pool: String,
        /// Its terms.
        terms: Terms,
        /// For whom.
        party: Party,
        /// On whose account it is kept, where it is a key's.
        account: Rc<Account>,
        /// Why it is denied when it is used up.
        denial: Reason,
    },
    /// A budget that this isolate keeps.
    Budget {
        /// Its name.
        name: &'a str,
        /// Its terms.
        terms: Terms,
        /// For whom.
        party: Party,
    },
    /// Kept by this isolate.
    Isolate {
        /// The key.
        key: StateKey,
        /// Its rules.
        machine: Cow<'a, Scaled>,
        /// Whether it is the only key of a tenant that the policy names.
        known: bool,
        /// On whose account it is kept.
        account: Rc<Account>,
    },
    /// Kept by a shard, of the region or of the whole deployment.
    Shard {
        /// Which.
        shard: KeyShard,
        /// The key.
        key: StateKey,
        /// Its rules.
        machine: Cow<'a, Scaled>,
        /// Its rules, as they travel.
        terms: Rc<LimitTerms>,
        /// What is taken of it.
        kind: Kind,
        /// Whether it is the only key of a tenant that the policy names.
        known: bool,
        /// On whose account it is kept.
        account: Rc<Account>,
    },
    /// What this isolate knows of a resource.
    Overload(OverloadCheck<'a>),
    /// Nowhere: nothing bounds it.
    Open,
}

/// What is taken of a key that a shard keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Units: one request asks for all that wait, and some are drawn ahead.
    Units,
    /// A place in a queue, one a request: each asks for its own.
    Turns,
    /// Slots, one a request: each asks for its own.
    Slots {
        /// How long one is held unless it is renewed.
        lease_ms: u64,
        /// Whether it may be one that this isolate has spare: then its request ends here too.
        spare: bool,
    },
}

impl Dimension<'_> {
    /// Whether each request asks for its own: a slot, or a place in a queue.
    pub fn is_asked_alone(&self) -> bool {
        matches!(&self.place, Place::Shard { kind, .. } if *kind != Kind::Units)
    }

    /// Whether it is the queue of a shaper.
    pub fn delays(&self) -> bool {
        match &self.place {
            Place::Isolate { machine, .. } | Place::Shard { machine, .. } => {
                machine.queue().is_some()
            }
            _ => false,
        }
    }

    /// A decision in the state's scale, in whole units.
    pub fn whole(&self, decision: Decision) -> Decision {
        Decision {
            limit: decision.limit / self.scale,
            remaining: decision.remaining / self.scale,
            ..decision
        }
    }
}

/// The steps of a question, which is of a request that is forwarded here or not.
///
/// # Errors
/// 404 for a name that the policy does not have, 400 for a key or tenant that is missing or has no place.
pub fn steps<'a>(
    check: &'a Check,
    loaded: &'a Loaded,
    region: &'a str,
    (asking, forwards): (Asking<'_>, bool),
) -> Result<Vec<Step<'a>>, Failure> {
    let (tenant, now) = (check.tenant.as_deref(), now());
    if tenant.is_some_and(|tenant| loaded.policy.resolve(tenant, now).is_none()) {
        return Err(Failure::unknown("tenant", ""));
    }
    let known = tenant.is_some_and(|tenant| loaded.policy.tiers.named(tenant).is_some());
    let planner = Planner {
        check,
        loaded,
        region,
        tenant,
        known,
        account: Rc::new(Account::of(asking, tenant, known)),
        // Who asks at the API waits by itself.
        waits: matches!(asking, Asking::Route { .. }),
        forwards,
        now,
    };
    check.items.iter().map(|item| planner.step(item)).collect()
}

/// The limit of that name, with where it is asked for.
pub fn limit_named<'a>(loaded: &'a Loaded, name: &str, at: &str) -> Result<&'a Limit, Failure> {
    let limits = &loaded.policy.limits;
    limits
        .get(name)
        .ok_or_else(|| Failure::unknown("limit", at))
}

/// The key under which a limit is asked, the tenant included where each has its own.
///
/// # Errors
/// 400 when tenant or key is missing.
pub fn key_of(
    limit: &Limit,
    tenant: Option<&str>,
    key: Option<&str>,
    key_field: String,
) -> Result<String, Failure> {
    let missing = |field: String| Failure::Invalid(Invalid::new(field, Fault::Missing));
    match (limit.per_tenant, tenant, key) {
        (true, None, _) => Err(missing("/tenant".to_owned())),
        (true, Some(tenant), key) => Ok(full_key(Some(tenant), key.unwrap_or_default())),
        (false, _, Some(key)) => Ok(full_key(None, key)),
        (false, _, None) => Err(missing(key_field)),
    }
}

/// Plans the checks of one question.
pub(super) struct Planner<'a> {
    pub(super) check: &'a Check,
    pub(super) loaded: &'a Loaded,
    pub(super) region: &'a str,
    pub(super) tenant: Option<&'a str>,
    /// Whether the policy names the tenant.
    pub(super) known: bool,
    /// On whose account its keys are kept.
    pub(super) account: Rc<Account>,
    /// Whether who asks waits where it has to.
    pub(super) waits: bool,
    /// Whether who asks says when the request has ended.
    pub(super) forwards: bool,
    pub(super) now: EpochMs,
}

impl<'a> Planner<'a> {
    fn step(&self, item: &'a Item) -> Result<Step<'a>, Failure> {
        match &item.target {
            Target::Budget(name) => {
                let budgets = &self.loaded.policy.budgets;
                let budget = budgets
                    .get(name)
                    .ok_or_else(|| Failure::unknown("budget", &item.at))?;
                self.budget(name, budget, item)
            }
            Target::Meter { name, .. } => self.meter(name, item),
            Target::Guard(name) => self.guard(name, item),
            Target::Overload(name) => self.overload(name, item),
            Target::Limit { name, keys } => {
                let limit = limit_named(self.loaded, name, &item.at)?;
                let mut step = Step {
                    charged: Charged::Limit(name),
                    cost: item.cost,
                    mode: Mode::All,
                    dimensions: Vec::new(),
                    enforced: self.loaded.policy.enforcing && !limit.shadow,
                };
                match &limit.rule {
                    Rule::Shaper(_) if !self.waits => {
                        return Err(refused(
                            &item.at,
                            "/limit",
                            "/v1/check: a leaky_bucket is asked by /v1/reserve",
                        ));
                    }
                    Rule::Single(_) | Rule::Shaper(_) => {
                        step.dimensions
                            .push(self.single(name, name, None, item, keys)?);
                    }
                    Rule::Composite(composite) => {
                        step.mode = composite.mode;
                        step.dimensions = self.composite(limit, composite, item, keys)?;
                    }
                }
                Ok(step)
            }
        }
    }

    fn budget(&self, name: &'a str, budget: &Budget, item: &Item) -> Result<Step<'a>, Failure> {
        let policy = &self.loaded.policy;
        let terms = policy
            .budget_terms(name, self.region, self.loaded.revision, self.now)
            .ok_or_else(|| Failure::unknown("region", ""))?;
        let dimension = Dimension {
            name,
            place: self.budget_place(name, budget, terms, item)?,
            units: item.cost.max(1),
            look: item.cost == 0,
            scale: 1,
            quota_policy: QuotaPolicy {
                quota: budget.limit,
                window_ms: budget.window_ms,
            },
            rules: DimensionRules {
                shadow: budget.shadow,
                excused: budget.on_unavailable == OnUnavailable::Allow,
            },
        };
        Ok(Step {
            charged: Charged::Budget(name),
            cost: item.cost,
            mode: Mode::All,
            enforced: self.loaded.policy.enforcing && !budget.shadow,
            dimensions: vec![dimension],
        })
    }

    fn budget_place(
        &self,
        name: &'a str,
        budget: &Budget,
        terms: Terms,
        item: &Item,
    ) -> Result<Place<'a>, Failure> {
        let tenant = self.tenant.filter(|_| budget.rule().is_some());
        let (policy, revision) = (&self.loaded.policy, self.loaded.revision);
        let claimant = tenant.map(|tenant| {
            let claimant = policy.claimant(tenant, Some(name), revision, self.now);
            claimant.ok_or_else(|| Failure::unknown("tenant", ""))
        });
        let party = claimant.transpose()?.map_or(Party::Everyone, Party::Tenant);
        match budget.root() {
            Scope::Isolate if self.check.reserve => Err(self.unsettled(item, "budget")),
            Scope::Isolate => Ok(Place::Budget { name, terms, party }),
            Scope::Region | Scope::Global => Ok(Place::Pool {
                pool: PoolName::Budget(name.to_owned()).to_string(),
                terms,
                party,
                account: Rc::clone(&self.account),
                denial: Reason::CapReached,
            }),
        }
    }

    /// What an isolate keeps for itself cannot be settled by another.
    fn unsettled(&self, item: &Item, what: &str) -> Failure {
        let why = match what {
            "budget" => "a budget of scope isolate: another isolate could not settle it",
            _ => "a limit of scope isolate: another isolate could not settle it",
        };
        let request = item.at.split("/checks/").next().unwrap_or_default();
        refused(request, "/reserve", why)
    }

    fn composite(
        &self,
        composite_limit: &'a Limit,
        composite: &'a Composite,
        item: &'a Item,
        keys: &'a Keys,
    ) -> Result<Vec<Dimension<'a>>, Failure> {
        if let Keys::Named(keys) = keys {
            let known = |key: &String| composite.dimensions.iter().any(|one| &one.name == key);
            if let Some(unknown) = keys.keys().find(|key| !known(key)) {
                let fault = Fault::Unknown {
                    name: unknown.clone(),
                    what: "dimension of this limit",
                };
                let field = format!(
                    "{}/keys{}",
                    item.at,
                    weir_shared::json::pointer::step(unknown)
                );
                return Err(Invalid::new(field, fault).into());
            }
        }
        let mut dimensions = Vec::with_capacity(composite.dimensions.len());
        for part in &composite.dimensions {
            let weight = Some(&part.weight);
            let mut one = self.single(&part.name, &part.limit, weight, item, keys)?;
            one.rules.excused |= composite_limit.on_unavailable == OnUnavailable::Allow;
            dimensions.push(one);
        }
        Ok(dimensions)
    }

    /// A dimension of one limit, by the numbers that the tenant has of it at this instant.
    fn single(
        &self,
        name: &'a str,
        limit_name: &'a str,
        weight: Option<&Weight>,
        item: &'a Item,
        keys: &'a Keys,
    ) -> Result<Dimension<'a>, Failure> {
        let unknown = || Failure::unknown("limit", &item.at);
        let policy = &self.loaded.policy;
        let limit = policy.limit_at(limit_name, self.tenant, self.now);
        let limit = limit.ok_or_else(unknown)?;
        let units = item.cost.max(1);
        let (machine, units) = match &limit.rule {
            Rule::Single(single) => (&single.machine, single.cost(weight, units)),
            // It is part of no other limit.
            Rule::Shaper(shaper) => (&shaper.machine, units),
            Rule::Composite(_) => return Err(unknown()),
        };
        let (key, field) = match keys {
            Keys::None => (None, "/key".to_owned()),
            Keys::One(key) => (Some(key.as_str()), "/key".to_owned()),
            Keys::Named(keys) => (
                keys.get(name).map(String::as_str),
                format!("/keys{}", weir_shared::json::pointer::step(name)),
            ),
        };
        let field = format!("{}{field}", item.at);
        let key = key_of(&limit, self.tenant, key, field)?;
        let (quota_policy, scale) = (machine.quota_policy(), machine.scale());
        let rules = DimensionRules {
            shadow: limit.shadow,
            excused: limit.on_unavailable == OnUnavailable::Allow,
        };
        Ok(Dimension {
            name,
            place: self.place(limit_name, limit, key, item)?,
            units,
            look: item.cost == 0,
            scale,
            quota_policy: QuotaPolicy {
                quota: quota_policy.quota,
                window_ms: quota_policy.window_ms,
            },
            rules,
        })
    }

    fn place(
        &self,
        name: &'a str,
        limit: Cow<'a, Limit>,
        key: String,
        item: &Item,
    ) -> Result<Place<'a>, Failure> {
        let known = self.known && limit.per_tenant && self.tenant == Some(key.as_str());
        let internal = |what: &str| Failure::Internal(format!("no {what} of {name}"));
        let terms = limit.terms(self.loaded.revision);
        let (machine, scope) = machine(limit).ok_or_else(|| internal("machine"))?;
        let state_key = |key| StateKey {
            limit: name.to_owned(),
            key,
        };
        Ok(match scope {
            Scope::Global => Place::Pool {
                pool: PoolName::Limit {
                    limit: name.to_owned(),
                    key,
                }
                .to_string(),
                terms: terms.ok_or_else(|| internal("terms"))?,
                party: Party::Everyone,
                account: match known {
                    true if !self.account.named => Rc::new(self.account.of_only_key()),
                    _ => Rc::clone(&self.account),
                },
                denial: Reason::LimitExceeded,
            },
            Scope::Isolate if self.check.reserve => return Err(self.unsettled(item, "limit")),
            Scope::Isolate => Place::Isolate {
                key: state_key(key),
                machine,
                known,
                account: Rc::clone(&self.account),
            },
            Scope::Region => {
                let key = state_key(key);
                let terms = terms_of(self.loaded, &key, machine.scale(), self.now);
                Place::Shard {
                    shard: shard_of(self.loaded, self.region, scope, &key.key),
                    key,
                    kind: match machine.queue() {
                        Some(_) => Kind::Turns,
                        None => Kind::Units,
                    },
                    machine,
                    terms: Rc::new(terms.ok_or_else(|| internal("rules"))?),
                    known,
                    account: Rc::clone(&self.account),
                }
            }
        })
    }
}

fn refused(at: &str, field: &str, by: &'static str) -> Failure {
    Failure::Invalid(Invalid::new(format!("{at}{field}"), Fault::Excluded { by }))
}
