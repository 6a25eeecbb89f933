//! One question: what is charged, all or nothing, from what the agent holds; else it waits for the answer of the region, as
//! long as there is a use in waiting. What is decided when is the word of the machines, as in an isolate.

use std::rc::Rc;
use std::time::Duration;

use tokio::time::sleep;
use weir_shared::accounting::counters::{Charged, Decided, Entry};
use weir_shared::accounting::pending::InWindow;
use weir_shared::algorithms::composite::Mode;
use weir_shared::decision::{Decision, Reason};
use weir_shared::fairness::ask::Party;
use weir_shared::federation::party::window_claim;
use weir_shared::federation::pool_name::PoolName;
use weir_shared::limiting::owner::Account;
use weir_shared::limiting::verdict::{DimensionRules, QuestionVerdict, StepRules};
use weir_shared::node::Spent;
use weir_shared::node::lease::{self, HolderDecision, PoolAsk, Verdict, WaitingAsk};
use weir_shared::node::leases::{Caller, Polled};
use weir_shared::node::question::answers::{Answers, Charge as Charges, DimensionAnswer};
use weir_shared::node::question::{self, Effect, End, Event, Question};
use weir_shared::units::{EpochMs, Revision, WindowLabel};
use weir_shared::wire::exchange::Terms;
use weir_shared::wire::policy::{OnUnavailable, Scope};

use crate::agent::Agent;
use crate::state::{State, terms};

/// One thing to charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charge<'a> {
    /// Whom.
    pub tenant: &'a str,
    /// Which budget.
    pub budget: &'a str,
    /// Units; 0 looks.
    pub cost: u64,
}

/// Why nothing was decided, with the place of the charge at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undecided {
    /// The agent has not heard of a policy yet, or ends.
    NotReady,
    /// The policy has no such budget.
    Budget(usize),
    /// Each isolate has the budget for itself: no agent has it.
    Unleased(usize),
    /// The policy refuses the tenant.
    Tenant(usize),
    /// A newer policy does not have what was asked any more.
    Gone,
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct ChargeOutcome {
    /// Whether the request may pass.
    pub admitted: bool,
    /// The charge that stands for the whole.
    pub binding: usize,
    /// Of each charge what was decided; `None` where another was denied first.
    pub decided: Vec<Option<ChargeDecision>>,
    /// When.
    pub at: EpochMs,
    /// The region that lends.
    pub region: String,
    /// The policy that was applied.
    pub revision: Revision,
}

/// What was decided of one charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChargeDecision {
    /// The decision.
    pub decision: Decision,
    /// The window, where one is known.
    pub window: Option<WindowLabel>,
    /// Units of the budget's window.
    pub quota: u64,
    /// Its length.
    pub window_ms: u64,
}

/// A charge by the policy in force.
struct Step<'a> {
    charge: Charge<'a>,
    pool: String,
    terms: Terms,
    party: Party,
    rules: StepRules,
    quota: u64,
    window_ms: u64,
}

