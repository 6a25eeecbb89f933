//! What counts for one tenant at one instant: the policy's numbers, with those that its tier, its own entry or an
//! override in force puts in their place.

use std::borrow::Cow;

use weir_core::name::{full_key, tenant_of_key};
use weir_core::units::{EpochMs, Revision};
use weir_fairness::ask::Claimant;
use weir_wire::limit_terms::LimitTerms;
use weir_wire::policy::LimitBody;

use super::Policy;
use super::changes::{Changes, Word};
use super::guard::GuardNumbers;
use super::limit::Limit;
use super::meter::MeterNumbers;
use super::overridden::scale_of;
use super::overrides::Overrides;
use super::tenant::Resolved;

impl Policy {
    /// The tier and weight of a tenant; `None` for one that this policy refuses.
    #[must_use]
    pub fn resolve(&self, tenant: &str, now: EpochMs) -> Option<Resolved<'_>> {
        self.tiers.resolve(tenant, now)
    }

    /// The claim of a tenant at `now`, to the budget of that name; `None` for a tenant that this policy refuses.
    ///
    /// ```
    /// use weir_core::invalid::read_json;
    /// use weir_policy::Policy;
    /// use weir_core::units::{EpochMs, Revision};
    /// use weir_wire::policy::PolicyDocument;
    /// let document: PolicyDocument = read_json(br#"{
    ///   "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
    ///   "tenants": {
    ///     "acme": { "weight": 6, "overrides": [ { "starts_at": 1000, "expires_at": 2000, "weight": 9 } ] },
    ///     "acme/web": { "parent": "acme", "borrow_max": 0 }
    ///   }
    /// }"#).unwrap();
    /// let policy = Policy::try_from(&document).unwrap();
    /// let web = |ms| policy.claimant("acme/web", None, Revision(7), EpochMs(ms)).unwrap().claim;
    /// assert_eq!((web(0).weight.as_f64(), web(0).known, web(0).borrow_max), (1.0, true, Some(0)));
    /// let above = |ms| (web(ms).above[0].weight.as_f64(), web(ms).claim_version.since);
    /// assert_eq!(above(999), (6.0, EpochMs(0)));
    /// assert_eq!(above(1_000), (9.0, EpochMs(1_000)));
    /// assert_eq!(above(2_000), (6.0, EpochMs(2_000)));
    /// ```
    #[must_use]
    pub fn claimant(
        &self,
        tenant: &str,
        budget: Option<&str>,
        revision: Revision,
        now: EpochMs,
    ) -> Option<Claimant> {
        let mut claimant = self.tiers.claimant(tenant, budget, revision, now)?;
        if let Some(budget) = budget.filter(|_| !self.floors.is_empty()) {
            for one in &mut claimant.claim.above {
                one.floors = self.floors.at(budget, Some(&one.name), now);
            }
        }
        Some(claimant)
    }

    /// Units that are set aside by name for tenants of a budget without a parent, at `now`.
    #[must_use]
    pub fn floors_at(&self, budget: &str, now: EpochMs) -> u64 {
        self.floors.at(budget, None, now).units
    }

    /// Whether what is set aside by name for tenants of a budget is the same at every instant.
    #[must_use]
    pub fn floors_are_constant(&self, budget: &str) -> bool {
        self.floors.are_constant(budget)
    }

    /// The numbers of a meter for a tenant; `None` for a meter that this policy does not have.
    #[must_use]
    pub fn meter_numbers(&self, name: &str, tenant: &str, now: EpochMs) -> Option<MeterNumbers> {
        self.meter_by(name, self.tiers.words(tenant, now))
    }

    /// The numbers of a meter by these words, first the one that counts before all others.
    pub(super) fn meter_by<'a>(
        &self,
        name: &str,
        words: impl DoubleEndedIterator<Item = Word<'a>>,
    ) -> Option<MeterNumbers> {
        let base = self.meters.get(name)?.numbers;
        let given = words.filter_map(|word| word.changes.meters.get(name));
        Some(given.rev().fold(base, MeterNumbers::with))
    }

    /// The numbers of a guard for a tenant; `None` for a guard that this policy does not have.
    #[must_use]
    pub fn guard_numbers(&self, name: &str, tenant: &str, now: EpochMs) -> Option<GuardNumbers> {
        self.guard_by(name, self.tiers.words(tenant, now))
    }

    /// The numbers of a guard by these words, first the one that counts before all others.
    pub(super) fn guard_by<'a>(
        &self,
        name: &str,
        words: impl DoubleEndedIterator<Item = Word<'a>>,
    ) -> Option<GuardNumbers> {
        let base = self.guards.get(name)?.numbers;
        let given = words.filter_map(|word| word.changes.guards.get(name));
        Some(given.rev().fold(base, GuardNumbers::with))
    }

    /// A limit as it is for a tenant, counted in the same parts of a unit as for all; `None` for one that this policy
    /// does not have.
    #[must_use]
    pub fn limit_at(
        &self,
        name: &str,
        tenant: Option<&str>,
        now: EpochMs,
    ) -> Option<Cow<'_, Limit>> {
        let limit = self.limits.get(name)?;
        let body = self.limit_body(name, limit, tenant, now);
        Some(match body {
            // Each span of time was checked with the policy.
            Cow::Owned(body) => {
                Limit::read(&body, scale_of(limit)).map_or(Cow::Borrowed(limit), Cow::Owned)
            }
            Cow::Borrowed(_) => Cow::Borrowed(limit),
        })
    }

    /// The limit of a pool: as it is for the tenant whose key the pool is for. Overrides have no word on such a limit, so
    /// that of one revision its windows are the same for all who hold of them.
    pub(super) fn limit_of_pool(&self, name: &str, key: &str) -> Option<Cow<'_, Limit>> {
        self.limit_at(name, Some(tenant_of_key(key)), EpochMs(0))
    }

    fn limit_body<'a>(
        &'a self,
        name: &str,
        limit: &'a Limit,
        tenant: Option<&str>,
        now: EpochMs,
    ) -> Cow<'a, LimitBody> {
        match tenant.filter(|_| limit.per_tenant) {
            None => Cow::Borrowed(&limit.body),
            Some(tenant) => limit_by(name, limit, self.tiers.words(tenant, now)),
        }
    }

    /// The rules of a meter for a tenant, as they travel to a shard; `None` for a meter that this policy does not have,
    /// and where there is no bound: then nothing is asked, only counted.
    ///
    /// ```
    /// use weir_core::invalid::read_json;
    /// use weir_policy::Policy;
    /// use weir_core::units::{EpochMs, Revision};
    /// use weir_wire::policy::PolicyDocument;
    /// let document: PolicyDocument = read_json(br#"{
    ///   "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
    ///   "meters": { "calls": { "per_sec": 100 } },
    ///   "tenants": { "acme": { "overrides": [
    ///     { "meters": { "calls": { "per_sec": 500 } } },
    ///     { "starts_at": 1000, "expires_at": 2000, "meters": { "calls": { "per_sec": "unlimited" } } }
    ///   ] } }
    /// }"#).unwrap();
    /// let policy = Policy::try_from(&document).unwrap();
    /// let rate = |tenant, ms| {
    ///     let terms = policy.meter_terms("calls", tenant, Revision(7), EpochMs(ms))?;
    ///     Some((terms.meter?.per_sec.0, terms.since))
    /// };
    /// assert_eq!(rate("stranger", 1_500), Some((100.0, 0)));
    /// assert_eq!(rate("acme", 999), Some((500.0, 0)));
    /// assert_eq!(rate("acme", 1_500), None);
    /// assert_eq!(rate("acme", 2_000), Some((500.0, 2_000)));
    /// ```
    #[must_use]
    pub fn meter_terms(
        &self,
        name: &str,
        tenant: &str,
        revision: Revision,
        now: EpochMs,
    ) -> Option<LimitTerms> {
        let numbers = self.meter_numbers(name, tenant, now)?.terms()?;
        let terms = LimitTerms::of_meter(name, revision, numbers);
        let changes = |one: &Changes| one.meters.contains_key(name);
        Some(self.own(terms, tenant, &full_key(Some(tenant), ""), now, changes))
    }

    /// The rules of a guard for a tenant, as they travel to a shard; `None` for a guard that this policy does not have.
    /// One without any bound is asked too: it tells how many calls run.
    #[must_use]
    pub fn guard_terms(
        &self,
        name: &str,
        tenant: &str,
        revision: Revision,
        now: EpochMs,
    ) -> Option<LimitTerms> {
        let numbers = self.guard_numbers(name, tenant, now)?.terms();
        let terms = LimitTerms::of_guard(name, revision, numbers);
        let changes = |one: &Changes| one.guards.contains_key(name);
        Some(self.own(terms, tenant, &full_key(Some(tenant), ""), now, changes))
    }

    /// The rules of a limit for one full key of a tenant, as they travel to a shard; `None` for a limit that this policy
    /// does not have.
    #[must_use]
    pub fn limit_terms(
        &self,
        name: &str,
        tenant: Option<&str>,
        key: &str,
        scale: u64,
        revision: Revision,
        now: EpochMs,
    ) -> Option<LimitTerms> {
        let limit = self.limits.get(name)?;
        let tenant = tenant.filter(|_| limit.per_tenant);
        let body = self.limit_body(name, limit, tenant, now).into_owned();
        let terms = LimitTerms::of_limit(name, revision, scale, body);
        let changes = |one: &Changes| one.limits.contains_key(name);
        Some(match tenant {
            None => terms,
            Some(tenant) => self.own(terms, tenant, key, now, changes),
        })
    }

    /// The rules for one key alone, where its tenant's are not those of all. It has rules of its own also while none of its
    /// overrides is in force, so that whoever has heard of one hears of its end as well.
    fn own(
        &self,
        terms: LimitTerms,
        tenant: &str,
        key: &str,
        now: EpochMs,
        changes: impl Fn(&Changes) -> bool,
    ) -> LimitTerms {
        let overrides = self.tiers.named(tenant).map(|named| &named.overrides);
        let mut ever = overrides.into_iter().flat_map(Overrides::iter);
        let overridden = ever.any(|one| changes(&one.changes));
        if overridden
            || self
                .tiers
                .words(tenant, now)
                .any(|word| changes(word.changes))
        {
            let since = overrides.map_or(EpochMs(0), |overrides| overrides.since(now));
            terms.for_key(key, since)
        } else {
            terms
        }
    }
}

/// The rules of a limit by these words, first the one that counts before all others.
pub(super) fn limit_by<'a>(
    name: &str,
    limit: &'a Limit,
    words: impl DoubleEndedIterator<Item = Word<'a>>,
) -> Cow<'a, LimitBody> {
    let given = words.filter_map(|word| word.changes.limits.get(name));
    given
        .rev()
        .fold(Cow::Borrowed(&limit.body), |body, changes| {
            Cow::Owned(changes.over(&body))
        })
}
