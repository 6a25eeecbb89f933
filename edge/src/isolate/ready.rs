//! The commonest question, decided without a copy of anything: one tenant, one budget of which this isolate holds units.
//!
//! What the policy makes of a tenant and a budget is kept while the policy stands. Whatever is not as plain as that (a
//! shadow, an override, units that have to be asked for) is left to the way that all questions take, and nothing is
//! changed by having tried.

use std::borrow::Cow;
use std::collections::BTreeMap;

use weir_shared::accounting::counters::{Charged, Decided};
use weir_shared::accounting::pending::InWindow;
use weir_shared::check::short::Short;
use weir_shared::decision::{Decision, Reason};
use weir_shared::fairness::ask::Party;
use weir_shared::federation::pool_name::PoolName;
use weir_shared::limits::READY_MAX;
use weir_shared::policy::name::tenant_name;
use weir_shared::units::{EpochMs, Revision, WindowLabel};
use weir_shared::wire::exchange::Terms;
use weir_shared::wire::operator::live::DecisionSample;
use weir_shared::wire::policy::{HeaderDialect, Scope};

use super::lease::{Held, LeaseCheck};
use super::region::{Loaded, RegionView};
use crate::http::ratelimit::Promise;

/// What the policy of one revision makes of tenants and budgets that were asked for.
#[derive(Default)]
pub struct Ready {
    revision: Option<Revision>,
    budgets: BTreeMap<String, Plan>,
    parties: usize,
}

/// One budget.
struct Plan {
    pool: String,
    terms: Terms,
    promise: Promise,
    parties: BTreeMap<String, Party>,
}

/// A decision on a question, and what was promised.
pub struct Answer<'a> {
    /// The decision.
    pub decision: Decision,
    /// The window.
    pub window: WindowLabel,
    /// What the budget promises.
    pub promise: Promise,
    /// The question.
    pub short: Short<'a>,
}

impl Ready {
    fn find(&self, short: &Short<'_>) -> Option<(&Plan, &Party)> {
        let plan = self.budgets.get(short.budget)?;
        Some((plan, plan.parties.get(short.tenant)?))
    }

    /// Makes sure that tenant and budget of a question are planned.
    fn plan(
        &mut self,
        short: &Short<'_>,
        loaded: &Loaded,
        region: &str,
        now: EpochMs,
    ) -> Option<()> {
        if self.revision != Some(loaded.revision) || self.parties >= READY_MAX {
            self.revision = Some(loaded.revision);
            self.budgets.clear();
            self.parties = 0;
        }
        if self.find(short).is_some() {
            return Some(());
        }
        let policy = &loaded.policy;
        let budget = policy.budgets.get(short.budget)?;
        let plain = policy.enforcing
            && policy.headers == HeaderDialect::Ietf
            && policy.tiers.stands(short.tenant)
            && !budget.shadow
            && budget.root() != Scope::Isolate;
        (plain && tenant_name(short.tenant).is_ok()).then_some(())?;
        policy.resolve(short.tenant, now)?;
        let party = match budget.rule() {
            Some(_) => policy.party(short.tenant, Some(short.budget), loaded.revision, now)?,
            None => Party::everyone(),
        };
        if !self.budgets.contains_key(short.budget) {
            let plan = Plan {
                pool: PoolName::Budget(short.budget.to_owned()).to_string(),
                terms: policy.budget_terms(budget, region, loaded.revision)?,
                promise: Promise {
                    quota: budget.limit,
                    window_ms: budget.window_ms,
                },
                parties: BTreeMap::new(),
            };
            self.budgets.insert(short.budget.to_owned(), plan);
        }
        let plan = self.budgets.get_mut(short.budget)?;
        plan.parties.insert(short.tenant.to_owned(), party);
        self.parties += 1;
        Some(())
    }
}

impl RegionView {
    /// Whether the policy of this view may be applied without asking.
    pub fn is_fresh(&self, now: EpochMs) -> bool {
        self.loaded.is_some() && now < self.contact_due
    }

    /// Whether somebody has to be told or asked something, and nobody is about to.
    pub fn has_chores(&self, now: EpochMs) -> bool {
        now >= self.tended_until || !self.low.is_empty()
    }

