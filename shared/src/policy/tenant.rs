//! Which tier and weight a tenant has, and which tenants are above it.

use std::collections::{BTreeMap, BTreeSet};

use super::name::tenant_name;
use super::weight::Weight;
use super::{between, count, entries, hierarchy};
use crate::fairness::ask::{Above, Party, Standing};
use crate::invalid::{Fault, Invalid, step};
use crate::limits::{JSON_INTEGER_MAX, POLICY_ENTRIES_MAX, TENANT_DEPTH_MAX, WEIGHTS_MAX};
use crate::wire::amount::AmountBody;
use crate::wire::policy::{PolicyDocument, TenantBody, TierBody};

/// Tiers, the rules that give them, and the tenants that are named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tiers {
    weights: BTreeMap<String, Weight>,
    rules: Vec<(String, String)>,
    default_tier: Option<String>,
    tenants: BTreeMap<String, Named>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    tier: Option<String>,
    weight: Option<Weight>,
    parent: Option<String>,
    borrow_max: Option<u64>,
    lend_max: Option<u64>,
}

/// What a tenant resolves to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resolved<'a> {
    /// Its tier.
    pub tier: &'a str,
    /// Its weight.
    pub weight: Weight,
}

impl Tiers {
    /// The tenant's own tier, else the first matching rule's, else the default; its own weight, else the tier's.
    /// `None` for a tenant that the policy does not know and has no default for.
    #[must_use]
    pub fn resolve(&self, tenant: &str) -> Option<Resolved<'_>> {
        let named = self.tenants.get(tenant);
        let own = named.and_then(|named| named.tier.as_deref());
        let rule = || {
            let matching = self
                .rules
                .iter()
                .find(|(prefix, _)| tenant.starts_with(prefix.as_str()));
            matching.map(|(_, tier)| tier.as_str())
        };
        let tier = own.or_else(rule).or(self.default_tier.as_deref())?;
        let weight = named.and_then(|named| named.weight);
        Some(Resolved {
            tier,
            weight: weight.or_else(|| self.weights.get(tier).copied())?,
        })
    }

    /// The claim of a tenant to any budget: its own weight, and those of the tenants above it. `None` as for
    /// [`resolve`](Self::resolve).
    #[must_use]
    pub fn party(&self, tenant: &str) -> Option<Party> {
        let weight = self.resolve(tenant)?.weight;
        let named = self.tenants.get(tenant);
        Some(Party {
            name: tenant.to_owned(),
            standing: Standing {
                weight,
                known: named.is_some(),
                borrow_max: named.and_then(|named| named.borrow_max),
                lend_max: named.and_then(|named| named.lend_max),
                above: named.map_or_else(Vec::new, |named| self.above(named)),
            },
        })
    }

    /// The tenants above one, its parent first.
    fn above(&self, below: &Named) -> Vec<Above> {
        let line = std::iter::successors(below.parent.as_deref(), |name| {
            self.tenants.get(*name)?.parent.as_deref()
        });
        let above = line.take(TENANT_DEPTH_MAX - 1).filter_map(|name| {
            let named = self.tenants.get(name)?;
            Some(Above {
                name: name.to_owned(),
                weight: self.resolve(name)?.weight,
                borrow_max: named.borrow_max,
                lend_max: named.lend_max,
            })
        });
        above.collect()
    }

    /// Refuses a parent that has no weight of its own, and tenants above themselves.
    fn parents(&self) -> Result<(), Invalid> {
        let mut parents = BTreeMap::new();
        for (name, named) in &self.tenants {
            let Some(parent) = named.parent.as_deref() else {
                continue;
            };
            let what = match (self.tenants.contains_key(parent), self.resolve(parent)) {
                (true, Some(_)) => {
                    parents.insert(name.as_str(), parent);
                    continue;
                }
                (true, None) => "tenant with a tier",
                (false, _) => "tenant of this policy",
            };
            let at = format!("/tenants{}/parent", step(name));
            let name = parent.to_owned();
            return Err(Invalid::new(at, Fault::Unknown { name, what }));
        }
        hierarchy::check(&parents)
    }

    /// Refuses more different weights than a decision can sum up.
    fn weights(&self) -> Result<(), Invalid> {
        let own = self.tenants.values().filter_map(|named| named.weight);
        let weights: BTreeSet<Weight> = self.weights.values().copied().chain(own).collect();
        let what = "different weights of tiers and tenants";
        count("/tenants", what, weights.len(), WEIGHTS_MAX)
    }

    fn known(&self, field: &str, tier: Option<&String>) -> Result<(), Invalid> {
        match tier {
            Some(tier) if !self.weights.contains_key(tier) => Err(Invalid::new(
                field,
                Fault::Unknown {
                    name: tier.clone(),
                    what: "tier",
                },
            )),
            _ => Ok(()),
        }
    }
}

