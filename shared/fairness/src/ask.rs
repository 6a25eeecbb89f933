//! What the parts of fair sharing tell each other: who asks, for what, at which point of a window, and what it gets.

use weir_core::units::{EpochMs, Revision};

use super::accounts::OVERFLOW;
use crate::weight::Weight;

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Party {
    /// All tenants as one: whoever comes first is served.
    Everyone,
    /// A tenant of those that share.
    Tenant(Claimant),
}

impl Party {
    /// The tenant; none of everyone.
    #[must_use]
    pub fn tenant(&self) -> Option<&Claimant> {
        match self {
            Self::Everyone => None,
            Self::Tenant(claimant) => Some(claimant),
        }
    }

    /// The tenant's name; none of everyone.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.tenant().map(|claimant| claimant.name.as_str())
    }

    /// Its weight; everyone together has a whole one.
    #[must_use]
    pub fn weight(&self) -> Weight {
        self.tenant()
            .map_or(Weight::WHOLE, |claimant| claimant.claim.weight)
    }

    /// By which word of the policy its claim is; everyone has none.
    #[must_use]
    pub fn claim_version(&self) -> ClaimVersion {
        let claim = self.tenant().map(|claimant| claimant.claim.claim_version);
        claim.unwrap_or_default()
    }

    /// Whether the policy bounds what it may use beyond a guarantee; see [`TenantClaim::is_bounded`].
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        self.tenant()
            .is_some_and(|claimant| claimant.claim.is_bounded())
    }

    /// Whether it may use idle units for a first request; see [`TenantClaim::takes_idle`].
    #[must_use]
    pub fn takes_idle(&self) -> bool {
        self.tenant()
            .is_none_or(|claimant| claimant.claim.takes_idle())
    }

    /// The ceilings that bound it; see [`Claimant::ceilings`].
    pub fn ceilings(&self) -> impl Iterator<Item = (&str, u64)> {
        self.tenant().into_iter().flat_map(Claimant::ceilings)
    }
}

impl From<Claimant> for Party {
    fn from(claimant: Claimant) -> Self {
        Self::Tenant(claimant)
    }
}

/// A tenant that shares, and with what claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimant {
    /// The tenant's name.
    pub name: String,
    /// Its claim.
    pub claim: TenantClaim,
}

impl Claimant {
    /// A tenant of the [claim that says nothing else](TenantClaim::default).
    ///
    /// ```
    /// use weir_fairness::ask::{Claimant, TenantClaim};
    /// assert_eq!(Claimant::plain("acme").claim, TenantClaim::default());
    /// ```
    #[must_use]
    pub fn plain(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            claim: TenantClaim::default(),
        }
    }

    /// All tenants for whom there is no account of their own, as one that the policy does not name.
    #[must_use]
    pub fn overflow() -> Self {
        Self {
            name: OVERFLOW.to_owned(),
            claim: TenantClaim {
                known: false,
                ..TenantClaim::default()
            },
        }
    }

    /// The same for a tenant that has no account of its own: what bounds it bounds all of them.
    #[must_use]
    pub fn overflow_with(&self) -> Self {
        let overflow = Self::overflow();
        Self {
            claim: TenantClaim {
                ceiling: self.claim.ceiling,
                ..overflow.claim
            },
            ..overflow
        }
    }

    /// Whether it is [`Claimant::overflow`], which no tenant can be called.
    #[must_use]
    pub fn is_overflow(&self) -> bool {
        self.name == OVERFLOW
    }

    /// The ceilings that bound it: its own and those of the tenants above it, each with whose it is.
    pub fn ceilings(&self) -> impl Iterator<Item = (&str, u64)> {
        let Self { name, claim } = self;
        let own = (name.as_str(), claim.ceiling);
        let above = claim.above.iter();
        let above = above.map(|one| (one.name.as_str(), one.ceiling));
        let line = std::iter::once(own).chain(above);
        line.filter_map(|(name, ceiling)| Some((name, ceiling?)))
    }
}

