//! What a tenant claims of a budget, and whose word each part of it is: the override in force, else the tenant, else its
//! tier; of each what it says of that budget, else what it says of all.

use super::changes::{By, Claim};
use super::overrides::Override;
use super::tenant::{Named, Tier, Tiers};
use crate::fairness::weight::Weight;
use crate::units::EpochMs;
use crate::wire::amount::AmountBody;

/// One part of a claim: where each of them says it.
pub(super) struct Part<T> {
    /// Its field in the document.
    pub field: &'static str,
    of_budget: fn(&Claim) -> Option<T>,
    of_override: fn(&Override) -> Option<T>,
    of_tenant: fn(&Named) -> Option<T>,
    of_tier: fn(&Tier) -> Option<T>,
}

/// Its weight.
pub(super) const WEIGHT: Part<Weight> = Part {
    field: "weight",
    of_budget: |claim| claim.weight,
    of_override: |one| one.weight,
    of_tenant: |named| named.weight,
    of_tier: |tier| Some(tier.weight),
};

/// Units that it may borrow in a window.
pub(super) const BORROW_MAX: Part<AmountBody> = Part {
    field: "borrow_max",
    of_budget: |claim| claim.borrow_max,
    of_override: |_| None,
    of_tenant: |named| named.borrow_max,
    of_tier: |_| None,
};

/// Units that others may have of its guarantee.
pub(super) const LEND_MAX: Part<AmountBody> = Part {
    field: "lend_max",
    of_budget: |claim| claim.lend_max,
    of_override: |_| None,
    of_tenant: |named| named.lend_max,
    of_tier: |_| None,
};

/// Units that it may use in a window, whatever else is free.
pub(super) const CEILING: Part<AmountBody> = Part {
    field: "ceiling",
    of_budget: |claim| claim.ceiling,
    of_override: |_| None,
    of_tenant: |_| None,
    of_tier: |_| None,
};

/// Units that are set aside for it.
pub(super) const FLOOR: Part<u64> = Part {
    field: "floor",
    of_budget: |claim| claim.floor,
    of_override: |_| None,
    of_tenant: |_| None,
    of_tier: |_| None,
};

/// A part that somebody says.
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
    /// A part of the claim of a tenant of a tier to a budget, or to whichever; `None` where nobody says it.
    pub(super) fn said<'a, T>(
        &'a self,
        part: &Part<T>,
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
                    value: (part.of_budget)(word.changes.budgets.get(budget)?)?,
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
            let given = named?.overrides.given(now, part.of_override)?;
            let (index, until) = (given.index, given.until);
            Some(of_all(given.value, By::Override { index, until }))
        };
        let own = || Some(of_all((part.of_tenant)(named?)?, By::Tenant));
        let of_tier = || {
            let value = (part.of_tier)(self.tier_named(tier)?)?;
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
