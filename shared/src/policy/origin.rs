//! What counts for one tenant at one instant, each value with whose word it is.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::Policy;
use super::changes::{By, Changes};
use super::claim::{BORROW_MAX, CEILING, FLOOR, LEND_MAX, Part, WEIGHT};
use super::guard::{Guard, LEASE_MS};
use super::limit::Limit;
use super::meter::{BURST_SECONDS, MAX_DEBT_MS, Meter};
use super::tenant::TierBy;
use crate::gather::gathered;
use crate::json;
use crate::json::pointer::step;
use crate::units::EpochMs;
use crate::wire::amount::AmountBody;
use crate::wire::decimal::Decimal;
use crate::wire::effective::{
    EffectiveBody, EffectiveBudgetBody, EffectiveGuardBody, EffectiveMeterBody,
    EffectiveOverloadBody, FieldValue, Origin, Valued,
};

/// What may be changed of a limit for a tenant.
const LIMIT_FIELDS: [&str; 14] = [
    "limit",
    "period_ms",
    "burst",
    "capacity",
    "refill_per_sec",
    "window_ms",
    "buckets",
    "cadence",
    "offset_minutes",
    "time_zone",
    "week_starts_on",
    "anchor",
    "rate_per_sec",
    "max_queue_ms",
];

impl Policy {
    /// What counts for a tenant at `now`; `None` for one that this policy refuses.
    ///
    /// ```
    /// use weir_shared::invalid::read_json;
    /// use weir_shared::policy::Policy;
    /// use weir_shared::units::EpochMs;
    /// use weir_shared::wire::effective::Origin;
    /// use weir_shared::wire::policy::PolicyDocument;
    /// let document: PolicyDocument = read_json(br#"{
    ///   "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
    ///   "meters": { "calls": { "per_sec": 100 } },
    ///   "tenants": { "acme": { "overrides": [ { "expires_at": 2000, "meters": { "calls": { "per_sec": 500 } } } ] } }
    /// }"#).unwrap();
    /// let policy = Policy::try_from(&document).unwrap();
    /// let acme = policy.effective("acme", EpochMs(1_000)).unwrap();
    /// let calls = &acme.meters["calls"];
    /// assert_eq!((calls.per_sec.origin, calls.per_sec.until), (Origin::Override, Some(EpochMs(2_000))));
    /// assert_eq!(calls.per_sec.from.as_deref(), Some("/tenants/acme/overrides/0/meters/calls/per_sec"));
    /// assert_eq!(calls.burst_seconds.origin, Origin::Default);
    /// assert_eq!((acme.weight.origin, acme.weight.from.as_deref()), (Origin::Tier, Some("/tiers/free/weight")));
    /// ```
    #[must_use]
    pub fn effective(&self, tenant: &str, now: EpochMs) -> Option<EffectiveBody> {
        let (tier, by) = self.tiers.tier(tenant)?;
        let named = self.tiers.named(tenant);
        let view = View {
            policy: self,
            tenant,
            tier,
            now,
        };
        let (origin, from) = match by {
            TierBy::Tenant => (Origin::Tenant, format!("{}/tier", By::Tenant.place(tenant))),
            TierBy::Rule(index) => (Origin::Policy, format!("/tier_rules/{index}/tier")),
            TierBy::Default => (Origin::Policy, "/default_tier".to_owned()),
        };
        let own_keys = self.limits.iter().filter(|(_, limit)| limit.per_tenant);
        let mut budgets = BTreeMap::new();
        for (name, _) in self.budgets.iter().filter(|(_, one)| one.rule().is_some()) {
            budgets.insert(name.clone(), view.budget(name)?);
        }
        Some(EffectiveBody {
            tenant: tenant.to_owned(),
            at: now,
            next_change_at: named.and_then(|named| named.overrides.next_change_at(now)),
            known: named.is_some(),
            tier: said(tier.to_owned(), origin, from),
            weight: view.weight(None)?,
            parent: named.and_then(|named| named.parent.clone()),
            meters: each(&self.meters, |name, meter| view.meter(name, meter)),
            guards: each(&self.guards, |name, guard| view.guard(name, guard)),
            limits: gathered(own_keys.map(|(name, limit)| (name.clone(), view.limit(name, limit)))),
            budgets,
            overload: view.overload(&view.weight(None)?),
        })
    }
}

fn each<A, B>(map: &BTreeMap<String, A>, of: impl Fn(&str, &A) -> B) -> BTreeMap<String, B> {
    gathered(map.iter().map(|(name, one)| (name.clone(), of(name, one))))
}

/// One tenant at one instant.
struct View<'a> {
    policy: &'a Policy,
    tenant: &'a str,
    tier: &'a str,
    now: EpochMs,
}

