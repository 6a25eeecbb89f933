//! The validated table of descriptors: what a request charges that a proxy describes by keys and values.

use weir_core::invalid::{Fault, Invalid};
use weir_core::json::pointer::step;
use weir_core::limits::{
    COST_MAX, DESCRIPTOR_DOMAINS_MAX, DESCRIPTOR_ENTRIES_MAX, DESCRIPTORS_MAX,
};
use weir_core::name::tenant_name;
use weir_core::ordered::OrderedMap;
use weir_wire::descriptor::{DescriptorBody, DescriptorEntryBody};
use weir_wire::policy::Scope;

use super::budget::Budget;
use super::{Policy, bounded, count};

/// The rules by domain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Descriptors(OrderedMap<String, Vec<Descriptor>>);

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Descriptor {
    entries: Vec<Entry>,
    tenant: DescribedTenant,
    budget: String,
    cost: u64,
}

/// An entry that a descriptor has to have.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    key: String,
    value: Option<String>,
}

/// Where the tenant is said.
#[derive(Debug, Clone, PartialEq, Eq)]
enum DescribedTenant {
    Fixed(String),
    /// The value of the entry at that place.
    Entry(usize),
}

/// What a descriptor charges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Described<'a> {
    /// Whom: as the descriptor says it, which may be no name that a tenant can have.
    pub tenant: &'a str,
    /// Which budget.
    pub budget: &'a str,
    /// Units that each hit costs: 1 to [`COST_MAX`].
    pub cost: u64,
}

impl Descriptors {
    /// The rules of a document, by what `policy` has of budgets.
    ///
    /// # Errors
    /// The first fault, at `/descriptors/..`.
    pub(super) fn read(
        bodies: &OrderedMap<String, Vec<DescriptorBody>>,
        policy: &Policy,
    ) -> Result<Self, Invalid> {
        let at = "/descriptors";
        count(at, "domains", bodies.len(), DESCRIPTOR_DOMAINS_MAX)?;
        let rules = bodies.values().map(Vec::len).sum();
        count(at, "rules", rules, DESCRIPTORS_MAX)?;
        let mut domains = OrderedMap::new();
        for (domain, bodies) in bodies {
            let at = format!("{at}{}", step(domain));
            tenant_name(domain).map_err(|fault| Invalid::new(at.clone(), fault))?;
            domains.insert(domain.clone(), rules_of(bodies, policy, &at)?);
        }
        Ok(Self(domains))
    }

    /// What a descriptor of a domain charges by the first rule that fits; `None` where none does: nothing limits it then.
    ///
    /// ```
    /// use weir_core::invalid::read_json;
    /// use weir_policy::Policy;
    /// use weir_wire::policy::PolicyDocument;
    /// let document: PolicyDocument = read_json(br#"{ "regions": ["weur"],
    ///   "budgets": { "tokens": { "limit": 100, "window_ms": 60000, "sharing": "first_come", "scope": "global" } },
    ///   "descriptors": { "edge": [
    ///     { "entries": [{ "key": "path", "value": "/big" }, { "key": "tenant" }],
    ///       "tenant_from": "tenant", "budget": "tokens", "cost": 5 }
    ///   ] } }"#).unwrap();
    /// let descriptors = Policy::try_from(&document).unwrap().descriptors;
    /// let found = descriptors.find("edge", &[("path", "/big"), ("tenant", "acme")]).unwrap();
    /// assert_eq!((found.tenant, found.budget, found.cost_of(3)), ("acme", "tokens", 15));
    /// assert_eq!(descriptors.find("edge", &[("tenant", "acme"), ("path", "/big")]), None);
    /// assert_eq!(descriptors.find("other", &[("path", "/big"), ("tenant", "acme")]), None);
    /// ```
    #[must_use]
    pub fn find<'a>(
        &'a self,
        domain: &str,
        entries: &[(&'a str, &'a str)],
    ) -> Option<Described<'a>> {
        let rules = self.0.get(domain)?;
        let rule = rules.iter().find(|rule| rule.fits(entries))?;
        Some(Described {
            tenant: match &rule.tenant {
                DescribedTenant::Fixed(name) => name,
                DescribedTenant::Entry(place) => entries.get(*place)?.1,
            },
            budget: &rule.budget,
            cost: rule.cost,
        })
    }
}

