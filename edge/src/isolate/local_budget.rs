//! A check of a budget that this isolate keeps for itself.

use weir_shared::decision::Decision;
use weir_shared::fairness::ask::Party;
use weir_shared::fairness::local::{LocalBudget, LocalTerms};
use weir_shared::federation::message::share_terms;
use weir_shared::units::WindowLabel;
use weir_shared::wire::exchange::Terms;

use super::memory::{now, with};
use crate::http::failure::Failure;

/// One budget of this isolate.
pub struct LocalBudgetCheck<'a> {
    /// The region that it decides for.
    pub region: &'a str,
    /// The budget.
    pub name: &'a str,
    /// Its terms.
    pub terms: &'a Terms,
    /// For whom.
    pub party: &'a Party,
}

impl LocalBudgetCheck<'_> {
    /// Decides `cost` units, 0 to look, and tells the window.
    ///
    /// # Errors
    /// When the isolate decides for too many regions.
    pub fn decide(&self, cost: u64) -> Result<(Decision, WindowLabel), Failure> {
        let (at, terms) = (now(), self.local_terms());
        with(self.region, |view| {
            let budgets = view.budgets.entry(self.name.to_owned());
            let budget = budgets.or_insert_with(|| LocalBudget::new(terms));
            budget.retune(terms);
            let decision = if cost > terms.limit {
                // Refused before the tenant counts as there.
                let look = budget.check(self.party, 0, at);
                Decision::never(look.limit, look.remaining, look.reset_at)
            } else {
                budget.check(self.party, cost, at)
            };
            (decision, budget.label().unwrap_or_default())
        })
    }

    fn local_terms(&self) -> LocalTerms {
        let sharing = self.terms.sharing.as_ref();
        LocalTerms {
            limit: self.terms.limit,
            window_ms: self.terms.window_ms,
            share: sharing.and_then(|sharing| share_terms(sharing).ok()),
        }
    }

    /// Gives back what was charged.
    ///
    /// # Errors
    /// When the isolate decides for too many regions.
    pub fn undo(&self, label: WindowLabel, units: u64) -> Result<(), Failure> {
        with(self.region, |view| {
            if let Some(budget) = view.budgets.get_mut(self.name) {
                budget.undo(label, self.party, units);
            }
        })
    }
}