impl TryFrom<&PolicyDocument> for Tiers {
    type Error = Invalid;

    fn try_from(document: &PolicyDocument) -> Result<Self, Invalid> {
        let mut tiers = Self {
            weights: entries("/tiers", &document.tiers, tier_weight)?,
            rules: Vec::new(),
            default_tier: document.default_tier.clone(),
            tenants: BTreeMap::new(),
        };
        tiers.known("/default_tier", document.default_tier.as_ref())?;
        tiers.rules = rules(document, &tiers)?;
        for (name, body) in &document.tenants {
            let at = format!("/tenants{}", step(name));
            let named = named(body).map_err(|refused| refused.under(&at))?;
            tiers.known(&format!("{at}/tier"), named.tier.as_ref())?;
            tiers.tenants.insert(name.clone(), named);
        }
        tiers.parents()?;
        tiers.weights()?;
        Ok(tiers)
    }
}

fn rules(document: &PolicyDocument, tiers: &Tiers) -> Result<Vec<(String, String)>, Invalid> {
    count(
        "/tier_rules",
        "rules",
        document.tier_rules.len(),
        POLICY_ENTRIES_MAX,
    )?;
    let mut rules = Vec::new();
    for (index, rule) in document.tier_rules.iter().enumerate() {
        let at = |name: &str| format!("/tier_rules/{index}/{name}");
        let missing = |name: &str| Invalid::new(at(name), Fault::Missing);
        let prefix = rule.prefix.clone().ok_or_else(|| missing("prefix"))?;
        tenant_name(&prefix).map_err(|fault| Invalid::new(at("prefix"), fault))?;
        let tier = rule.tier.clone().ok_or_else(|| missing("tier"))?;
        tiers.known(&at("tier"), Some(&tier))?;
        rules.push((prefix, tier));
    }
    Ok(rules)
}

fn tier_weight(body: &TierBody) -> Result<Weight, Invalid> {
    let weight = super::required("/weight", body.weight)?;
    Weight::try_from(weight.0).map_err(|fault| Invalid::new("/weight", fault))
}

fn named(body: &TenantBody) -> Result<Named, Invalid> {
    if !body.overrides.is_empty() {
        let fault = Fault::Unserved {
            got: "overrides".to_owned(),
            served: "tier, weight, parent, borrow_max and lend_max",
        };
        return Err(Invalid::new("/overrides", fault));
    }
    let weight = body.weight.map(|weight| Weight::try_from(weight.0));
    let at = |fault| Invalid::new("/weight", fault);
    Ok(Named {
        tier: body.tier.clone(),
        weight: weight.transpose().map_err(at)?,
        parent: body.parent.clone(),
        borrow_max: amount("/borrow_max", body.borrow_max)?,
        lend_max: amount("/lend_max", body.lend_max)?,
    })
}

/// A number of units; `None` where there is no bound.
fn amount(field: &str, body: Option<AmountBody>) -> Result<Option<u64>, Invalid> {
    let units = body.and_then(AmountBody::units);
    units
        .map(|units| between(field, units, 0, JSON_INTEGER_MAX))
        .transpose()
}