impl Described<'_> {
    /// Units of so many hits, at most [`COST_MAX`].
    #[must_use]
    pub fn cost_of(&self, hits: u64) -> u64 {
        self.cost.saturating_mul(hits).min(COST_MAX)
    }
}

impl Descriptor {
    fn fits(&self, entries: &[(&str, &str)]) -> bool {
        let fits = |(due, (key, value)): (&Entry, &(&str, &str))| {
            due.key == *key && due.value.as_ref().is_none_or(|due| due == value)
        };
        self.entries.len() == entries.len() && self.entries.iter().zip(entries).all(fits)
    }

    fn read(body: &DescriptorBody, policy: &Policy) -> Result<Self, Invalid> {
        let entries = entries(&body.entries)?;
        let tenant = match (&body.tenant, &body.tenant_from) {
            (Some(_), Some(_)) => {
                let by = "/tenant";
                return Err(Invalid::new("/tenant_from", Fault::Excluded { by }));
            }
            (None, None) => return Err(Invalid::new("/tenant", Fault::Missing)),
            (Some(name), None) => {
                tenant_name(name).map_err(|fault| Invalid::new("/tenant", fault))?;
                DescribedTenant::Fixed(name.clone())
            }
            (None, Some(key)) => {
                let place = entries.iter().position(|entry| entry.key == *key);
                DescribedTenant::Entry(place.ok_or_else(|| {
                    let (name, what) = (key.clone(), "key of this rule's entries");
                    Invalid::new("/tenant_from", Fault::Unknown { name, what })
                })?)
            }
        };
        let name = body.budget.as_ref();
        let name = name.ok_or_else(|| Invalid::new("/budget", Fault::Missing))?;
        leased(name, policy.budgets.get(name))?;
        Ok(Self {
            entries,
            tenant,
            budget: name.clone(),
            cost: bounded("/cost", body.cost.unwrap_or(1), COST_MAX)?,
        })
    }
}

/// Agents hold leases, and lease budgets alone: what only a shard decides, and what each isolate has for itself, no agent
/// can decide.
fn leased(name: &str, budget: Option<&Budget>) -> Result<(), Invalid> {
    let fault = match budget.map(Budget::root) {
        None => Fault::Unknown {
            name: name.to_owned(),
            what: "budget of this policy",
        },
        Some(Scope::Isolate) => Fault::Unserved {
            got: name.to_owned(),
            served: "a budget of scope region or global, which agents lease",
        },
        Some(Scope::Region | Scope::Global) => return Ok(()),
    };
    Err(Invalid::new("/budget", fault))
}

fn rules_of(
    bodies: &[DescriptorBody],
    policy: &Policy,
    at: &str,
) -> Result<Vec<Descriptor>, Invalid> {
    let mut rules: Vec<Descriptor> = Vec::with_capacity(bodies.len());
    for (index, body) in bodies.iter().enumerate() {
        let at = format!("{at}/{index}");
        let rule = Descriptor::read(body, policy).map_err(|refused| refused.under(&at))?;
        if let Some(before) = rules.iter().position(|one| one.entries == rule.entries) {
            let got = format!("the entries of rule {before}");
            return Err(Invalid::new(
                format!("{at}/entries"),
                Fault::Duplicate { got },
            ));
        }
        rules.push(rule);
    }
    Ok(rules)
}

fn entries(bodies: &[DescriptorEntryBody]) -> Result<Vec<Entry>, Invalid> {
    if bodies.is_empty() {
        return Err(Invalid::new("/entries", Fault::Missing));
    }
    count("/entries", "entries", bodies.len(), DESCRIPTOR_ENTRIES_MAX)?;
    let numbered = bodies.iter().enumerate();
    let entries = numbered.map(|(index, body)| {
        let at = |field: &str| format!("/entries/{index}{field}");
        let key = body.key.as_ref();
        let key = key.ok_or_else(|| Invalid::new(at("/key"), Fault::Missing))?;
        tenant_name(key).map_err(|fault| Invalid::new(at("/key"), fault))?;
        if let Some(value) = &body.value {
            tenant_name(value).map_err(|fault| Invalid::new(at("/value"), fault))?;
        }
        Ok(Entry {
            key: key.clone(),
            value: body.value.clone(),
        })
    });
    entries.collect()
}
