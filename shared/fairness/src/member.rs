//! A tenant among those with the same parent.

use smol_str::SmolStr;

use super::ask::{ClaimVersion, Floor, Standing};
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
    fn unkept(self, standing: &Standing) -> Option<u64> {
        match self {
            Self::Whole => Some(0),
            Self::AboveLendMax => standing.lend_max,
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
        standing: &Standing,
        keeping: Keeping,
    ) -> Self {
        let mut member = Self {
            name,
            class,
            used: 0,
            borrow_max: None,
            unkept: None,
            claim_version: standing.claim_version,
            placed: None,
            moved: false,
        };
        member.bound(standing, keeping);
        member
    }

    /// Takes over the bounds of what it may borrow and what may be lent of its guarantee.
    pub(crate) fn bound(&mut self, standing: &Standing, keeping: Keeping) {
        self.claim_version = standing.claim_version;
        self.borrow_max = standing.borrow_max;
        self.unkept = keeping.unkept(standing);
    }

    /// Whether a standing says nothing new to a member of this class.
    pub(crate) fn claims(&self, class: ClassKey, standing: &Standing, keeping: Keeping) -> bool {
        self.claim_version == standing.claim_version
            && class == class_of(standing)
            && self.borrow_max == standing.borrow_max
            && self.unkept == keeping.unkept(standing)
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

/// The class of a standing.
pub(crate) fn class_of(standing: &Standing) -> ClassKey {
    ClassKey {
        known: standing.known,
        weight: standing.weight.micros(),
        floor: standing.set_aside(),
        ceiling: standing.ceiling.unwrap_or(u64::MAX),
    }
}

/// Whoever is charged and never asked.
pub(crate) fn stranger() -> Standing {
    Standing {
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
