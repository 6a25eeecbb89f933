//! What a tenant claims of a budget, and whose word each number of it is: the override in force, else the tenant, else its
//! tier; of each what it says of that budget, else what it says of all.

use weir_core::invalid::Invalid;
use weir_core::limits::JSON_INTEGER_MAX;
use weir_core::units::EpochMs;
use weir_fairness::ask::{ClaimVersion, Floor, TenantClaim};
use weir_fairness::weight::Weight;
use weir_wire::amount::AmountBody;
use weir_wire::numbers::BudgetOverrideBody;

use super::between;
use super::changes::By;
use super::tenant::Tiers;

/// What one of them says of a claim, within its ranges.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Claim {
    /// The weight.
    pub weight: Option<Weight>,
    /// All of it as the document says it.
    pub body: BudgetOverrideBody,
}

impl Claim {
    /// That of a document.
    ///
    /// # Errors
    /// At the first number that is out of its range.
    pub(super) fn read(body: &BudgetOverrideBody) -> Result<Self, Invalid> {
        let weight = body.weight.map(|weight| Weight::try_from(weight.0));
        let weight = weight.transpose();
        let weight = weight.map_err(|fault| Invalid::new("/weight", fault))?;
        let amounts = [
            ("/borrow_max", body.borrow_max),
            ("/lend_max", body.lend_max),
            ("/ceiling", body.ceiling),
            ("/floor", body.floor.map(AmountBody::Units)),
        ];
        for (field, amount) in amounts {
            if let Some(units) = amount.and_then(AmountBody::units) {
                between(field, units, 0, JSON_INTEGER_MAX)?;
            }
        }
        Ok(Self {
            weight,
            body: *body,
        })
    }
}

/// A number that somebody says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Said<'a, T> {
    /// The value.
    pub value: T,
    /// Whose word it is.
    pub by: By<'a>,
    /// Whether it is said of that budget, not of all.
    pub of_budget: bool,
}

impl Tiers {
    /// The claim of a tenant to a budget, or to whichever, without the tenants above it and its version; `None` for a
    /// tenant without a tier.
    pub(super) fn claim(
        &self,
        tenant: &str,
        budget: Option<&str>,
        now: EpochMs,
    ) -> Option<TenantClaim> {
        let who = (tenant, self.tier(tenant)?.0);
        let amount = |of: fn(&Claim) -> Option<AmountBody>| {
            let said = self.said(of, who, budget, now);
            said.and_then(|said| said.value.units())
        };
        let floor = self.said(|claim| claim.body.floor, who, budget, now);
        Some(TenantClaim {
            weight: self.said(|claim| claim.weight, who, budget, now)?.value,
            known: self.named(tenant).is_some(),
            borrow_max: amount(|claim| claim.body.borrow_max),
            lend_max: amount(|claim| claim.body.lend_max),
            ceiling: amount(|claim| claim.body.ceiling),
            floor: floor.map_or_else(Floor::default, |said| Floor {
                units: said.value,
                by_name: said.by.is_by_name(),
            }),
            claim_version: ClaimVersion::default(),
            above: Vec::new(),
        })
    }

    /// A number of the claim of a tenant of a tier to a budget, or to whichever; `None` where nobody says it.
    pub(super) fn said<'a, T>(
        &'a self,
        of: impl Fn(&Claim) -> Option<T>,
        (tenant, tier): (&str, &'a str),
        budget: Option<&str>,
        now: EpochMs,
    ) -> Option<Said<'a, T>> {
        let named = self.named(tenant);
        let here = |rank: fn(By<'_>) -> bool| {
            let budget = budget?;
            let mut words = self.words(tenant, now).filter(|word| rank(word.by));
            words.find_map(|word| {
                Some(Said {
                    value: of(word.changes.budgets.get(budget)?)?,
                    by: word.by,
                    of_budget: true,
                })
            })
        };
        let of_all = |value, by| Said {
            value,
            by,
            of_budget: false,
        };
        let overridden = || {
            let given = named?.overrides.given(now, |one| of(&one.claim))?;
            let (index, until) = (given.index, given.until);
            Some(of_all(given.value, By::Override { index, until }))
        };
        let own = || Some(of_all(of(&named?.claim)?, By::Tenant));
        let of_tier = || {
            let value = of(&self.tier_named(tier)?.claim)?;
            Some(of_all(value, By::Tier(tier)))
        };
        here(|by| matches!(by, By::Override { .. }))
            .or_else(overridden)
            .or_else(|| here(|by| by == By::Tenant))
            .or_else(own)
            .or_else(|| here(|by| matches!(by, By::Tier(_))))
            .or_else(of_tier)
    }
}
