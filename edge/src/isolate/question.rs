//! One question, decided: what is asked of whom in which order is the [node's](weir_shared::node::question) word; here it is
//! carried out, by what this isolate holds and by shards.

use std::borrow::Cow;
use std::rc::Rc;

use weir_shared::decision::Reason;
use weir_shared::limiting::key_cache::Look;
use weir_shared::limiting::verdict::{QuestionVerdict, verdict};
use weir_shared::limits::DECIDE_WAIT_MS_MAX;
use weir_shared::node::question::answers::{Answers, At, Charge, DimensionAnswer};
use weir_shared::node::question::{self, Effect, End, Event, LocalAnswer};
use weir_shared::units::EpochMs;

use super::key::{KeyCheck, draw_of};
use super::lease::LeaseCheck;
use super::local::LocalCheck;
use super::local_budget::LocalBudgetCheck;
use super::look::Looks;
use super::memory::{now, with};
use super::metering::open;
use super::plan::{Dimension, Place, Step};
use super::request::RequestHandles;
use super::shard::{Rules, ask};
use crate::http::failure::Failure;
use crate::objects::telemetry;

/// A question of one request.
pub struct RequestQuestion<'a> {
    /// The platform.
    pub handles: &'a RequestHandles,
    /// The region that decides.
    pub region: &'a str,
    /// The checks.
    pub steps: &'a [Step<'a>],
    /// Whether the request was denied before and has waited.
    pub again: bool,
}

/// What came of it.
pub struct QuestionOutcome {
    /// No shard was asked earlier.
    pub asked_at: EpochMs,
    /// The answers that were needed.
    pub answers: Answers,
    /// What they come to.
    pub verdict: QuestionVerdict,
}

impl<'a> RequestQuestion<'a> {
    /// Decides. `None` when a newer policy does not have what is asked any more.
    ///
    /// # Errors
    /// When the isolate decides for too many regions.
    pub async fn decide(&self) -> Result<Option<QuestionOutcome>, Failure> {
        let started = now();
        let outcome = self.decided(started).await;
        telemetry::decision_waited(now().since(started));
        outcome
    }

    async fn decided(&self, started: EpochMs) -> Result<Option<QuestionOutcome>, Failure> {
        let rules: Rules = Rc::new(self.steps.iter().map(Step::rules).collect());
        if let [Step { dimensions, .. }] = self.steps
            && let [only] = dimensions.as_slice()
            && !only.is_asked_alone()
        {
            return self.single(only, &rules).await;
        }
        let mut looks = Looks::default();
        loop {
            let late = now().since(started) >= DECIDE_WAIT_MS_MAX;
            let (answers, end) = self.attempt(&rules, started, late).await?;
            match end {
                End::Decided(verdict) => {
                    return Ok(Some(QuestionOutcome {
                        asked_at: started,
                        answers,
                        verdict,
                    }));
                }
                End::Gone => return Ok(None),
                End::Busy => looks.again().await,
            }
        }
    }

    /// Carries out what the node says, until it ends.
    async fn attempt(
        &self,
        rules: &Rules,
        came_at: EpochMs,
        late: bool,
    ) -> Result<(Answers, End), Failure> {
        let (mut node, mut effect) = question::Question::begin(Rc::clone(rules), late);
        let mut claim = None;
        loop {
            let event = match effect {
                Effect::Look => Event::Looked(self.denials(came_at)?),
                Effect::Probe => Event::Probed {
                    busy: self.busy(node.answers())?,
                },
                Effect::Hold(at) => Event::Held(at, self.held_here(at).await?),
                Effect::Claim => {
                    claim = self.claim(node.answers())?;
                    Event::Claimed(claim.is_some())
                }
                Effect::Ask => Event::Asked(self.ask_shards(rules, node.answers()).await?),
                Effect::End(end, back) => {
                    drop(claim);
                    self.undo(node.answers(), &back)?;
                    return Ok((node.into_answers(), end));
                }
            };
            effect = node.step(event, now());
        }
    }

    /// A question of one dimension, which needs no undoing.
    async fn single(
        &self,
        only: &Dimension<'a>,
        rules: &Rules,
    ) -> Result<Option<QuestionOutcome>, Failure> {
        let answer = match &only.place {
            Place::Shard {
                shard,
                key,
                machine,
                terms,
                known,
                account,
                ..
            } => {
                let check = KeyCheck {
                    region: self.region,
                    shard,
                    key,
                    terms,
                    units: only.units,
                    ceiling: machine.ceiling(),
                    look: only.look,
                    draws: true,
                    known: *known,
                    account,
                };
                check.decide(self.handles).await?
            }
            _ => match self.held_here((0, 0)).await? {
                LocalAnswer::Decided(answer) => *answer,
                _ => return Ok(None),
            },
        };
        let answers = Answers(vec![vec![Some(answer)]]);
        let verdict = verdict(rules, &answers.decisions());
        Ok(Some(QuestionOutcome {
            asked_at: now(),
            answers,
            verdict,
        }))
    }