impl Agent {
    /// Decides a question, and counts it.
    ///
    /// # Errors
    /// Why nothing was decided.
    pub async fn decide(&self, charges: &[Charge<'_>]) -> Result<ChargeOutcome, Undecided> {
        if self.is_closing() {
            return Err(Undecided::NotReady);
        }
        let at = self.now();
        let (steps, region, revision) = self.with(|state| plan(state, charges, at))?;
        let rules = Rc::new(steps.iter().map(|step| step.rules.clone()).collect());
        // Nobody else decides here: it waits for no other question.
        let (mut node, mut effect) = Question::begin(rules, true);
        let mut spent = Unfinished {
            agent: self,
            spent: Vec::new(),
        };
        loop {
            let event = match effect {
                Effect::Look => Event::Looked(Vec::new()),
                Effect::Probe => Event::Probed { busy: false },
                Effect::Hold(at) => {
                    let Some(step) = steps.get(at.0) else {
                        return Err(Undecided::Gone);
                    };
                    let held = self.hold(step).await;
                    if let question::LocalAnswer::Decided(answer) = &held {
                        spent.note(at.0, step, answer);
                    }
                    Event::Held(at, held)
                }
                // No shard is asked: what is not held is out of reach.
                Effect::Claim => Event::Claimed(false),
                Effect::Ask => Event::Asked(node.answers().clone()),
                Effect::End(end, back) => {
                    let back: Vec<usize> = back.into_iter().map(|at| at.0).collect();
                    spent.end(&back);
                    return match end {
                        End::Decided(verdict) => {
                            let answers = node.into_answers();
                            self.count(&steps, &answers, &verdict);
                            outcome(&steps, &answers, &verdict, (self.now(), region, revision))
                        }
                        End::Busy | End::Gone => Err(Undecided::Gone),
                    };
                }
            };
            effect = node.step(event, self.now());
        }
    }

    /// Decides one charge from what is held, or with what the region lends.
    async fn hold(&self, step: &Step<'_>) -> question::LocalAnswer {
        let at = self.now();
        let party = self.with(|state| state.leases.seat(&step.pool, &step.party).into_owned());
        let ask = PoolAsk {
            party: &party,
            cost: step.charge.cost,
            limit: step.terms.limit,
            denial: Reason::CapReached,
            again: false,
        };
        let held = self.with(|state| {
            if !state.leases.has_room(&step.pool, &Account::default(), at) {
                return HolderDecision::Unknown;
            }
            if ask.cost > ask.limit {
                return HolderDecision::Decided(state.leases.never(&step.pool, &ask, at));
            }
            let held = state.leases.check(&step.pool, &ask, &step.terms, at);
            if held == HolderDecision::Short && state.is_cut_off() {
                state.leases.deny(&step.pool, &ask, at);
                return HolderDecision::Unknown;
            }
            held
        });
        let decided = match held {
            HolderDecision::Decided(decided) => Some(decided),
            HolderDecision::Unknown => Some(self.out_of_reach(step)),
            HolderDecision::Short => self.wait(step, &party).await,
        };
        self.send();
        match decided {
            Some((decision, window)) => {
                let charged = decision.admitted() && step.charge.cost > 0;
                let charge = match window.filter(|_| charged) {
                    Some(label) => Charges::Pool(label),
                    None => Charges::Nothing,
                };
                question::LocalAnswer::Decided(Box::new(DimensionAnswer {
                    window,
                    charge,
                    ..DimensionAnswer::uncharged(decision)
                }))
            }
            None => question::LocalAnswer::Gone,
        }
    }

    /// Waits for the answer of the node. `None` where a newer policy does not have the budget any more.
    async fn wait(&self, step: &Step<'_>, party: &Party) -> Option<lease::Decided> {
        let at = self.now();
        let asked = WaitingAsk {
            party: party.clone(),
            cost: step.charge.cost,
            terms: step.terms.clone(),
            denial: Reason::CapReached,
            again: false,
        };
        let wait = Wait {
            agent: self,
            pool: &step.pool,
            caller: self.with(|state| state.leases.wait(&step.pool, asked, at)),
        };
        loop {
            let at = self.now();
            let polled = self.with(|state| state.leases.poll(&step.pool, wait.caller, at));
            self.send();
            match polled {
                Polled::Answered(Verdict::Decided(decided)) => return Some(decided),
                Polled::Answered(Verdict::Unavailable) => return Some(self.out_of_reach(step)),
                Polled::Lost if !self.still_known(step) => return None,
                Polled::Lost => return Some(self.out_of_reach(step)),
                // There is no use in waiting: the request leaves, and counts as denied.
                Polled::Waits(_) if self.with(|state| state.is_cut_off()) => {
                    let ask = PoolAsk {
                        party,
                        cost: step.charge.cost,
                        limit: step.terms.limit,
                        denial: Reason::CapReached,
                        again: false,
                    };
                    self.with(|state| state.leases.deny(&step.pool, &ask, at));
                    return Some(self.out_of_reach(step));
                }
                Polled::Waits(left_ms) => {
                    tokio::select! {
                        () = self.heard.notified() => {}
                        () = sleep(Duration::from_millis(left_ms)) => {}
                    }
                }
            }
        }
    }

    /// Has sent what holders want said.
    fn send(&self) {
        if self.with(State::has_to_send) {
            self.to_send.notify_one();
        }
    }

    fn out_of_reach(&self, step: &Step<'_>) -> lease::Decided {
        let (at, contact_ms) = (self.now(), self.with(|state| state.contact_ms()));
        let decision = Decision::unavailable(step.terms.limit, at, contact_ms);
        (decision, None)
    }

    fn still_known(&self, step: &Step<'_>) -> bool {
        let at = self.now();
        self.with(|state| {
            let place = state.place();
            place.is_some_and(|(loaded, region)| terms(&loaded, &region, &step.pool, at).is_some())
        })
    }

    /// Counts each charge once: admitted with the request, denied where it denied.
    fn count(&self, steps: &[Step<'_>], answers: &Answers, verdict: &QuestionVerdict) {
        self.with(|state| {
            for (index, (step, one)) in steps.iter().zip(&verdict.steps).enumerate() {
                let Some(answer) = answers.get((index, 0)) else {
                    continue;
                };
                if one.admitted && !verdict.admitted {
                    continue;
                }
                let excused = one.admitted && !hides(step, &answer.decision);
                let reason = match excused {
                    true => Reason::Admitted,
                    false => answer.decision.reason,
                };
                *state.tally(step.charge.budget, reason) += 1;
                if step.charge.cost == 0 {
                    continue;
                }
                let entry =
                    match reason != Reason::Admitted && (one.admitted || !step.rules.enforced) {
                        true => Entry::Shadow,
                        false => Entry::Charge,
                    };
                let decided = Decided {
                    tenant: step.charge.tenant,
                    known: state.knows(step.charge.tenant),
                    charged: Charged::Budget(step.charge.budget),
                    reason,
                    units: step.charge.cost,
                };
                let window = answer.window.map(|label| InWindow {
                    budget: step.charge.budget,
                    label,
                    limit: step.terms.limit,
                    ends_at: answer.decision.reset_at,
                    claim: window_claim(&step.party, &step.terms),
                });
                state.outbox.enter(&decided, entry, window.as_ref());
            }
        });
    }
}

fn hides(step: &Step<'_>, decision: &Decision) -> bool {
    let mut rules = step.rules.dimensions.iter();
    rules.any(|rules| rules.hides_denial(decision))
}

/// The charges by the policy in force.
fn plan<'a>(
    state: &State,
    charges: &[Charge<'a>],
    at: EpochMs,
) -> Result<(Vec<Step<'a>>, String, Revision), Undecided> {
    let (loaded, region) = state.place().ok_or(Undecided::NotReady)?;
    let (policy, revision) = (&loaded.policy, loaded.revision);
    let steps = charges.iter().enumerate().map(|(index, charge)| {
        let unknown = Undecided::Budget(index);
        let budget = policy.budgets.get(charge.budget).ok_or(unknown)?;
        if budget.root() == Scope::Isolate {
            return Err(Undecided::Unleased(index));
        }
        let terms = policy.budget_terms(charge.budget, &region, revision, at);
        let party = match budget.rule() {
            Some(_) => policy
                .claimant(charge.tenant, Some(charge.budget), revision, at)
                .map(Party::from),
            None => Some(Party::Everyone),
        };
        Ok(Step {
            charge: *charge,
            pool: PoolName::Budget(charge.budget.to_owned()).to_string(),
            terms: terms.ok_or(unknown)?,
            party: party.ok_or(Undecided::Tenant(index))?,
            rules: StepRules {
                mode: Mode::All,
                enforced: policy.enforcing && !budget.shadow,
                dimensions: vec![DimensionRules {
                    shadow: budget.shadow,
                    excused: budget.on_unavailable == OnUnavailable::Allow,
                }],
            },
            quota: budget.limit,
            window_ms: budget.window_ms,
        })
    });
    Ok((steps.collect::<Result<_, _>>()?, region, revision))
}

fn outcome(
    steps: &[Step<'_>],
    answers: &Answers,
    verdict: &QuestionVerdict,
    (at, region, revision): (EpochMs, String, Revision),
) -> Result<ChargeOutcome, Undecided> {
    let decided = steps.iter().enumerate().map(|(index, step)| {
        let answer = answers.get((index, 0))?;
        Some(ChargeDecision {
            decision: answer.decision,
            window: answer.window,
            quota: step.quota,
            window_ms: step.window_ms,
        })
    });
    Ok(ChargeOutcome {
        admitted: verdict.admitted,
        binding: verdict.binding.map_or(0, |at| at.0),
        decided: decided.collect(),
        at,
        region,
        revision,
    })
}

/// A request that waits; its node hears that it is gone when this goes out of scope, whatever ends the wait.
struct Wait<'a> {
    agent: &'a Agent,
    pool: &'a str,
    caller: Caller,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let at = self.agent.now();
        let (pool, caller) = (self.pool, self.caller);
        self.agent
            .with(|state| state.leases.leave(pool, caller, at));
    }
}

/// What one charge of a question has spent.
struct SpentHere {
    step: usize,
    pool: String,
    tenant: Option<String>,
    label: WindowLabel,
    units: u64,
}

/// What a question has charged so far. It goes back if the client leaves before the question has ended.
struct Unfinished<'a> {
    agent: &'a Agent,
    spent: Vec<SpentHere>,
}

impl Unfinished<'_> {
    fn note(&mut self, step: usize, of: &Step<'_>, answer: &DimensionAnswer) {
        if let Charges::Pool(label) = answer.charge {
            let seat = |state: &mut State| {
                let seat = state.leases.seat(&of.pool, &of.party);
                seat.name().map(str::to_owned)
            };
            self.spent.push(SpentHere {
                step,
                pool: of.pool.clone(),
                tenant: self.agent.with(seat),
                label,
                units: of.charge.cost,
            });
        }
    }

    /// The question has ended: what these steps charged goes back, the rest stays charged.
    fn end(&mut self, back: &[usize]) {
        self.spent.retain(|spent| back.contains(&spent.step));
        self.give_back();
    }

    fn give_back(&mut self) {
        let at = self.agent.now();
        for spent in self.spent.drain(..) {
            let units = Spent {
                label: spent.label,
                tenant: spent.tenant.as_deref(),
                units: spent.units,
            };
            self.agent
                .with(|state| state.leases.undo(&spent.pool, units, at));
        }
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.give_back();
    }
}
