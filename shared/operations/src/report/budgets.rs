//! The budgets of the policy, with what went through them.

use weir_wire::accounting::Tally;
use weir_wire::operator::budgets::{BudgetRow, BudgetsReply};
use weir_wire::policy::PolicyDocument;

use super::fairness::Source;

/// Every budget of the policy.
#[must_use]
pub fn list(source: &Source<'_>, document: &PolicyDocument) -> BudgetsReply {
    let budgets = document.budgets.iter().map(|(name, body)| {
        let counters = source.totals.counters.values();
        let (mut tenants, mut total) = (0, Tally::default());
        for tally in counters.filter_map(|tenant| tenant.budgets.get(name)) {
            tenants += 1;
            total.add(tally);
        }
        BudgetRow {
            name: name.clone(),
            body: body.clone(),
            tenants,
            total,
        }
    });
    BudgetsReply {
        at: source.at,
        policy_revision: source.revision,
        unreachable: source.totals.unreachable(),
        budgets: budgets.collect(),
    }
}