    /// Denials that still stand, and costs that no state admits, cost nothing to know.
    fn denials(&self, came_at: EpochMs) -> Result<Vec<(At, DimensionAnswer)>, Failure> {
        let (at_ms, mut denials) = (now(), Vec::new());
        for at in self.places() {
            let dimension = self.dimension(at);
            if let Place::Shard { key, machine, .. } = &dimension.place {
                let units = dimension.units;
                let denial = if units > machine.ceiling() {
                    Some(machine.look(None, units, at_ms))
                } else {
                    with(self.region, |view| {
                        let cache = view.known_key_cache(key);
                        cache
                            .and_then(|cache| {
                                cache.standing_denial(units, machine.ceiling(), at_ms)
                            })
                            .or_else(|| view.lines.denial(key, came_at, at_ms))
                    })?
                };
                if let Some(decision) = denial {
                    denials.push((at, DimensionAnswer::uncharged(decision)));
                }
            }
        }
        Ok(denials)
    }

    /// Decides a dimension of which this isolate holds units.
    async fn held_here(&self, at: At) -> Result<LocalAnswer, Failure> {
        let dimension = self.dimension(at);
        match &dimension.place {
            Place::Pool { .. } => {
                let Some(check) = self.lease(dimension) else {
                    return Ok(LocalAnswer::Gone);
                };
                let Some((decision, window)) = check.decide(self.handles).await? else {
                    return Ok(LocalAnswer::Gone);
                };
                let charged = decision.admitted() && !dimension.look;
                let charge = match window {
                    Some(label) if charged => Charge::Pool(label),
                    _ => Charge::Nothing,
                };
                Ok(decided(DimensionAnswer {
                    window,
                    charge,
                    ..DimensionAnswer::uncharged(decision)
                }))
            }
            Place::Budget { name, terms, party } => {
                let check = LocalBudgetCheck {
                    region: self.region,
                    name,
                    terms,
                    party,
                };
                let cost = if dimension.look { 0 } else { dimension.units };
                let (decision, label) = check.decide(cost)?;
                let charged = decision.admitted() && !dimension.look;
                Ok(decided(DimensionAnswer {
                    window: Some(label),
                    charge: if charged {
                        Charge::Pool(label)
                    } else {
                        Charge::Nothing
                    },
                    ..DimensionAnswer::uncharged(decision)
                }))
            }
            Place::Isolate {
                key,
                machine,
                known,
                account,
            } => {
                let check = LocalCheck {
                    region: self.region,
                    key,
                    machine,
                    own: matches!(machine, Cow::Owned(_)),
                    known: *known,
                    account,
                };
                let (decision, receipt) = check.decide(dimension.units, dimension.look)?;
                let charge = receipt.map_or(Charge::Nothing, Charge::Local);
                Ok(decided(DimensionAnswer {
                    charge,
                    ..DimensionAnswer::uncharged(decision)
                }))
            }
            Place::Overload(check) => {
                let cost = if dimension.look { 0 } else { dimension.units };
                let (decision, slot) = check.decide(cost)?;
                let charge = match decision.admitted() && !dimension.look {
                    true => Charge::Resource(slot),
                    false => Charge::Nothing,
                };
                Ok(decided(DimensionAnswer {
                    charge,
                    ..DimensionAnswer::uncharged(decision)
                }))
            }
            Place::Open => Ok(decided(DimensionAnswer::uncharged(open(now())))),
            Place::Shard { .. } if dimension.is_asked_alone() => Ok(self
                .spare_slot(dimension)?
                .map_or(LocalAnswer::Elsewhere, decided)),
            Place::Shard { key, machine, .. } => {
                let at_ms = now();
                let (units, look) = (dimension.units, dimension.look);
                with(self.region, |view| {
                    let Some(cache) = view.known_key_cache(key) else {
                        return LocalAnswer::Elsewhere;
                    };
                    let receipt = cache.receipt();
                    match cache.look((units, machine.ceiling()), look, at_ms) {
                        Look::Decided(decision) => decided(DimensionAnswer {
                            charge: match receipt {
                                Some(receipt) if decision.admitted() && !look => {
                                    Charge::Drawn(receipt)
                                }
                                _ => Charge::Nothing,
                            },
                            ..DimensionAnswer::uncharged(decision)
                        }),
                        Look::Wait | Look::Ask => LocalAnswer::Elsewhere,
                    }
                })
            }
        }
    }

