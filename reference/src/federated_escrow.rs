//! Weighted fair escrow in one region, over a pool that the regions share: the two-level sharing that Weir's flat level
//! is measured against.
//!
//! With `B` units granted to the region, weights `w_t` of its tenants seen in this window and `W` their sum, tenant `t`
//! is guaranteed `g_t = floor(w_t B / W)`. A cost is admitted if the region has it (`cost <= B - sum used`) and
//! `used_t + cost <= g_t + min(cost, available)`, where `available` is what is neither used nor reserved for the other
//! tenants' guarantees. Before it denies, the region asks its pool for as much as would serve the cost beside those
//! reserves, again and again while that brings more: more units raise the guarantees, and so the reserves.

use super::region_pool::{RegionPool, WeightSum};
use crate::limits::ESCROW_ROUNDS_MAX;
use weir_shared::decision::{Decision, Reason, Retry};
use weir_shared::fairness::accounts::{AccountId, Accounts};
use weir_shared::fairness::ask::{Moment, TenantClaim};
use weir_shared::fairness::member::Keeping;
use weir_shared::fairness::share::{Rule, ShareTerms};
use weir_shared::fairness::weight::Weight;
use weir_shared::invalid::{Fault, Invalid, within};
use weir_shared::limits::{COST_MAX, TENANTS_MAX};
use weir_shared::units::EpochMs;

/// What a tenant has used in the open window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantUse {
    /// The tenant.
    pub tenant: String,
    /// Its weight, as it was at its last check.
    pub weight: Weight,
    /// Units admitted.
    pub used: u64,
}

/// One region's tenants. Every region asks one and the same pool.
#[derive(Debug, Clone)]
pub struct FederatedEscrow {
    region: String,
    opened_at: Option<EpochMs>,
    budget: u64,
    /// In the order in which they came, as their accounts are numbered.
    tenants: Vec<TenantUse>,
    weight_micros: u128,
    accounts: Accounts,
}

/// What the region has, as one tenant sees it.
#[derive(Debug, Clone, Copy)]
struct View {
    /// Neither used nor reserved for others.
    available: u64,
    /// Not used.
    unused: u64,
    /// Reserved for others.
    reserved: u64,
    /// The tenant's guarantee.
    guarantee: u64,
    /// What it has used.
    used: u64,
}

impl View {
    /// What the tenant may have used after a charge of `cost`.
    fn ceiling(&self, cost: u64) -> u64 {
        self.guarantee.saturating_add(cost.min(self.available))
    }

    fn admits(&self, cost: u64) -> bool {
        cost <= self.unused && self.used.saturating_add(cost) <= self.ceiling(cost)
    }
}

impl FederatedEscrow {
    /// A region without tenants.
    #[must_use]
    pub fn new(region: &str) -> Self {
        Self {
            region: region.to_owned(),
            opened_at: None,
            budget: 0,
            tenants: Vec::new(),
            weight_micros: 0,
            accounts: accounts(),
        }
    }

    /// Decides one request of `tenant`. Its weight holds from now on. A denied tenant counts as active too; a cost above
    /// the pool's limit is denied before anything is asked for.
    ///
    /// # Errors
    /// `/cost` outside 1 to 2^53 - 1, `/tenant` beyond [`TENANTS_MAX`] in one window; nothing changes then. `/region`
    /// when the pool has too many.
    ///
    /// ```
    /// use weir_reference::federated_escrow::FederatedEscrow;
    /// use weir_reference::region_pool::RegionPool;
    /// use weir_shared::fairness::weight::Weight;
    /// use weir_shared::units::EpochMs;
    /// let mut pool = RegionPool::new(12_345, 1_000).unwrap();
    /// let mut weur = FederatedEscrow::new("weur");
    /// let mut check = |tenant, cost| {
    ///     let decision = weur.check(&mut pool, tenant, Weight::WHOLE, cost, EpochMs(3)).unwrap();
    ///     (decision.admitted(), decision.limit, decision.remaining)
    /// };
    /// // 107 units are asked for and used.
    /// assert_eq!(check("acme", 107), (true, 107, 0));
    /// // One more: 108, of which each of two is guaranteed 54.
    /// assert_eq!(check("beta", 1), (true, 54, 53));
    /// // A third: 36 each. 108 used, 1 asked, 36 - 1 reserved for beta: 144 units, 48 each.
    /// assert_eq!(check("corp", 1), (true, 48, 47));
    /// ```
    pub fn check(
        &mut self,
        pool: &mut RegionPool,
        tenant: &str,
        weight: Weight,
        cost: u64,
        now: EpochMs,
    ) -> Result<Decision, Invalid> {
        within("/cost", cost, 1..=COST_MAX)?;
        let opens_at = pool.window_start(now);
        let rolls = self.opened_at.is_none_or(|opened_at| opens_at > opened_at);
        if !rolls && self.accounts.own(tenant).is_none() {
            self.has_room()?;
        }
        if rolls {
            self.open(opens_at);
        }
        let ends_at = self.opened_at.unwrap_or(opens_at).plus(pool.window_ms());
        if cost > pool.limit() {
            return Ok(Decision::never(pool.limit(), 0, ends_at));
        }
        let at = self.join(tenant, weight);
        let view = self.grown(pool, at, cost, now)?;
        let (reason, limit, used) = self.charge(at, cost, view);
        Ok(Decision {
            reason,
            limit,
            remaining: limit.saturating_sub(used),
            reset_at: ends_at,
            retry: match reason {
                Reason::Admitted => Retry::Now,
                _ => Retry::AfterMs(ends_at.since(now).max(1)),
            },
        })
    }

