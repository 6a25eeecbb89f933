//! The rules in force: a policy document that was validated whole. Nothing out of range is found at check time.

pub mod algorithm;
pub mod api_keys;
pub mod budget;
pub mod changes;
mod claim;
pub mod composite;
pub mod descriptor;
pub mod doors;
pub mod effective;
mod fields;
mod floors;
mod global;
pub mod guard;
pub mod handover;
mod hierarchy;
pub mod ideal;
pub mod limit;
pub mod meter;
pub mod network;
mod origin;
mod overridden;
pub mod overrides;
pub mod patch;
pub mod per_revision;
pub mod region;
pub mod route;
mod served;
pub mod stored;
pub mod tenant;
pub mod work;

use api_keys::ApiKeys;
use budget::Budget;
use descriptor::Descriptors;
use floors::FloorSums;
use guard::Guard;
use limit::Limit;
use meter::Meter;
use network::Cidr;
use route::{Route, Unrouted};
use tenant::Tiers;
use weir_core::invalid::{Fault, Invalid};
use weir_core::json::pointer::step;
use weir_core::limits::{
    OVERLOAD_RESOURCES_MAX, POLICY_ENTRIES_MAX, POLICY_TENANTS_MAX, REGIONS_MAX, TENANTS_MAX,
    TRUSTED_PROXIES_MAX,
};
use weir_core::name::{label, tenant_name};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, Revision};
use weir_fairness::weight::Weight;
use weir_federation::pool_name::PoolName;
use weir_overload::config::Config as Overload;
use weir_wire::exchange::Terms;
use weir_wire::policy::{HeaderDialect, PolicyDocument, Scope, Sharing};

/// A validated policy.
///
/// ```
/// use weir_core::invalid::read_json;
/// use weir_policy::Policy;
/// use weir_wire::policy::PolicyDocument;
/// let document: PolicyDocument = read_json(br#"{
///   "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
///   "budgets": { "tokens": { "limit": 0, "window_ms": 60000, "sharing": "first_come", "scope": "global" } }
/// }"#).unwrap();
/// let refused = Policy::try_from(&document).unwrap_err();
/// assert_eq!(refused.field, "/budgets/tokens/limit");
/// assert_eq!(refused.fault.to_string(), "0 is outside 1 to 9007199254740991");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Whether decisions are enforced.
    pub enforcing: bool,
    /// The regions that decide; at least one.
    pub regions: Vec<String>,
    /// Where coordinators, registry and ledgers are first placed.
    pub home: String,
    /// Tiers, rules and named tenants.
    pub tiers: Tiers,
    /// Tenants told apart: 1 to 10^6. Those beyond, and not named, share one account.
    pub tenants_max: u64,
    /// The weight that tenants without a name in the policy have together, at most.
    pub unknown_weight_max: Weight,
    /// Budgets by name.
    pub budgets: OrderedMap<String, Budget>,
    /// Limits by name. What composite limits refer to is among them.
    pub limits: OrderedMap<String, Limit>,
    /// Meters by name.
    pub meters: OrderedMap<String, Meter>,
    /// Guards by name.
    pub guards: OrderedMap<String, Guard>,
    /// Overload resources by name.
    pub overload: OrderedMap<String, Overload>,
    /// The gateway's routes; the first that fits takes a request.
    pub routes: Vec<Route>,
    /// What becomes of requests that no route takes.
    pub unrouted: Unrouted,
    /// Networks of proxies whose word on where a request comes from is taken.
    pub trusted_proxies: Vec<Cidr>,
    /// Whether origins may be inside of a network ([`crate::doors`]).
    pub allow_private_origins: bool,
    /// Whose an API key is.
    pub api_keys: ApiKeys,
    /// What descriptors of Envoy's rate limit service charge.
    pub descriptors: Descriptors,
    /// The rate-limit headers of a decision.
    pub headers: HeaderDialect,
    /// What is set aside by name for tenants of budgets.
    floors: FloorSums,
}

impl Policy {
    /// Whether units used of a meter are billed: `billable` of the meter; those of one that the policy does not have are not.
    #[must_use]
    pub fn bills(&self, meter: &str) -> bool {
        self.meters.get(meter).is_some_and(|meter| meter.billable)
    }

    /// The terms of a pool by its name, in `region` at `now`: those of a budget, or of a global limit for whichever key;
    /// `None` for what this policy does not lend there.
    #[must_use]
    pub fn terms(
        &self,
        pool: &str,
        region: &str,
        revision: Revision,
        now: EpochMs,
    ) -> Option<Terms> {
        match PoolName::try_from(pool).ok()? {
            PoolName::Budget(name) => self.budget_terms(&name, region, revision, now),
            PoolName::Limit { limit, key } => self.limit_of_pool(&limit, &key)?.terms(revision),
        }
    }

