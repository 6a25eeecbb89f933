//! What counts for one tenant at one instant: the policy's numbers, with those that an override in force puts in their
//! place.

use std::borrow::Cow;

use super::Policy;
use super::guard::GuardNumbers;
use super::limit::Limit;
use super::meter::MeterNumbers;
use super::overridden::{merged, scale_of};
use super::overrides::{Override, Overrides};
use super::tenant::Resolved;
use crate::fairness::ask::Party;
use crate::name::full_key;
use crate::units::{EpochMs, Revision};
use crate::wire::limit_terms::LimitTerms;
use crate::wire::policy::LimitBody;

impl Policy {
    /// The tier and weight of a tenant; `None` for one that this policy refuses.
    #[must_use]
    pub fn resolve(&self, tenant: &str, now: EpochMs) -> Option<Resolved<'_>> {
        self.tiers.resolve(tenant, now)
    }

    /// The claim of a tenant at `now`, to the budget of that name; `None` for a tenant that this policy refuses.
    ///
    /// ```
    /// use weir_shared::invalid::read_json;
    /// use weir_shared::policy::Policy;
    /// use weir_shared::units::{EpochMs, Revision};
    /// use weir_shared::wire::policy::PolicyDocument;
    /// let document: PolicyDocument = read_json(br#"{
    ///   "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
    ///   "tenants": {
    ///     "acme": { "weight": 6, "overrides": [ { "starts_at": 1000, "expires_at": 2000, "weight": 9 } ] },
    ///     "acme/web": { "parent": "acme", "borrow_max": 0 }
    ///   }
    /// }"#).unwrap();
    /// let policy = Policy::try_from(&document).unwrap();
    /// let web = |ms| policy.party("acme/web", None, Revision(7), EpochMs(ms)).unwrap().standing;
    /// assert_eq!((web(0).weight.as_f64(), web(0).known, web(0).borrow_max), (1.0, true, Some(0)));
    /// let above = |ms| (web(ms).above[0].weight.as_f64(), web(ms).as_of.since);
    /// assert_eq!(above(999), (6.0, EpochMs(0)));
    /// assert_eq!(above(1_000), (9.0, EpochMs(1_000)));
    /// assert_eq!(above(2_000), (6.0, EpochMs(2_000)));
    /// ```
    #[must_use]
    pub fn party(
        &self,
        tenant: &str,
        budget: Option<&str>,
        revision: Revision,
        now: EpochMs,
    ) -> Option<Party> {
        self.tiers.party(tenant, budget, revision, now)
    }

    /// The numbers of a meter for a tenant; `None` for a meter that this policy does not have.
    #[must_use]
    pub fn meter_numbers(&self, name: &str, tenant: &str, now: EpochMs) -> Option<MeterNumbers> {
        let base = self.meters.get(name)?.numbers;
        let given = self.given(tenant, now, |one| one.meters.get(name));
        Some(given.rev().fold(base, MeterNumbers::with))
    }

    /// The numbers of a guard for a tenant; `None` for a guard that this policy does not have.
    #[must_use]
    pub fn guard_numbers(&self, name: &str, tenant: &str, now: EpochMs) -> Option<GuardNumbers> {
        let base = self.guards.get(name)?.numbers;
        let given = self.given(tenant, now, |one| one.guards.get(name));
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

    pub(super) fn limit_body<'a>(
        &'a self,
        name: &str,
        limit: &'a Limit,
        tenant: Option<&str>,
        now: EpochMs,
    ) -> Cow<'a, LimitBody> {
        let tenant = tenant.filter(|_| limit.per_tenant);
        let given = tenant.map(|tenant| self.given(tenant, now, |one| one.limits.get(name)));
        let given = given.into_iter().flatten();
        given
            .rev()
            .fold(Cow::Borrowed(&limit.body), |body, changes| {
                Cow::Owned(merged(&body, changes))
            })
    }

    /// The rules of a meter for a tenant, as they travel to a shard; `None` for a meter that this policy does not have,
    /// and where there is no bound: then nothing is asked, only counted.
    ///
    /// ```
    /// use weir_shared::invalid::read_json;
    /// use weir_shared::policy::Policy;
    /// use weir_shared::units::{EpochMs, Revision};
    /// use weir_shared::wire::policy::PolicyDocument;
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
        let changes = |one: &Override| one.meters.contains_key(name);
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
        let changes = |one: &Override| one.guards.contains_key(name);
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
        let changes = |one: &Override| one.limits.contains_key(name);
        Some(match tenant {
            None => terms,
            Some(tenant) => self.own(terms, tenant, key, now, changes),
        })
    }

    /// The rules for one key alone, where overrides of its tenant change them. It has rules of its own also while none of
    /// those is in force, so that whoever has heard of an override hears of its end as well.
    fn own(
        &self,
        terms: LimitTerms,
        tenant: &str,
        key: &str,
        now: EpochMs,
        changes: impl Fn(&Override) -> bool,
    ) -> LimitTerms {
        let overrides = self.overrides(tenant);
        match overrides.filter(|overrides| overrides.iter().any(changes)) {
            None => terms,
            Some(overrides) => terms.for_key(key, overrides.since(now)),
        }
    }

    fn overrides(&self, tenant: &str) -> Option<&Overrides> {
        Some(&self.tiers.named(tenant)?.overrides)
    }

    /// What the overrides in force give, first the one that counts before all others.
    fn given<'a, T: 'a>(
        &'a self,
        tenant: &str,
        now: EpochMs,
        of: impl Fn(&'a Override) -> Option<&'a T>,
    ) -> impl DoubleEndedIterator<Item = &'a T> {
        let overrides = self.overrides(tenant).into_iter();
        overrides
            .flat_map(move |overrides| overrides.in_force(now))
            .filter_map(of)
    }
}
