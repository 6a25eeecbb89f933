//! What the checks of a tenant's meters and guards come to.

use std::borrow::Cow;
use std::rc::Rc;

use weir_shared::accounting::counters::Charged;
use weir_shared::algorithms::composite::{Mode, StateKey};
use weir_shared::check::Item;
use weir_shared::decision::{Decision, Retry};
use weir_shared::limiting::terms::machine_of;
use weir_shared::limiting::verdict::DimensionRules;
use weir_shared::limits::JSON_INTEGER_MAX;
use weir_shared::name::full_key;
use weir_shared::units::EpochMs;
use weir_shared::wire::check::Reason;
use weir_shared::wire::limit_terms::LimitTerms;
use weir_shared::wire::policy::{OnUnavailable, Scope};

use super::kept::shard_of;
use super::plan::{Dimension, Kind, Place, Planner, Step};
use crate::http::failure::Failure;
use crate::http::ratelimit::QuotaPolicy;

/// What the policy says of a meter or a guard, apart from its numbers.
struct Stance {
    scope: Scope,
    shadow: bool,
    on_unavailable: OnUnavailable,
}

/// What an unlimited meter decides.
pub fn open(now: EpochMs) -> Decision {
    Decision {
        reason: Reason::Admitted,
        limit: JSON_INTEGER_MAX,
        remaining: JSON_INTEGER_MAX,
        reset_at: now,
        retry: Retry::Now,
    }
}

impl<'a> Planner<'a> {
    /// A check of a meter. One that is unlimited for the tenant is nobody's to ask.
    pub(super) fn meter(&self, name: &'a str, item: &Item) -> Result<Step<'a>, Failure> {
        let policy = &self.loaded.policy;
        let Some(meter) = policy.meters.get(name) else {
            return Err(unknown("meter", item));
        };
        let tenant = self.metered()?;
        let stance = Stance {
            scope: meter.scope,
            shadow: meter.shadow,
            on_unavailable: meter.on_unavailable,
        };
        let terms = policy.meter_terms(name, tenant, self.loaded.revision, self.now);
        let charged = Charged::Meter(name);
        match terms {
            Some(terms) => self.kept((name, charged), Kind::Units, terms, &stance, item),
            None => Ok(self.unbounded(name, charged, item)),
        }
    }

    /// A check of a guard: a slot, or a look at the slots.
    pub(super) fn guard(&self, name: &'a str, item: &Item) -> Result<Step<'a>, Failure> {
        let policy = &self.loaded.policy;
        let Some(guard) = policy.guards.get(name) else {
            return Err(unknown("guard", item));
        };
        let tenant = self.metered()?;
        let terms = policy
            .guard_terms(name, tenant, self.loaded.revision, self.now)
            .ok_or_else(|| unknown("guard", item))?;
        let numbers = terms.guard.as_ref();
        let lease_ms = numbers.map_or(0, |numbers| numbers.lease_ms);
        // Slots of a guard without bounds are taken to be counted: nobody waits for who counts them.
        let unbounded =
            numbers.is_some_and(|one| one.concurrency.is_none() && one.per_minute.is_none());
        let stance = Stance {
            scope: guard.scope,
            shadow: guard.shadow,
            on_unavailable: if unbounded {
                OnUnavailable::Allow
            } else {
                guard.on_unavailable
            },
        };
        let charged = Charged::Guard(name);
        let kind = Kind::Slots {
            lease_ms,
            spare: self.forwards && item.cost == 1,
        };
        self.kept((name, charged), kind, terms, &stance, item)
    }

    /// The tenant, without which neither a meter nor a guard nor a resource is asked.
    pub(super) fn metered(&self) -> Result<&'a str, Failure> {
        self.tenant
            .ok_or_else(|| Failure::Internal("a check without its tenant".to_owned()))
    }

    fn kept(
        &self,
        (name, charged): (&'a str, Charged<'a>),
        kind: Kind,
        terms: LimitTerms,
        stance: &Stance,
        item: &Item,
    ) -> Result<Step<'a>, Failure> {
        let machine = machine_of(&terms)?;
        let quota_policy = machine.quota_policy();
        let key = full_key(self.tenant, "");
        let dimension = Dimension {
            name,
            units: item.cost.max(1),
            look: item.cost == 0,
            scale: 1,
            quota_policy: QuotaPolicy {
                quota: quota_policy.quota,
                window_ms: quota_policy.window_ms,
            },
            rules: DimensionRules {
                shadow: stance.shadow,
                excused: stance.on_unavailable == OnUnavailable::Allow,
            },
            place: Place::Shard {
                shard: shard_of(self.loaded, self.region, stance.scope, &key),
                key: StateKey {
                    limit: terms.name.clone(),
                    key,
                },
                machine: Cow::Owned(machine),
                terms: Rc::new(terms),
                kind,
                known: self.known,
                account: Rc::clone(&self.account),
            },
        };
        Ok(Step {
            charged,
            cost: item.cost,
            mode: Mode::All,
            enforced: self.loaded.policy.enforcing && !stance.shadow,
            dimensions: vec![dimension],
        })
    }

    fn unbounded(&self, name: &'a str, charged: Charged<'a>, item: &Item) -> Step<'a> {
        Step {
            charged,
            cost: item.cost,
            mode: Mode::All,
            enforced: self.loaded.policy.enforcing,
            dimensions: vec![Dimension {
                name,
                place: Place::Open,
                units: item.cost,
                look: item.cost == 0,
                scale: 1,
                quota_policy: QuotaPolicy {
                    quota: JSON_INTEGER_MAX,
                    window_ms: 1,
                },
                rules: DimensionRules::default(),
            }],
        }
    }
}

fn unknown(what: &'static str, item: &Item) -> Failure {
    Failure::NotFound {
        what,
        field: Some(item.name_at()),
    }
}
