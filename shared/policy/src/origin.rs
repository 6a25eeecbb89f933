//! What counts for one tenant at one instant, each value with whose word it is.

use serde::Serialize;
use serde_json::Value;
use weir_core::json;
use weir_core::json::pointer::step;
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;
use weir_wire::decimal::Decimal;
use weir_wire::effective::{EffectiveBody, EffectiveOverloadBody, FieldValue, Origin, Valued};
use weir_wire::numbers::{
    BudgetOverrideBody, EffectiveBudgetBody, EffectiveGuardBody, EffectiveMeterBody, Layers,
    LimitOverrideBody,
};

use super::Policy;
use super::changes::{By, Changes};
use super::guard::Guard;
use super::limit::Limit;
use super::meter::Meter;
use super::tenant::TierBy;

impl Policy {
    /// What counts for a tenant at `now`; `None` for one that this policy refuses.
    ///
    /// ```
    /// use weir_core::invalid::read_json;
    /// use weir_policy::Policy;
    /// use weir_core::units::EpochMs;
    /// use weir_wire::effective::Origin;
    /// use weir_wire::policy::PolicyDocument;
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
        let mut budgets = OrderedMap::new();
        for (name, _) in self.budgets.iter().filter(|(_, one)| one.rule().is_some()) {
            let claim = EffectiveBudgetBody::of(&view.claim(Some(name)))?;
            budgets.insert(name.clone(), claim);
        }
        Some(EffectiveBody {
            tenant: tenant.to_owned(),
            at: now,
            next_change_at: named.and_then(|named| named.overrides.next_change_at(now)),
            known: named.is_some(),
            tier: said(tier.to_owned(), origin, from),
            weight: view.weight()?,
            parent: named.and_then(|named| named.parent.clone()),
            meters: each(&self.meters, |name, meter| view.meter(name, meter)),
            guards: each(&self.guards, |name, guard| view.guard(name, guard)),
            limits: OrderedMap::from_iter(
                own_keys.map(|(name, limit)| (name.clone(), view.limit(name, limit))),
            ),
            budgets,
            overload: view.overload(&view.weight()?),
        })
    }
}

fn each<A, B>(
    map: &OrderedMap<String, A>,
    of: impl Fn(&str, &A) -> Option<B>,
) -> OrderedMap<String, B> {
    let known = map
        .iter()
        .filter_map(|(name, one)| Some((name.clone(), of(name, one)?)));
    OrderedMap::from_iter(known)
}

/// One tenant at one instant.
struct View<'a> {
    policy: &'a Policy,
    tenant: &'a str,
    tier: &'a str,
    now: EpochMs,
}

impl View<'_> {
    /// What the first word says of it, at `path` within whatever says so; else what the policy says at the same place.
    fn given<T>(
        &self,
        path: String,
        of: impl Fn(&Changes) -> Option<T>,
        base: Option<T>,
    ) -> Option<Valued<T>> {
        let mut words = self.policy.tiers.words(self.tenant, self.now);
        let given = words.find_map(|word| Some(self.valued(of(word.changes)?, word.by, &path)));
        given.or_else(|| Some(said(base?, Origin::Policy, path)))
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

    /// Its claim to a budget, or to whichever.
    fn claim<'a>(&'a self, budget: Option<&'a str>) -> ClaimTo<'a> {
        ClaimTo { view: self, budget }
    }

    fn weight(&self) -> Option<Valued<Decimal>> {
        self.claim(None).first("weight", |said| said.weight, None)
    }

    fn numbers<F, C: Fn(&Changes) -> Option<&F>>(
        &self,
        section: &str,
        name: &str,
        base: F,
        changed: C,
    ) -> NumbersOf<'_, F, C> {
        NumbersOf {
            view: self,
            path: format!("/{section}{}", step(name)),
            changed,
            base,
        }
    }

    fn meter(&self, name: &str, meter: &Meter) -> Option<EffectiveMeterBody> {
        let base = meter.body.numbers();
        let numbers = self.numbers("meters", name, base, |one| one.meters.get(name));
        let enforced = self.policy.enforcing && !meter.shadow;
        EffectiveMeterBody::of(&numbers, meter.scope, meter.billable, enforced)
    }

    fn guard(&self, name: &str, guard: &Guard) -> Option<EffectiveGuardBody> {
        let base = guard.body.numbers();
        let numbers = self.numbers("guards", name, base, |one| one.guards.get(name));
        let enforced = self.policy.enforcing && !guard.shadow;
        EffectiveGuardBody::of(&numbers, guard.scope, enforced)
    }

    /// The resources that may be overloaded: while one is, a tenant's share goes by its weight.
    fn overload(&self, weight: &Valued<Decimal>) -> OrderedMap<String, EffectiveOverloadBody> {
        each(&self.policy.overload, |_, config| {
            Some(EffectiveOverloadBody {
                weight: weight.clone(),
                steering: config.steering,
                levels: config.shape.levels() as u64,
                buckets: config.shape.buckets() as u64,
                enforced: self.policy.enforcing && !config.shadow,
            })
        })
    }

    /// The fields of a limit that it has, or that somebody gives it.
    fn limit(&self, name: &str, limit: &Limit) -> OrderedMap<String, Valued<FieldValue>> {
        let at = format!("/limits{}", step(name));
        let fields = LimitOverrideBody::NUMBERS.iter().filter_map(|number| {
            let field = number.name;
            let of = |one: &Changes| value_of(one.limits.get(name)?, field);
            let valued = self.given(format!("{at}/{field}"), of, value_of(&limit.body, field))?;
            Some((field.to_owned(), valued))
        });
        OrderedMap::from_iter(fields)
    }
}

/// The numbers of a meter or a guard, as changes and the policy have them.
struct NumbersOf<'a, F, C> {
    view: &'a View<'a>,
    path: String,
    changed: C,
    base: F,
}

impl<F, C: Fn(&Changes) -> Option<&F>> Layers<F> for NumbersOf<'_, F, C> {
    fn first<T>(
        &self,
        field: &str,
        of: impl Fn(&F) -> Option<T>,
        default: Option<T>,
    ) -> Option<Valued<T>> {
        let path = format!("{}/{field}", self.path);
        let changed = |changes: &Changes| of((self.changed)(changes)?);
        let given = self.view.given(path, changed, of(&self.base));
        given.or_else(|| default.map(unsaid))
    }
}

/// The claim of a tenant to one budget, or to whichever.
struct ClaimTo<'a> {
    view: &'a View<'a>,
    budget: Option<&'a str>,
}

impl Layers<BudgetOverrideBody> for ClaimTo<'_> {
    fn first<T>(
        &self,
        field: &str,
        of: impl Fn(&BudgetOverrideBody) -> Option<T>,
        default: Option<T>,
    ) -> Option<Valued<T>> {
        let View {
            policy,
            tenant,
            tier,
            now,
        } = *self.view;
        let tiers = &policy.tiers;
        let said = tiers.said(|claim| of(&claim.body), (tenant, tier), self.budget, now);
        let Some(said) = said else {
            return default.map(unsaid);
        };
        let within = self.budget.filter(|_| said.of_budget);
        let within = within.map_or_else(String::new, |name| format!("/budgets{}", step(name)));
        let path = format!("{within}/{field}");
        Some(self.view.valued(said.value, said.by, &path))
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