    /// Where the windows of a pool are opened: the scope whose holder lends the whole of them. `None` for what this
    /// policy does not have.
    #[must_use]
    pub fn root(&self, pool: &str) -> Option<Scope> {
        match PoolName::try_from(pool).ok()? {
            PoolName::Budget(name) => Some(self.budgets.get(&name)?.root()),
            PoolName::Limit { limit, .. } => {
                self.limits.get(&limit)?.terms(Revision(0))?;
                Some(Scope::Global)
            }
        }
    }

    /// Whether the windows of a pool are each region's own.
    #[must_use]
    pub fn region_owns(&self, pool: &str) -> bool {
        self.root(pool) == Some(Scope::Region)
    }

    /// Whether isolates hold leases of a pool.
    #[must_use]
    pub fn lends(&self, pool: &str) -> bool {
        self.root(pool).is_some_and(|scope| scope != Scope::Isolate)
    }

    /// The terms of the budget of that name in `region` at `now`; `None` where the region has no slice of it, and for a
    /// budget that this policy does not have.
    ///
    /// ```
    /// use weir_core::invalid::read_json;
    /// use weir_policy::Policy;
    /// use weir_core::units::{EpochMs, Revision};
    /// use weir_wire::policy::PolicyDocument;
    /// let document: PolicyDocument = read_json(br#"{ "regions": ["weur", "enam"], "budgets": {
    ///   "tokens": { "limit": 101, "window_ms": 60000, "sharing": "static_partition", "scope": "global" }
    /// }}"#).unwrap();
    /// let policy = Policy::try_from(&document).unwrap();
    /// let limit = |region| Some(policy.budget_terms("tokens", region, Revision(1), EpochMs(0))?.limit);
    /// assert_eq!((limit("weur"), limit("enam"), limit("oc")), (Some(51), Some(50), None));
    /// ```
    #[must_use]
    pub fn budget_terms(
        &self,
        name: &str,
        region: &str,
        revision: Revision,
        now: EpochMs,
    ) -> Option<Terms> {
        let budget = self.budgets.get(name)?;
        let mut terms = budget.terms(revision, self.tenants_max, self.unknown_weight_max);
        if let Some(sharing) = terms.sharing.as_mut() {
            sharing.floors = self.floors.at(name, None, now).into();
        }
        let limit = match budget.sharing {
            Sharing::StaticPartition => budget.slice(&self.regions, region),
            _ => terms.limit,
        };
        (limit > 0).then_some(Terms { limit, ..terms })
    }
}

impl TryFrom<&PolicyDocument> for Policy {
    type Error = Invalid;

    fn try_from(document: &PolicyDocument) -> Result<Self, Invalid> {
        let resources = document.overload.len();
        count(
            "/overload",
            "overload resources",
            resources,
            OVERLOAD_RESOURCES_MAX,
        )?;
        let tenants = document.tenants.len();
        count("/tenants", "tenants", tenants, POLICY_TENANTS_MAX)?;
        let regions = regions(document)?;
        let home = home(document, &regions)?;
        let tiers = Tiers::try_from(document)?;
        let tenants_max = bounded("/tenants_max", document.tenants_max, TENANTS_MAX)?;
        let unknown_weight_max = Weight::try_from(document.unknown_weight_max.0)
            .map_err(|fault| Invalid::new("/unknown_weight_max", fault))?;
        for name in document.tenants.keys() {
            tenant_name(name)
                .map_err(|fault| Invalid::new(format!("/tenants{}", step(name)), fault))?;
        }
        let budgets = entries("/budgets", &document.budgets, |body| {
            Budget::try_from(body)?.divided(&regions)
        })?;
        let mut policy = Self {
            enforcing: document.enforcing,
            regions,
            home,
            tiers,
            tenants_max,
            unknown_weight_max,
            budgets,
            limits: limits(document)?,
            meters: entries("/meters", &document.meters, |body| Meter::try_from(body))?,
            guards: entries("/guards", &document.guards, |body| Guard::try_from(body))?,
            overload: entries("/overload", &document.overload, |body| {
                Overload::try_from(body)
            })?,
            routes: Vec::new(),
            unrouted: route::unrouted(document)?,
            trusted_proxies: trusted_proxies(document)?,
            allow_private_origins: document.allow_private_origins,
            api_keys: ApiKeys::read(&document.api_keys)?,
            descriptors: Descriptors::default(),
            headers: document.rate_limit_headers,
            floors: FloorSums::default(),
        };
        // They name what the rest of the policy has.
        policy.routes = route::routes(document, &policy)?;
        policy.descriptors = Descriptors::read(&document.descriptors, &policy)?;
        overridden::check(&policy)?;
        policy.floors = floors::sums(&policy)?;
        Ok(policy)
    }
}

