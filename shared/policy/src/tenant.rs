//! Which tier and weight a tenant has, and which tenants are above it.

use weir_core::invalid::{Fault, Invalid};
use weir_core::json::pointer::step;
use weir_core::limits::{POLICY_ENTRIES_MAX, TENANT_DEPTH_MAX, WEIGHTS_MAX};
use weir_core::name::tenant_name;
use weir_core::ordered::{OrderedMap, OrderedSet};
use weir_core::units::{EpochMs, Revision};
use weir_fairness::ask::{Above, ClaimVersion, Claimant, TenantClaim};
use weir_fairness::weight::Weight;
use weir_wire::numbers::BudgetOverrideBody;
use weir_wire::policy::{PolicyDocument, TenantBody, TierBody};

use super::changes::{By, Changes, Word};
use super::claim::Claim;
use super::overrides::Overrides;
use super::{count, entries, hierarchy};

/// Tiers, the rules that give them, and the tenants that are named.
#[derive(Debug, Clone, PartialEq)]
pub struct Tiers {
    tiers: OrderedMap<String, Tier>,
    /// Whether any of them says more than a weight.
    tiers_change: bool,
    rules: Vec<(String, String)>,
    default_tier: Option<String>,
    tenants: OrderedMap<String, Named>,
}

/// A tier.
#[derive(Debug, Clone, PartialEq)]
pub struct Tier {
    /// What each of its tenants claims of every budget: its weight, which a tier always says.
    pub claim: Claim,
    /// What else it says of each of them.
    pub changes: Changes,
}

/// A tenant that the policy names, by its own word alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    /// Its tier.
    pub tier: Option<String>,
    /// The tenant above it.
    pub parent: Option<String>,
    /// What it claims of every budget.
    pub claim: Claim,
    /// What else it says of the tenant.
    pub changes: Changes,
    /// Changes with a start and an end.
    pub overrides: Overrides,
}

/// What a tenant resolves to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resolved<'a> {
    /// Its tier.
    pub tier: &'a str,
    /// Its weight.
    pub weight: Weight,
}

/// Whose word gives a tenant its tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TierBy {
    /// The tenant's own.
    Tenant,
    /// That of the rule at this place of the list.
    Rule(usize),
    /// The default's.
    Default,
}

