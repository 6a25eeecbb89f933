//! Weighted fair escrow in one region, over a pool that the regions share: the two-level sharing that Weir's flat level
//! is measured against.
//!
//! With `B` units granted to the region, weights `w_t` of its tenants seen in this window and `W` their sum, tenant `t`
//! is guaranteed `g_t = floor(w_t B / W)`. A cost is admitted if the region has it (`cost <= B - sum used`) and
//! `used_t + cost <= g_t + min(cost, available)`, where `available` is what is neither used nor reserved for the other
//! tenants' guarantees. Before it denies, the region asks its pool for as much as would serve the cost beside those
//! reserves, again and again while that brings more: more units raise the guarantees, and so the reserves.

use std::collections::BTreeMap;

use super::region_pool::{RegionPool, WeightSum, guarantee};
use crate::decision::{Decision, Reason, Retry};
use crate::invalid::{Fault, Invalid, within};
use crate::limits::{COST_MAX, ESCROW_ROUNDS_MAX, TENANTS_MAX};
use crate::policy::weight::Weight;
use crate::units::EpochMs;

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
    tenants: Vec<TenantUse>,
    index: BTreeMap<String, usize>,
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
            index: BTreeMap::new(),
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
    /// use weir_shared::federation::federated_escrow::FederatedEscrow;
    /// use weir_shared::federation::region_pool::RegionPool;
    /// use weir_shared::policy::weight::Weight;
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
        if !rolls && !self.index.contains_key(tenant) {
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
        let weights = self.tenants.iter().map(|tenant| tenant.weight.micros());
        weights.fold(0, |sum, micros| sum.saturating_add(micros.into()))
    }

    /// Units admitted in the open window.
    #[must_use]
    pub fn used(&self) -> u64 {
        let used = self.tenants.iter().map(|tenant| tenant.used);
        used.fold(0, u64::saturating_add)
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
        self.index.clear();
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

    fn join(&mut self, tenant: &str, weight: Weight) -> usize {
        if let Some(at) = self.index.get(tenant)
            && let Some(known) = self.tenants.get_mut(*at)
        {
            known.weight = weight;
            return *at;
        }
        let at = self.tenants.len();
        self.index.insert(tenant.to_owned(), at);
        self.tenants.push(TenantUse {
            tenant: tenant.to_owned(),
            weight,
            used: 0,
        });
        at
    }

    /// What the tenant sees once the pool has been asked for all that would help to serve `cost`.
    fn grown(
        &mut self,
        pool: &mut RegionPool,
        at: usize,
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

    fn view(&self, at: usize) -> View {
        let weight_sum = self.weight_micros();
        let unused = self.budget.saturating_sub(self.used());
        let (mut reserved, mut own) = (0_u64, (0, 0));
        for (index, tenant) in self.tenants.iter().enumerate() {
            let guarantee = guarantee(tenant.weight.micros(), self.budget, weight_sum);
            if index == at {
                own = (guarantee, tenant.used);
            } else {
                reserved = reserved.saturating_add(guarantee.saturating_sub(tenant.used));
            }
        }
        View {
            available: unused.saturating_sub(reserved),
            unused,
            reserved,
            guarantee: own.0,
            used: own.1,
        }
    }

    /// Why, the limit that is told, and what the tenant has used.
    fn charge(&mut self, at: usize, cost: u64, view: View) -> (Reason, u64, u64) {
        if view.admits(cost) {
            let used = view.used.saturating_add(cost);
            if let Some(tenant) = self.tenants.get_mut(at) {
                tenant.used = used;
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