/// The limits, each counted so finely that whatever a composite limit charges it is whole.
fn limits(document: &PolicyDocument) -> Result<OrderedMap<String, Limit>, Invalid> {
    let mut limits = entries("/limits", &document.limits, |body| Limit::read(body, 1))?;
    for (name, scale) in composite::scales(&limits)? {
        if let Some(body) = document.limits.get(&name) {
            limits.insert(name, Limit::read(body, scale)?);
        }
    }
    Ok(limits)
}

/// Builds a map's entries, each fault under its own pointer.
pub(crate) fn entries<B, D>(
    field: &'static str,
    bodies: &OrderedMap<String, B>,
    build: impl Fn(&B) -> Result<D, Invalid>,
) -> Result<OrderedMap<String, D>, Invalid> {
    count(field, "entries", bodies.len(), POLICY_ENTRIES_MAX)?;
    let mut built = OrderedMap::new();
    for (name, body) in bodies {
        let at = format!("{field}{}", step(name));
        label(name).map_err(|fault| Invalid::new(at.clone(), fault))?;
        built.insert(
            name.clone(),
            build(body).map_err(|refused| refused.under(&at))?,
        );
    }
    Ok(built)
}

/// The wire's own name of a value, for a refusal.
pub(crate) fn wire_name(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    text.trim_matches('"').to_owned()
}

/// Refuses an integer outside 1 to `max`.
pub(crate) fn bounded(field: &str, got: u64, max: u64) -> Result<u64, Invalid> {
    between(field, got, 1, max)
}

/// Refuses an integer outside `min` to `max`.
///
/// # Errors
/// [`Fault::OutOfRange`] with the integer and the bounds.
pub fn between(field: &str, got: u64, min: u64, max: u64) -> Result<u64, Invalid> {
    if (min..=max).contains(&got) {
        return Ok(got);
    }
    Err(Invalid::new(
        field,
        Fault::OutOfRange {
            got: got.to_string(),
            min: min.to_string(),
            max: max.to_string(),
        },
    ))
}

/// The value.
///
/// # Errors
/// [`Fault::Missing`] where there is none.
pub fn required<T: Copy>(field: &str, value: Option<T>) -> Result<T, Invalid> {
    value.ok_or_else(|| Invalid::new(field, Fault::Missing))
}

/// Refuses a list or map of more than `max`.
///
/// # Errors
/// [`Fault::TooMany`] with how many there are.
pub fn count(field: &str, what: &'static str, got: usize, max: usize) -> Result<(), Invalid> {
    if got <= max {
        return Ok(());
    }
    Err(Invalid::new(field, Fault::TooMany { got, max, what }))
}

fn regions(document: &PolicyDocument) -> Result<Vec<String>, Invalid> {
    count("/regions", "regions", document.regions.len(), REGIONS_MAX)?;
    if document.regions.is_empty() {
        return Err(Invalid::new("/regions", Fault::Missing));
    }
    for (index, region) in document.regions.iter().enumerate() {
        let at = format!("/regions/{index}");
        label(region).map_err(|fault| Invalid::new(at.clone(), fault))?;
        if document.regions[..index].contains(region) {
            return Err(Invalid::new(
                at,
                Fault::Duplicate {
                    got: region.clone(),
                },
            ));
        }
    }
    Ok(document.regions.clone())
}

fn home(document: &PolicyDocument, regions: &[String]) -> Result<String, Invalid> {
    match &document.home {
        None => Ok(regions[0].clone()),
        Some(home) if regions.contains(home) => Ok(home.clone()),
        Some(home) => Err(Invalid::new(
            "/home",
            Fault::Unknown {
                name: home.clone(),
                what: "region of this policy",
            },
        )),
    }
}

fn trusted_proxies(document: &PolicyDocument) -> Result<Vec<Cidr>, Invalid> {
    let networks = &document.trusted_proxies;
    count(
        "/trusted_proxies",
        "networks",
        networks.len(),
        TRUSTED_PROXIES_MAX,
    )?;
    let numbered = networks.iter().enumerate();
    let networks = numbered.map(|(index, network)| {
        let at = |fault| Invalid::new(format!("/trusted_proxies/{index}"), fault);
        Cidr::read(network).map_err(at)
    });
    networks.collect()
}