impl Tiers {
    /// The tenant's own tier, else the first matching rule's, else the default; the weight of the override in force, else
    /// its own, else the tier's. `None` for a tenant that the policy does not know and has no default for.
    #[must_use]
    pub fn resolve(&self, tenant: &str, now: EpochMs) -> Option<Resolved<'_>> {
        let (tier, _) = self.tier(tenant)?;
        let said = self.said(|claim| claim.weight, (tenant, tier), None, now)?;
        let weight = said.value;
        Some(Resolved { tier, weight })
    }

    /// The tenant's tier, and who says so.
    #[must_use]
    pub fn tier(&self, tenant: &str) -> Option<(&str, TierBy)> {
        let own = self.tenants.get(tenant).and_then(|one| one.tier.as_deref());
        let rule = || {
            let mut rules = self.rules.iter().enumerate();
            let (index, (_, tier)) =
                rules.find(|(_, (prefix, _))| tenant.starts_with(prefix.as_str()))?;
            Some((tier.as_str(), TierBy::Rule(index)))
        };
        let default = || Some((self.default_tier.as_deref()?, TierBy::Default));
        own.map(|tier| (tier, TierBy::Tenant))
            .or_else(rule)
            .or_else(default)
    }

    /// The tier of that name.
    #[must_use]
    pub fn tier_named(&self, tier: &str) -> Option<&Tier> {
        self.tiers.get(tier)
    }

    /// Whose words count for a tenant at `now`, first the one that counts before all others.
    pub fn words(&self, tenant: &str, now: EpochMs) -> impl DoubleEndedIterator<Item = Word<'_>> {
        let named = self.tenants.get(tenant);
        let overrides = named.map(|named| named.overrides.in_force(now));
        let overrides = overrides.into_iter().flatten().map(Word::of_override);
        let own = named.map(|named| Word {
            changes: &named.changes,
            by: By::Tenant,
        });
        // Most policies need no look at their rules for it.
        let tier = self.tiers_change.then(|| self.tier(tenant)).flatten();
        let tier = tier.and_then(|(tier, _)| self.tier_word(tier));
        overrides.chain(own).chain(tier)
    }

    /// What a tier says.
    #[must_use]
    pub fn tier_word<'a>(&'a self, tier: &str) -> Option<Word<'a>> {
        let (name, tier) = self.tiers.get_key_value(tier)?;
        Some(Word {
            changes: &tier.changes,
            by: By::Tier(name),
        })
    }

    /// The names of the tiers.
    pub fn tiers(&self) -> impl Iterator<Item = &str> {
        self.tiers.keys().map(String::as_str)
    }

    /// What the policy says of a tenant by its name.
    #[must_use]
    pub fn named(&self, tenant: &str) -> Option<&Named> {
        self.tenants.get(tenant)
    }

    /// Whether a tenant's claims are the same at every instant: nothing is overridden of it nor of those above it.
    #[must_use]
    pub fn has_no_overrides(&self, tenant: &str) -> bool {
        let own = self.tenants.get(tenant);
        let line = std::iter::successors(own, |one| self.tenants.get(one.parent.as_deref()?));
        let mut line = line.take(TENANT_DEPTH_MAX);
        line.all(|one| one.overrides.iter().next().is_none())
    }

    /// The tenants that the policy names, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Named)> {
        self.tenants
            .iter()
            .map(|(name, named)| (name.as_str(), named))
    }

    /// The claim of a tenant at `now`: its own weight, and those of the tenants above it, without what is set aside for
    /// all below those. `budget` names the one that it
    /// is a claim to, where an override may have a word on it. `None` as for [`resolve`](Self::resolve).
    #[must_use]
    pub fn claimant(
        &self,
        tenant: &str,
        budget: Option<&str>,
        revision: Revision,
        now: EpochMs,
    ) -> Option<Claimant> {
        let claim = self.claim(tenant, budget, now)?;
        let named = self.tenants.get(tenant);
        let above = named.map_or_else(Vec::new, |named| self.above(named, budget, now));
        let line = std::iter::once(tenant).chain(above.iter().map(|one| one.name.as_str()));
        let since = line.filter_map(|name| Some(self.tenants.get(name)?.overrides.since(now)));
        let since = since.max().unwrap_or_default();
        Some(Claimant {
            name: tenant.to_owned(),
            claim: TenantClaim {
                claim_version: ClaimVersion { revision, since },
                above,
                ..claim
            },
        })
    }

    /// The tenants above one, its parent first.
    fn above(&self, below: &Named, budget: Option<&str>, now: EpochMs) -> Vec<Above> {
        let line = std::iter::successors(below.parent.as_deref(), |name| {
            self.tenants.get(*name)?.parent.as_deref()
        });
        let above = line
            .take(TENANT_DEPTH_MAX - 1)
            .filter_map(|name| Some(Above::of(name, &self.claim(name, budget, now)?)));
        above.collect()
    }

    /// Refuses a parent that has no weight of its own, and tenants above themselves.
    fn parents(&self) -> Result<(), Invalid> {
        let mut parents = OrderedMap::new();
        for (name, named) in &self.tenants {
            let Some(parent) = named.parent.as_deref() else {
                continue;
            };
            let what = match (self.tenants.contains_key(parent), self.tier(parent)) {
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
        let own = self.tenants.values().filter_map(|named| named.claim.weight);
        let overrides = self.tenants.values().flat_map(|one| one.overrides.iter());
        let given = overrides.flat_map(|one| {
            let claims = one.changes.budgets.values().map(|claim| claim.weight);
            claims.chain([one.claim.weight]).flatten()
        });
        let tiers = self.tiers.values().filter_map(|tier| tier.claim.weight);
        let changes = self.tiers.values().map(|tier| &tier.changes);
        let changes = changes.chain(self.tenants.values().map(|one| &one.changes));
        let claims = changes.flat_map(|one| one.budgets.values());
        let claims = claims.filter_map(|claim| claim.weight);
        let weights: OrderedSet<Weight> = tiers.chain(own).chain(given).chain(claims).collect();
        let what = "different weights of tiers and tenants";
        count("/tenants", what, weights.len(), WEIGHTS_MAX)
    }

    fn known(&self, field: &str, tier: Option<&String>) -> Result<(), Invalid> {
        match tier {
            Some(tier) if !self.tiers.contains_key(tier) => Err(Invalid::new(
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
        let read = entries("/tiers", &document.tiers, tier)?;
        let mut tiers = Self {
            tiers_change: read.values().any(|tier| !tier.changes.is_empty()),
            tiers: read,
            rules: Vec::new(),
            default_tier: document.default_tier.clone(),
            tenants: OrderedMap::new(),
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

fn tier(body: &TierBody) -> Result<Tier, Invalid> {
    super::required("/weight", body.weight)?;
    Ok(Tier {
        claim: Claim::read(&BudgetOverrideBody {
            weight: body.weight,
            ..BudgetOverrideBody::default()
        })?,
        changes: Changes::read(&body.meters, &body.guards, &body.limits, &body.budgets)?,
    })
}

fn named(body: &TenantBody) -> Result<Named, Invalid> {
    Ok(Named {
        tier: body.tier.clone(),
        parent: body.parent.clone(),
        claim: Claim::read(&body.claim())?,
        changes: Changes::read(&body.meters, &body.guards, &body.limits, &body.budgets)?,
        overrides: Overrides::read(&body.overrides)?,
    })
}