/// A tenant's claim to a budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantClaim {
    /// Its weight among those with the same parent.
    pub weight: Weight,
    /// Whether the policy names it. Those that it does not name weigh no more than a bound together.
    pub known: bool,
    /// Units above its guarantee that it may use in a window; `None` for any.
    pub borrow_max: Option<u64>,
    /// Units of its guarantee that others may use while it does not; `None` for all.
    pub lend_max: Option<u64>,
    /// Units that it may use in a window, whatever else is free; `None` for any.
    pub ceiling: Option<u64>,
    /// Units that are set aside for it.
    pub floor: Floor,
    /// By which word of the policy this is.
    pub claim_version: ClaimVersion,
    /// The tenants above it: its parent first, then that one's parent.
    pub above: Vec<Above>,
}

impl Default for TenantClaim {
    /// A whole weight of a tenant that the policy names, nothing set aside, and no bounds.
    fn default() -> Self {
        Self {
            weight: Weight::WHOLE,
            known: true,
            borrow_max: None,
            lend_max: None,
            ceiling: None,
            floor: Floor::default(),
            claim_version: ClaimVersion::default(),
            above: Vec::new(),
        }
    }
}

impl TenantClaim {
    /// What is set aside for it, as it counts: nothing above its ceiling.
    ///
    /// ```
    /// use weir_fairness::ask::{Floor, TenantClaim};
    /// let claim = TenantClaim {
    ///     ceiling: Some(40), floor: Floor { units: 60, by_name: true }, ..TenantClaim::default()
    /// };
    /// assert_eq!(claim.set_aside().units, 40);
    /// ```
    #[must_use]
    pub fn set_aside(&self) -> Floor {
        self.floor.below(self.ceiling)
    }

    /// Whether the policy bounds what it, or all below one above it, may use beyond a guarantee.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        let above = self
            .above
            .iter()
            .any(|one| one.ceiling.is_some() || one.borrow_max.is_some());
        above || self.ceiling.is_some() || self.borrow_max.is_some()
    }

    /// Whether it may use idle units for a first request, of which its parent has not been told: names that the policy does
    /// not know can be invented.
    #[must_use]
    pub fn takes_idle(&self) -> bool {
        self.known && !self.is_bounded()
    }
}

/// Units of a window that are set aside for a tenant before weights divide the rest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Floor {
    /// How many.
    pub units: u64,
    /// Whether the policy says so of the tenant by its name, in its entry or an override: then they are set aside, at an
    /// even pace, also while it is not there. What its tier says counts while it is a member.
    pub by_name: bool,
}

impl Floor {
    /// As far as a ceiling lets it.
    #[must_use]
    pub fn below(self, ceiling: Option<u64>) -> Self {
        Self {
            units: self.units.min(ceiling.unwrap_or(u64::MAX)),
            ..self
        }
    }
}

/// What the floors come to that a policy gives some tenants with one parent by their names, whether they are there or
/// not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SetAside {
    /// Since when that is so: within a revision, the later counts.
    pub since: EpochMs,
    /// Units of a window.
    pub units: u64,
}

/// Which word of the policy a claim is by: of two, the later counts, wherever they meet. A holder that has not heard of
/// the later one yet, or that speaks of what it noted before, takes nothing back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClaimVersion {
    /// The policy's revision.
    pub revision: Revision,
    /// Within it: when an override of the tenant, or of one above it, last began or ended; 0 before all of them.
    pub since: EpochMs,
}

/// A tenant above others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Above {
    /// Its name.
    pub name: String,
    /// Its weight among those with the same parent.
    pub weight: Weight,
    /// As [`TenantClaim::borrow_max`], for all below it together.
    pub borrow_max: Option<u64>,
    /// As [`TenantClaim::lend_max`], for all below it together.
    pub lend_max: Option<u64>,
    /// As [`TenantClaim::ceiling`], for all below it together.
    pub ceiling: Option<u64>,
    /// As [`TenantClaim::floor`], for all below it together.
    pub floor: Floor,
    /// What is set aside by name for those right below it, of what it may have itself.
    pub floors: SetAside,
}

impl Above {
    /// The tenant of that name, with its own claim. Nothing is set aside for those below it.
    #[must_use]
    pub fn of(name: &str, claim: &TenantClaim) -> Self {
        Self {
            name: name.to_owned(),
            weight: claim.weight,
            borrow_max: claim.borrow_max,
            lend_max: claim.lend_max,
            ceiling: claim.ceiling,
            floor: claim.floor,
            floors: SetAside::default(),
        }
    }