    fn lease<'b>(&self, dimension: &'b Dimension<'a>) -> Option<LeaseCheck<'b>>
    where
        'a: 'b,
    {
        let Place::Pool {
            pool,
            terms,
            party,
            account,
            denial,
        } = &dimension.place
        else {
            return None;
        };
        // A view that cannot be reached refuses the check itself.
        let seat = with(self.region, |view| view.leases.seat(pool, party));
        Some(LeaseCheck {
            region: self.region,
            pool,
            terms,
            party: seat.unwrap_or(Cow::Borrowed(party)),
            account,
            cost: if dimension.look { 0 } else { dimension.units },
            denial: *denial,
            again: self.again,
        })
    }

    /// Asks the shards of what is open.
    async fn ask_shards(&self, rules: &Rules, answers: &Answers) -> Result<Answers, Failure> {
        let sent_at = now();
        let parts = self.parts(answers)?;
        let landing = ask(self.handles, Rc::clone(rules), answers.clone(), parts);
        let answers = landing.await.unwrap_or_else(|_| {
            let mut open = answers.clone();
            open.give_up(now());
            open
        });
        self.remember(&answers, sent_at)?;
        Ok(answers)
    }

    /// What shards denied stands for a while, and what they charged ahead can be spent.
    fn remember(&self, answers: &Answers, sent_at: EpochMs) -> Result<(), Failure> {
        let at_ms = now();
        for at in self.places() {
            let dimension = self.dimension(at);
            let (Place::Shard { key, account, .. }, Some(answer)) =
                (&dimension.place, answers.get(at))
            else {
                continue;
            };
            // Who frees a slot does not tell this isolate: that none was free is not remembered.
            if dimension.is_asked_alone() {
                if answer.in_flight.is_some() {
                    with(self.region, |view| {
                        view.lines.answered(key, answer.decision, sent_at);
                    })?;
                }
                if answer.decision.reason != Reason::LimitExceeded {
                    continue;
                }
            }
            with(self.region, |view| {
                let contact_at = view.contact_due;
                let cache = view.key_cache(key, account, at_ms);
                match &answer.charge {
                    Charge::Shard(_) => {
                        let draw = answer.drawn.clone().map(draw_of);
                        cache.admit(dimension.units, answer.decision, draw, sent_at);
                    }
                    Charge::Drawn(_) => {}
                    _ if answer.decision.admitted() => {}
                    _ => cache.deny(dimension.units, answer.decision, sent_at, contact_at),
                }
            })?;
        }
        Ok(())
    }

    /// Gives back what those dimensions charged here.
    fn undo(&self, answers: &Answers, back: &[At]) -> Result<(), Failure> {
        let at_ms = now();
        for at in back {
            let (dimension, Some(answer)) = (self.dimension(*at), answers.get(*at)) else {
                continue;
            };
            match (&dimension.place, &answer.charge) {
                (Place::Pool { .. }, Charge::Pool(label)) => {
                    if let Some(check) = self.lease(dimension) {
                        check.undo(*label)?;
                    }
                }
                (Place::Budget { name, terms, party }, Charge::Pool(label)) => {
                    let check = LocalBudgetCheck {
                        region: self.region,
                        name,
                        terms,
                        party,
                    };
                    check.undo(*label, dimension.units)?;
                }
                (
                    Place::Isolate {
                        key,
                        machine,
                        known,
                        account,
                    },
                    Charge::Local(receipt),
                ) => {
                    let check = LocalCheck {
                        region: self.region,
                        key,
                        machine,
                        own: matches!(machine, Cow::Owned(_)),
                        known: *known,
                        account,
                    };
                    check.undo(receipt, dimension.units)?;
                }
                (Place::Overload(check), Charge::Resource(slot)) => {
                    check.undo(dimension.units, *slot)?;
                }
                (Place::Shard { key, account, .. }, Charge::Drawn(receipt)) => {
                    with(self.region, |view| {
                        let cache = view.key_cache(key, account, at_ms);
                        cache.unspend(dimension.units, receipt, at_ms);
                    })?;
                }
                (Place::Shard { key, .. }, Charge::Spare(slot)) => {
                    with(self.region, |view| {
                        view.spare_slots.put_back(key, (**slot).clone(), at_ms);
                    })?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn places(&self) -> impl Iterator<Item = At> + use<'a> {
        let steps = self.steps;
        let count = |index: usize| steps[index].dimensions.len();
        (0..steps.len()).flat_map(move |step| (0..count(step)).map(move |inner| (step, inner)))
    }

    pub(super) fn dimension(&self, at: At) -> &'a Dimension<'a> {
        &self.steps[at.0].dimensions[at.1]
    }
}

fn decided(answer: DimensionAnswer) -> LocalAnswer {
    LocalAnswer::Decided(Box::new(answer))
}