impl View<'_> {
    /// What the first word says of it, at `path` within whatever says so.
    fn given<T>(&self, path: &str, of: impl Fn(&Changes) -> Option<T>) -> Option<Valued<T>> {
        let mut words = self.policy.tiers.words(self.tenant, self.now);
        words.find_map(|word| Some(self.valued(of(word.changes)?, word.by, path)))
    }

    /// A value that somebody says, at `path` within whatever says so.
    fn valued<T>(&self, value: T, by: By<'_>, path: &str) -> Valued<T> {
        Valued {
            value,
            origin: by.origin(),
            from: Some(format!("{}{path}", by.place(self.tenant))),
            until: by.until(),
        }
    }

    /// A part of its claim to a budget, or to whichever.
    fn claimed<T>(&self, part: &Part<T>, budget: Option<&str>) -> Option<Valued<T>> {
        let tiers = &self.policy.tiers;
        let said = tiers.said(part, (self.tenant, self.tier), budget, self.now)?;
        let within = budget.filter(|_| said.of_budget);
        let within = within.map_or_else(String::new, |name| format!("/budgets{}", step(name)));
        Some(self.valued(said.value, said.by, &format!("{within}/{}", part.field)))
    }

    fn weight(&self, budget: Option<&str>) -> Option<Valued<Decimal>> {
        let weight = self.claimed(&WEIGHT, budget)?;
        Some(Valued {
            value: Decimal(weight.value.as_f64()),
            origin: weight.origin,
            from: weight.from,
            until: weight.until,
        })
    }

    fn meter(&self, name: &str, meter: &Meter) -> EffectiveMeterBody {
        let at = format!("/meters{}", step(name));
        let given = |one: &Changes| one.meters.get(name).copied();
        let body = &meter.body;
        let path = |field: &str| format!("{at}/{field}");
        EffectiveMeterBody {
            per_sec: self
                .given(&path("per_sec"), |one| given(one)?.per_sec)
                .unwrap_or_else(|| base(body.per_sec, meter.numbers.per_sec, path("per_sec"))),
            burst_seconds: self
                .given(&path("burst_seconds"), |one| given(one)?.burst_seconds)
                .unwrap_or_else(|| base(body.burst_seconds, BURST_SECONDS, path("burst_seconds"))),
            max_debt_ms: self
                .given(&path("max_debt_ms"), |one| given(one)?.max_debt_ms)
                .unwrap_or_else(|| base(body.max_debt_ms, MAX_DEBT_MS, path("max_debt_ms"))),
            scope: meter.scope,
            billable: meter.billable,
            enforced: self.policy.enforcing && !meter.shadow,
        }
    }

    fn guard(&self, name: &str, guard: &Guard) -> EffectiveGuardBody {
        let at = format!("/guards{}", step(name));
        let given = |one: &Changes| one.guards.get(name).copied();
        let body = &guard.body;
        let path = |field: &str| format!("{at}/{field}");
        let numbers = guard.numbers;
        EffectiveGuardBody {
            concurrency: self
                .given(&path("concurrency"), |one| given(one)?.concurrency)
                .unwrap_or_else(|| {
                    base(body.concurrency, AmountBody::Unlimited, path("concurrency"))
                }),
            per_minute: self
                .given(&path("per_minute"), |one| given(one)?.per_minute)
                .unwrap_or_else(|| base(body.per_minute, numbers.per_minute, path("per_minute"))),
            lease_ms: self
                .given(&path("lease_ms"), |one| given(one)?.lease_ms)
                .unwrap_or_else(|| base(body.lease_ms, LEASE_MS, path("lease_ms"))),
            scope: guard.scope,
            enforced: self.policy.enforcing && !guard.shadow,
        }
    }

    /// The resources that may be overloaded: while one is, a tenant's share goes by its weight.
    fn overload(&self, weight: &Valued<Decimal>) -> BTreeMap<String, EffectiveOverloadBody> {
        each(&self.policy.overload, |_, config| EffectiveOverloadBody {
            weight: weight.clone(),
            steering: config.steering,
            levels: config.shape.levels() as u64,
            buckets: config.shape.buckets() as u64,
            enforced: self.policy.enforcing && !config.shadow,
        })
    }

    /// The fields of a limit that it has, or that somebody gives it.
    fn limit(&self, name: &str, limit: &Limit) -> BTreeMap<String, Valued<FieldValue>> {
        let at = format!("/limits{}", step(name));
        let fields = LIMIT_FIELDS.into_iter().filter_map(|field| {
            let path = format!("{at}/{field}");
            let given = self.given(&path, |one| value_of(one.limits.get(name)?, field));
            let base = || {
                let value = value_of(&limit.body, field)?;
                Some(said(value, Origin::Policy, path.clone()))
            };
            Some((field.to_owned(), given.or_else(base)?))
        });
        gathered(fields)
    }

    fn budget(&self, name: &str) -> Option<EffectiveBudgetBody> {
        let amount = |part| {
            let unbound = || unsaid(AmountBody::Unlimited);
            self.claimed(part, Some(name)).unwrap_or_else(unbound)
        };
        let floor = self.claimed(&FLOOR, Some(name));
        Some(EffectiveBudgetBody {
            weight: self.weight(Some(name))?,
            borrow_max: amount(&BORROW_MAX),
            lend_max: amount(&LEND_MAX),
            ceiling: amount(&CEILING),
            floor: floor.unwrap_or_else(|| unsaid(0)),
        })
    }
}

/// The policy's word, or the default where it has none.
fn base<T>(body: Option<T>, default: T, from: String) -> Valued<T> {
    match body {
        Some(value) => said(value, Origin::Policy, from),
        None => unsaid(default),
    }
}

/// What counts where nobody says anything.
fn unsaid<T>(value: T) -> Valued<T> {
    Valued {
        value,
        origin: Origin::Default,
        from: None,
        until: None,
    }
}

fn said<T>(value: T, origin: Origin, from: String) -> Valued<T> {
    Valued {
        value,
        origin,
        from: Some(from),
        until: None,
    }
}

/// A field of a body.
fn value_of(body: &impl Serialize, field: &str) -> Option<FieldValue> {
    let value = json::to_value(body).ok()?;
    match value.get(field)? {
        Value::String(text) => Some(FieldValue::Text(text.clone())),
        number => number
            .as_f64()
            .map(|number| FieldValue::Number(Decimal(number))),
    }
}