    /// Its own claim, without those above it. The policy names every tenant that is above another.
    #[must_use]
    pub fn claim(&self) -> TenantClaim {
        TenantClaim {
            weight: self.weight,
            known: true,
            borrow_max: self.borrow_max,
            lend_max: self.lend_max,
            ceiling: self.ceiling,
            floor: self.floor,
            claim_version: ClaimVersion::default(),
            above: Vec::new(),
        }
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ask {
    /// Units that requests wait for.
    pub waiting: u64,
    /// The smallest cost among them. Equal to `waiting` where it is one request.
    pub smallest: u64,
    /// Units that will be asked for soon, beyond those.
    pub expected: u64,
    /// Units that were denied since the last ask: demand, and nothing else.
    pub denied: u64,
    /// Holders that have some of the tenant's units.
    pub holders: u64,
}

/// The window at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Units of the whole window.
    pub limit: u64,
    /// Units that can safely be lent: never more than this.
    pub unlent: u64,
    /// Milliseconds until its end.
    pub left_ms: u64,
    /// Its length.
    pub window_ms: u64,
}

/// What a tenant may be charged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Room {
    /// Of what is waited for: all, a part of at least the smallest cost, or nothing.
    pub waiting: u64,
    /// Of what is expected.
    pub ahead: u64,
    /// The tenant's ceiling in this window, as it stands.
    pub ceiling: u64,
    /// Units that it has used before these, by its account; 0 where there are no accounts.
    pub used: u64,
    /// Units that it could have after these.
    pub left: u64,
    /// Units that it may use of what lies idle at the holder that asks.
    pub allowance: u64,
    /// Whether it wants more than it can have: its allowance is charged.
    pub contended: bool,
    /// In how many milliseconds the smallest cost could be had, if nothing else changes. `None`: not in this window.
    pub retry_ms: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn above(ceiling: Option<u64>, borrow_max: Option<u64>) -> Above {
        Above {
            name: "above".to_owned(),
            weight: Weight::WHOLE,
            borrow_max,
            lend_max: None,
            ceiling,
            floor: Floor::default(),
            floors: SetAside::default(),
        }
    }

    #[test]
    fn a_tenant_is_bounded_by_a_ceiling_or_what_it_may_borrow_its_own_or_above_it() {
        let below = |above| TenantClaim {
            above: vec![above],
            ..TenantClaim::default()
        };
        let cases = [
            (TenantClaim::default(), false),
            (below(above(None, None)), false),
            (
                TenantClaim {
                    ceiling: Some(1),
                    ..TenantClaim::default()
                },
                true,
            ),
            (
                TenantClaim {
                    borrow_max: Some(1),
                    ..TenantClaim::default()
                },
                true,
            ),
            (below(above(Some(1), None)), true),
            (below(above(None, Some(1))), true),
        ];
        for (claim, bounded) in cases {
            assert_eq!(claim.is_bounded(), bounded, "{claim:?}");
        }
    }

    #[test]
    fn a_first_request_takes_idle_units_for_who_is_named_and_not_bounded() {
        let takes = |known, ceiling| {
            let claim = TenantClaim {
                known,
                ceiling,
                ..TenantClaim::default()
            };
            claim.takes_idle()
        };
        assert!(takes(true, None));
        assert!(!takes(true, Some(1)));
        assert!(!takes(false, None));
        assert!(!takes(false, Some(1)));
    }

    #[test]
    fn those_without_an_account_of_their_own_are_under_the_ceiling_of_who_comes_and_are_not_named()
    {
        let one = Claimant {
            name: "a".to_owned(),
            claim: TenantClaim {
                ceiling: Some(40),
                borrow_max: Some(7),
                ..TenantClaim::default()
            },
        };
        let overflow = one.overflow_with();
        assert!(overflow.is_overflow() && !one.is_overflow());
        assert_eq!(overflow.claim.ceiling, Some(40));
        assert_eq!(overflow.claim.borrow_max, None);
        assert!(!overflow.claim.known && one.claim.known);
    }

    #[test]
    fn ceilings_are_told_with_whose_they_are() {
        let one = Claimant {
            name: "a".to_owned(),
            claim: TenantClaim {
                ceiling: Some(40),
                above: vec![above(None, None), above(Some(90), None)],
                ..TenantClaim::default()
            },
        };
        let ceilings: Vec<_> = one.ceilings().collect();
        assert_eq!(ceilings, [("a", 40), ("above", 90)]);
    }
}
