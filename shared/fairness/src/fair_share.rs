//! Fair share (ThrottleKit's rule): each tenant may have up to `max(1, floor(L / n))` of `n` that are there, while units
//! last; what others leave goes to whoever comes first. It is the weighted rule with equal weights.

use super::ask::{Ask, ClaimVersion, Moment, Room, TenantClaim};
use super::share::{ShareRow, ShareTerms};
use super::weighted_fair_share::WeightedFairShare;
use crate::weight::Weight;

/// Tenants that share by this rule.
///
/// ```
/// use weir_fairness::ask::{Ask, Moment, TenantClaim};
/// use weir_fairness::fair_share::FairShare;
/// use weir_fairness::share::{Rule, ShareTerms};
/// use weir_fairness::weight::Weight;
/// let mut share = FairShare::new(ShareTerms {
///     rule: Rule::Fair, tenants_max: 100, unknown_weight_max: Weight::WHOLE, carried: false, floors: 0,
/// });
/// let at = Moment { limit: 7, unlent: 7, left_ms: 1_000, window_ms: 1_000 };
/// let claim = TenantClaim::default();
/// let ceilings = ["a", "b", "c"].map(|name| share.room(name, &claim, &Ask::default(), &at).ceiling);
/// assert_eq!(ceilings, [7, 3, 2]);
/// ```
#[derive(Debug, Clone)]
pub struct FairShare {
    equal: WeightedFairShare,
}

impl FairShare {
    /// Nobody has used anything.
    #[must_use]
    pub fn new(terms: ShareTerms) -> Self {
        Self {
            equal: WeightedFairShare::new(terms),
        }
    }

    /// Other terms, for what comes.
    pub fn retune(&mut self, terms: ShareTerms) {
        self.equal.retune(terms);
    }

    /// The next window.
    pub fn roll(&mut self) {
        self.equal.roll();
    }

    /// Counts a tenant among those that are there.
    pub fn join(&mut self, name: &str, claim: &TenantClaim) {
        self.equal.join(name, &equal(claim));
    }

    /// What a tenant may be charged. It counts as there from now on.
    pub fn room(&mut self, name: &str, claim: &TenantClaim, ask: &Ask, at: &Moment) -> Room {
        self.equal.room(name, &equal(claim), ask, at)
    }

    /// What a tenant would be told, without it counting as there.
    #[must_use]
    pub fn peek(&self, name: &str, claim: &TenantClaim, at: &Moment) -> Room {
        self.equal.peek(name, &equal(claim), at)
    }

    /// Counts units as used.
    pub fn charge(&mut self, name: &str, units: u64) {
        self.equal.charge(name, units);
    }

    /// Sets what a tenant has used, which counts as there from now on.
    pub fn set_used(&mut self, name: &str, claim: &TenantClaim, used: u64) {
        self.equal.set_used(name, &equal(claim), used);
    }

    /// Takes units off what a tenant has used.
    pub fn lower(&mut self, name: &str, units: u64) {
        self.equal.lower(name, units);
    }

    /// By which word the claim is that a tenant's own account goes by.
    #[must_use]
    pub fn claim_version(&self, name: &str) -> Option<ClaimVersion> {
        self.equal.claim_version(name)
    }

    /// Units that a tenant has used, if it has an account of its own.
    #[must_use]
    pub fn own(&self, name: &str) -> Option<u64> {
        self.equal.own(name)
    }

    /// Units that a tenant has used.
    #[must_use]
    pub fn used(&self, name: &str) -> u64 {
        self.equal.used(name)
    }

    /// Units that all tenants have used.
    #[must_use]
    pub fn used_total(&self) -> u64 {
        self.equal.used_total()
    }

    /// Each tenant's share, by name.
    #[must_use]
    pub fn rows(&self, at: &Moment) -> Vec<ShareRow> {
        self.equal.rows(at)
    }

    /// Steps that were taken so far.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.equal.operations()
    }
}

/// The claim with a weight of 1.
fn equal(claim: &TenantClaim) -> TenantClaim {
    TenantClaim {
        weight: Weight::WHOLE,
        above: Vec::new(),
        ..claim.clone()
    }
}
