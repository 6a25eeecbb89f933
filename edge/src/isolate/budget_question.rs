//! The commonest question, decided without a copy of anything: one tenant, one budget of which this isolate holds units.
//!
//! What the policy makes of a tenant and a budget is kept while the policy stands. Whatever is not as plain as that (a
//! shadow, an override, units that have to be asked for) is left to the way that all questions take, and nothing is
//! changed by having tried.

use weir_shared::accounting::counters::{Charged, Decided};
use weir_shared::accounting::pending::InWindow;
use weir_shared::decision::id::Denial;
use weir_shared::decision::{Decision, Reason};
use weir_shared::fairness::ask::Party;
use weir_shared::federation::holder::Holder;
use weir_shared::federation::party::window_claim;
use weir_shared::node::Spent;
use weir_shared::node::lease::{self, HolderDecision};
use weir_shared::units::{EpochMs, WindowLabel};
use weir_shared::wire::operator::live::DecisionSample;
use weir_shared::wire::rule_kind::RuleKind;

use super::budget_plans::{BudgetPlans, BudgetQuestion, Plan};
use super::region::RegionView;
use crate::http::ratelimit::QuotaPolicy;

/// A decision on a question, and what was promised.
pub struct BudgetAnswer<'a> {
    /// The decision.
    pub decision: Decision,
    /// The window.
    pub window: WindowLabel,
    /// What the budget promises.
    pub quota_policy: QuotaPolicy,
    /// The question.
    pub ask: BudgetQuestion<'a>,
}

impl RegionView {
    /// Makes sure that questions can be decided by [`RegionView::decide`]; `None` for one that cannot.
    pub fn prepare(
        &mut self,
        asks: &[BudgetQuestion<'_>],
        region: &str,
        now: EpochMs,
    ) -> Option<()> {
        let loaded = self.loaded.clone()?;
        loaded.policy.regions.iter().find(|one| *one == region)?;
        for ask in asks {
            self.plans.plan(ask, &loaded, region, now)?;
        }
        Some(())
    }

    /// Decides questions that are prepared, in their order, counts and shows them. `None` where the region has to be
    /// asked for one of them: then none is charged.
    pub fn decide<'a>(
        &mut self,
        asks: &[BudgetQuestion<'a>],
        (region, now): (&str, EpochMs),
    ) -> Option<Vec<BudgetAnswer<'a>>> {
        let plans = std::mem::take(&mut self.plans);
        let answers = self.decide_by(&plans, asks, (region, now));
        self.plans = plans;
        answers
    }

    /// Decides one question that is prepared, counts and shows it. `None` as of [`RegionView::decide`].
    pub fn decide_one<'a>(
        &mut self,
        ask: &BudgetQuestion<'a>,
        (region, now): (&str, EpochMs),
    ) -> Option<BudgetAnswer<'a>> {
        let plans = std::mem::take(&mut self.plans);
        let answer = self.spend(&plans, ask, now);
        if let (Some(answer), Some((plan, party))) = (&answer, plans.find(ask)) {
            self.count(answer, (plan, party), (region, now));
        }
        self.plans = plans;
        answer
    }

    fn decide_by<'a>(
        &mut self,
        plans: &BudgetPlans,
        asks: &[BudgetQuestion<'a>],
        (region, now): (&str, EpochMs),
    ) -> Option<Vec<BudgetAnswer<'a>>> {
        let mut answers = Vec::with_capacity(asks.len());
        for ask in asks {
            let Some(answer) = self.spend(plans, ask, now) else {
                self.undo(plans, &answers, now);
                return None;
            };
            answers.push(answer);
        }
        for answer in &answers {
            if let Some((plan, party)) = plans.find(&answer.ask) {
                self.count(answer, (plan, party), (region, now));
            }
        }
        Some(answers)
    }

    fn spend<'a>(
        &mut self,
        plans: &BudgetPlans,
        ask: &BudgetQuestion<'a>,
        now: EpochMs,
    ) -> Option<BudgetAnswer<'a>> {
        let (plan, party) = plans.find(ask)?;
        if ask.cost == 0 || ask.cost > plan.terms.limit {
            return None;
        }
        let holder = self.leases.known(&plan.pool)?;
        let limit = plan.terms.limit;
        let (decision, window, low) = match holder.draw(party, ask.cost, limit, now) {
            Some(drawn) => (drawn.decision, drawn.label, drawn.runs_low),
            None => hold(holder, plan, party, ask.cost, now)?,
        };
        if low {
            self.leases.runs_low(&plan.pool);
        }
        Some(BudgetAnswer {
            decision,
            window,
            quota_policy: plan.quota_policy,
            ask: *ask,
        })
    }

    fn undo(&mut self, plans: &BudgetPlans, answers: &[BudgetAnswer<'_>], now: EpochMs) {
        for answer in answers.iter().filter(|one| one.decision.admitted()) {
            if let Some((plan, party)) = plans.find(&answer.ask) {
                let spent = Spent {
                    label: answer.window,
                    tenant: party.name(),
                    units: answer.ask.cost,
                };
                self.leases.undo(&plan.pool, spent, now);
            }
        }
    }

    fn count(
        &mut self,
        answer: &BudgetAnswer<'_>,
        (plan, party): (&Plan, &Party),
        (region, now): (&str, EpochMs),
    ) {
        let (ask, decision) = (&answer.ask, &answer.decision);
        let known = self.loaded.as_ref().is_some_and(|loaded| {
            let tiers = &loaded.policy.tiers;
            tiers.named(ask.tenant).is_some()
        });
        let decided = Decided {
            tenant: ask.tenant,
            known,
            charged: Charged::Budget(ask.budget),
            reason: decision.reason,
            units: ask.cost,
        };
        let window = InWindow {
            budget: ask.budget,
            label: answer.window,
            limit: plan.terms.limit,
            ends_at: decision.reset_at,
            claim: window_claim(party, &plan.terms),
        };
        self.outbox.decided(&decided, Some(&window));
        let pending = self.outbox.pending();
        pending.show(|| DecisionSample {
            at: now,
            tenant: Some(ask.tenant.to_owned()),
            allowed: decision.admitted(),
            binding: ask.budget.to_owned(),
            reason: decision.reason,
            would_deny: false,
            decision: (!decision.admitted()).then(|| {
                let denial = Denial {
                    at: now,
                    tenant: ask.tenant,
                    region,
                    reason: decision.reason,
                    kind: RuleKind::Budget,
                    rule: ask.budget,
                };
                denial.to_string()
            }),
        });
    }
}

/// What a holder says that the balance does not simply cover: a decision, its window, and whether more should be asked
/// for. `None` where the region has to be asked before.
fn hold(
    holder: &mut Holder,
    plan: &Plan,
    party: &Party,
    cost: u64,
    now: EpochMs,
) -> Option<(Decision, WindowLabel, bool)> {
    if party.tenant().is_some() && !holder.has_seat(party) {
        return None;
    }
    let ask = lease::PoolAsk {
        party,
        cost,
        limit: plan.terms.limit,
        denial: Reason::CapReached,
        again: false,
    };
    match ask.decide(holder, None, now) {
        HolderDecision::Decided((decision, Some(window))) => {
            Some((decision, window, holder.runs_low(party.name(), now)))
        }
        _ => None,
    }
}
