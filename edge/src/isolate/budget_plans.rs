//! What the policy makes of the tenants and budgets that were asked for, kept while it stands.

use weir_shared::fairness::ask::Party;
use weir_shared::federation::pool_name::PoolName;
use weir_shared::limits::BUDGET_PLANS_MAX;
use weir_shared::name::tenant_name;
use weir_shared::ordered::OrderedMap;
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::exchange::Terms;
use weir_shared::wire::policy::{HeaderDialect, Scope};

use super::loaded::Loaded;
use crate::http::ratelimit::QuotaPolicy;

/// A question: one tenant, one budget, one cost.
#[derive(Debug, Clone, Copy)]
pub struct BudgetQuestion<'a> {
    /// Who asks.
    pub tenant: &'a str,
    /// The budget.
    pub budget: &'a str,
    /// Units.
    pub cost: u64,
}

/// What the policy of one revision makes of tenants and budgets that were asked for.
#[derive(Default)]
pub struct BudgetPlans {
    revision: Option<Revision>,
    budgets: OrderedMap<String, Plan>,
    parties: usize,
}

/// One budget.
pub(super) struct Plan {
    pub(super) pool: String,
    pub(super) terms: Terms,
    pub(super) quota_policy: QuotaPolicy,
    parties: OrderedMap<String, Party>,
}

impl BudgetPlans {
    /// What is planned of a question's tenant and budget.
    pub(super) fn find(&self, ask: &BudgetQuestion<'_>) -> Option<(&Plan, &Party)> {
        let plan = self.budgets.get(ask.budget)?;
        Some((plan, plan.parties.get(ask.tenant)?))
    }

    /// Makes sure that tenant and budget of a question are planned.
    pub(super) fn plan(
        &mut self,
        ask: &BudgetQuestion<'_>,
        loaded: &Loaded,
        region: &str,
        now: EpochMs,
    ) -> Option<()> {
        if self.revision != Some(loaded.revision) || self.parties >= BUDGET_PLANS_MAX {
            self.revision = Some(loaded.revision);
            self.budgets.clear();
            self.parties = 0;
        }
        if self.find(ask).is_some() {
            return Some(());
        }
        let policy = &loaded.policy;
        let budget = policy.budgets.get(ask.budget)?;
        let plain = policy.enforcing
            && policy.headers == HeaderDialect::Ietf
            && policy.tiers.has_no_overrides(ask.tenant)
            && policy.floors_are_constant(ask.budget)
            && !budget.shadow
            && budget.root() != Scope::Isolate;
        (plain && tenant_name(ask.tenant).is_ok()).then_some(())?;
        policy.resolve(ask.tenant, now)?;
        let party = match budget.rule() {
            Some(_) => policy
                .claimant(ask.tenant, Some(ask.budget), loaded.revision, now)?
                .into(),
            None => Party::Everyone,
        };
        if !self.budgets.contains_key(ask.budget) {
            let plan = Plan {
                pool: PoolName::Budget(ask.budget.to_owned()).to_string(),
                terms: policy.budget_terms(ask.budget, region, loaded.revision, now)?,
                quota_policy: QuotaPolicy {
                    quota: budget.limit,
                    window_ms: budget.window_ms,
                },
                parties: OrderedMap::new(),
            };
            self.budgets.insert(ask.budget.to_owned(), plan);
        }
        let plan = self.budgets.get_mut(ask.budget)?;
        plan.parties.insert(ask.tenant.to_owned(), party);
        self.parties += 1;
        Some(())
    }
}