    /// When the open window began; `None` before the first check.
    #[must_use]
    pub fn opened_at(&self) -> Option<EpochMs> {
        self.opened_at
    }

    /// Units that the pool has granted to the region in the open window.
    #[must_use]
    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// The weights of the tenants seen in the open window together, in millionths.
    #[must_use]
    pub fn weight_micros(&self) -> u128 {
        self.weight_micros
    }

    /// Units admitted in the open window.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.accounts.used_total()
    }

    /// Steps that were taken in the open window.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.accounts.operations()
    }

    /// The tenants seen in the open window, in the order in which they came.
    #[must_use]
    pub fn tenants(&self) -> &[TenantUse] {
        &self.tenants
    }

    fn open(&mut self, opens_at: EpochMs) {
        self.opened_at = Some(opens_at);
        self.budget = 0;
        self.tenants.clear();
        self.weight_micros = 0;
        self.accounts = accounts();
    }

    fn has_room(&self) -> Result<(), Invalid> {
        let max = usize::try_from(TENANTS_MAX).unwrap_or(usize::MAX);
        if self.tenants.len() < max {
            return Ok(());
        }
        let fault = Fault::TooMany {
            got: self.tenants.len().saturating_add(1),
            max,
            what: "tenants",
        };
        Err(Invalid::new("/tenant", fault))
    }

    fn join(&mut self, tenant: &str, weight: Weight) -> AccountId {
        let claim = TenantClaim {
            weight,
            ..TenantClaim::default()
        };
        let id = self.accounts.join(tenant, &claim);
        match self.tenants.get_mut(id.index()) {
            Some(known) => {
                self.weight_micros -= u128::from(known.weight.micros());
                known.weight = weight;
            }
            None => self.tenants.push(TenantUse {
                tenant: tenant.to_owned(),
                weight,
                used: 0,
            }),
        }
        self.weight_micros += u128::from(weight.micros());
        id
    }

    /// What the tenant sees once the pool has been asked for all that would help to serve `cost`.
    fn grown(
        &mut self,
        pool: &mut RegionPool,
        at: AccountId,
        cost: u64,
        now: EpochMs,
    ) -> Result<View, Invalid> {
        let mut view = self.view(at);
        for _ in 0..ESCROW_ROUNDS_MAX {
            if view.admits(cost) {
                break;
            }
            let weight = WeightSum::from_micros(self.weight_micros())
                .map_err(|fault| Invalid::new("/weight", fault))?;
            let used = self.budget.saturating_sub(view.unused);
            let want = used.saturating_add(cost).saturating_add(view.reserved);
            let granted = pool.grant(&self.region, weight, want, now)?;
            if granted <= self.budget {
                break;
            }
            self.budget = granted;
            view = self.view(at);
        }
        Ok(view)
    }

    fn view(&mut self, at: AccountId) -> View {
        let account = self.accounts.at(
            at,
            &Moment {
                limit: self.budget,
                unlent: u64::MAX,
                left_ms: 0,
                window_ms: 0,
            },
        );
        View {
            available: account.surplus(),
            unused: account.pool,
            reserved: account.kept,
            guarantee: account.guarantee,
            used: account.used,
        }
    }

    /// Why, the limit that is told, and what the tenant has used.
    fn charge(&mut self, at: AccountId, cost: u64, view: View) -> (Reason, u64, u64) {
        if view.admits(cost) {
            let used = view.used.saturating_add(cost);
            if let Some(tenant) = self.tenants.get_mut(at.index()) {
                tenant.used = used;
                self.accounts.charge(&tenant.tenant, cost);
            }
            return (Reason::Admitted, view.guarantee.max(used), used);
        }
        if cost > view.unused {
            let limit = view.guarantee.max(view.used);
            return (Reason::CapReached, limit, view.used);
        }
        (Reason::OverShare, view.ceiling(cost), view.used)
    }
}

/// The accounts of a region: guarantees stay reserved, by the weights as they are.
fn accounts() -> Accounts {
    let terms = ShareTerms {
        rule: Rule::Pinned,
        tenants_max: TENANTS_MAX,
        unknown_weight_max: Weight::WHOLE,
        carried: false,
        floors: 0,
    };
    Accounts::new(terms, Keeping::Whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: EpochMs = EpochMs(10);

    #[test]
    fn an_oversize_request_is_refused_before_anything_is_granted() {
        let mut pool = RegionPool::new(100, 1_000).unwrap();
        let mut weur = FederatedEscrow::new("weur");
        let decision = weur
            .check(&mut pool, "acme", Weight::WHOLE, 101, NOW)
            .unwrap();
        assert_eq!(decision.reason, Reason::Never);
        assert_eq!(pool.granted_total(), 0);
        let mut oc = FederatedEscrow::new("oc");
        let decision = oc
            .check(&mut pool, "beta", Weight::WHOLE, 100, NOW)
            .unwrap();
        assert!(decision.admitted(), "all is left for others");
    }

    #[test]
    fn a_refused_cost_changes_nothing() {
        let mut pool = RegionPool::new(100, 1_000).unwrap();
        let mut weur = FederatedEscrow::new("weur");
        assert!(
            weur.check(&mut pool, "acme", Weight::WHOLE, 0, NOW)
                .is_err()
        );
        assert_eq!((weur.opened_at(), weur.tenants().len()), (None, 0));
    }
}
