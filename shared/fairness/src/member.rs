//! A tenant among those with the same parent.

use smol_str::SmolStr;

use super::ask::{ClaimVersion, Floor, TenantClaim};
use super::classes::{ClassId, ClassKey};
use crate::weight::Weight;

/// What of its guarantee is kept for a tenant while it does not use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// All of it.
    Whole,
    /// What is above its `lend_max`.
    AboveLendMax,
}

impl Keeping {
    fn unkept(self, claim: &TenantClaim) -> Option<u64> {
        match self {
            Self::Whole => Some(0),
            Self::AboveLendMax => claim.lend_max,
        }
    }
}

/// A tenant with an account. Whoever of many asks, its member is in no cache: what a decision needs of it is in as few
/// lines of that as can be.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub name: SmolStr,
    pub class: ClassId,
    /// Units.
    pub used: u64,
    /// Units above its guarantee that it may use; `None` for any.
    pub borrow_max: Option<u64>,
    /// Units of its guarantee that are not kept for it; `None`: nothing is kept.
    pub unkept: Option<u64>,
    /// By which word of the policy these are.
    pub claim_version: ClaimVersion,
    /// The key by which its class knows it.
    pub placed: Option<u64>,
    /// Whether it waits to be placed again.
    pub moved: bool,
}

impl Member {
    /// A tenant that has used nothing.
    pub(crate) fn new(
        name: SmolStr,
        class: ClassId,
        claim: &TenantClaim,
        keeping: Keeping,
    ) -> Self {
        let mut member = Self {
            name,
            class,
            used: 0,
            borrow_max: None,
            unkept: None,
            claim_version: claim.claim_version,
            placed: None,
            moved: false,
        };
        member.bound(claim, keeping);
        member
    }

    /// Takes over the bounds of what it may borrow and what may be lent of its guarantee.
    pub(crate) fn bound(&mut self, claim: &TenantClaim, keeping: Keeping) {
        self.claim_version = claim.claim_version;
        self.borrow_max = claim.borrow_max;
        self.unkept = keeping.unkept(claim);
    }

    /// Whether a claim says nothing new to a member of this class.
    pub(crate) fn claims(&self, class: ClassKey, claim: &TenantClaim, keeping: Keeping) -> bool {
        self.claim_version == claim.claim_version
            && class == class_of(claim)
            && self.borrow_max == claim.borrow_max
            && self.unkept == keeping.unkept(claim)
    }

    /// Takes over what another claims.
    pub(crate) fn claim_as(&mut self, other: &Self) {
        (self.class, self.claim_version) = (other.class, other.claim_version);
        (self.borrow_max, self.unkept) = (other.borrow_max, other.unkept);
    }

    /// What must be below its guarantee for some of it to be kept.
    pub(crate) fn key(&self) -> Option<u64> {
        self.unkept.map(|units| self.used.saturating_add(units))
    }

    /// What of a guarantee is kept for it.
    pub(crate) fn kept_of(&self, guarantee: u64) -> u64 {
        self.key().map_or(0, |key| guarantee.saturating_sub(key))
    }
}

/// The class of a claim.
pub(crate) fn class_of(claim: &TenantClaim) -> ClassKey {
    ClassKey {
        known: claim.known,
        weight: claim.weight.micros(),
        floor: claim.set_aside(),
        ceiling: claim.ceiling.unwrap_or(u64::MAX),
    }
}

/// Whoever is charged and never asked.
pub(crate) fn stranger() -> TenantClaim {
    TenantClaim {
        weight: Weight::WHOLE,
        known: false,
        borrow_max: None,
        lend_max: None,
        ceiling: None,
        floor: Floor::default(),
        claim_version: ClaimVersion::default(),
        above: Vec::new(),
    }
}
