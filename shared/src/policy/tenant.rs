//! Which tier and weight a tenant has.

use std::collections::BTreeMap;

use super::name::tenant_name;
use super::weight::Weight;
use super::{count, entries};
use crate::invalid::{Fault, Invalid, step};
use crate::limits::POLICY_ENTRIES_MAX;
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
    let given = [
        ("/parent", body.parent.is_some()),
        ("/borrow_max", body.borrow_max.is_some()),
        ("/lend_max", body.lend_max.is_some()),
        ("/overrides", !body.overrides.is_empty()),
    ];
    if let Some((field, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(Invalid::new(
            field,
            Fault::Unserved {
                got: field[1..].to_owned(),
                served: "tier and weight",
            },
        ));
    }
    let weight = match body.weight {
        Some(weight) => {
            Some(Weight::try_from(weight.0).map_err(|fault| Invalid::new("/weight", fault))?)
        }
        None => None,
    };
    Ok(Named {
        tier: body.tier.clone(),
        weight,
    })
}