    /// Makes sure that questions can be decided by [`RegionView::decide`]; `None` for one that cannot.
    pub fn prepare(&mut self, shorts: &[Short<'_>], region: &str, now: EpochMs) -> Option<()> {
        let loaded = self.loaded.clone()?;
        loaded.policy.regions.iter().find(|one| *one == region)?;
        for short in shorts {
            self.ready.plan(short, &loaded, region, now)?;
        }
        Some(())
    }

    /// Decides questions that are prepared, in their order, counts and shows them. `None` where the region has to be
    /// asked for one of them: then none is charged.
    pub fn decide<'a>(&mut self, shorts: &[Short<'a>], now: EpochMs) -> Option<Vec<Answer<'a>>> {
        let ready = std::mem::take(&mut self.ready);
        let answers = self.decide_by(&ready, shorts, now);
        self.ready = ready;
        answers
    }

    fn decide_by<'a>(
        &mut self,
        ready: &Ready,
        shorts: &[Short<'a>],
        now: EpochMs,
    ) -> Option<Vec<Answer<'a>>> {
        let mut answers = Vec::with_capacity(shorts.len());
        for short in shorts {
            let Some(answer) = self.spend(ready, short, now) else {
                self.undo(ready, &answers);
                return None;
            };
            answers.push(answer);
        }
        for answer in &answers {
            if let Some((plan, party)) = ready.find(&answer.short) {
                self.count(answer, plan, party, now);
            }
        }
        Some(answers)
    }

    fn spend<'a>(&mut self, ready: &Ready, short: &Short<'a>, now: EpochMs) -> Option<Answer<'a>> {
        let (plan, party) = ready.find(short)?;
        if short.cost == 0 || short.cost > plan.terms.limit {
            return None;
        }
        let holder = self.known_holder(&plan.pool)?;
        if !party.name.is_empty() && !holder.has_seat(party) {
            return None;
        }
        let check = LeaseCheck {
            region: "",
            pool: &plan.pool,
            terms: &plan.terms,
            party: Cow::Borrowed(party),
            cost: short.cost,
            denial: Reason::CapReached,
        };
        let Held::Decided((decision, Some(window))) = check.held(holder, None, now) else {
            return None;
        };
        let low = holder.runs_low(&party.name, now);
        if low && !self.low.contains(&plan.pool) {
            self.low.push(plan.pool.clone());
        }
        Some(Answer {
            decision,
            window,
            promise: plan.promise,
            short: *short,
        })
    }

    fn undo(&mut self, ready: &Ready, answers: &[Answer<'_>]) {
        for answer in answers.iter().filter(|one| one.decision.admitted()) {
            if let Some((plan, party)) = ready.find(&answer.short)
                && let Some(holder) = self.known_holder(&plan.pool)
            {
                // Units of a window that is over are nobody's any more.
                let _back = holder.unspend(answer.window, &party.name, answer.short.cost);
            }
        }
    }

    fn count(&mut self, answer: &Answer<'_>, plan: &Plan, party: &Party, now: EpochMs) {
        let (short, decision) = (&answer.short, &answer.decision);
        let known = self.loaded.as_ref().is_some_and(|loaded| {
            let tiers = &loaded.policy.tiers;
            tiers.named(short.tenant).is_some()
        });
        let decided = Decided {
            tenant: short.tenant,
            known,
            charged: Charged::Budget(short.budget),
            reason: decision.reason,
            units: short.cost,
        };
        let window = InWindow {
            budget: short.budget,
            label: answer.window,
            limit: plan.terms.limit,
            ends_at: decision.reset_at,
            weight_micros: match party.name.is_empty() {
                true => 0,
                false => party.standing.weight.micros(),
            },
        };
        self.outbox.decided(&decided, Some(&window));
        let pending = self.outbox.pending();
        if pending.has_room_to_show() {
            pending.sample(DecisionSample {
                at: now,
                tenant: Some(short.tenant.to_owned()),
                allowed: decision.admitted(),
                binding: short.budget.to_owned(),
                reason: decision.reason,
            });
        }
    }
}
