//! One question, decided: first what this isolate holds, then what shards of the region keep. Nothing is charged unless
//! every enforced check admits.

use std::collections::BTreeMap;
use std::rc::Rc;

use weir_shared::decision::{Decision, Retry};
use weir_shared::limiting::tap::Look;
use weir_shared::limiting::verdict::{QuestionVerdict, verdict};
use weir_shared::units::EpochMs;
use weir_shared::wire::exchange::VERSION;
use weir_shared::wire::keys::{
    AskedBody, DecideBody, DecidedBody, GroupBody, LimitTerms, ReturnBody,
};

use super::answers::{Answer, Answers, At, Charge, Part, Rules, out_of_reach};
use super::key::{KeyCheck, draw_of};
use super::lease::LeaseCheck;
use super::local::LocalCheck;
use super::plan::{Dimension, Place, Step};
use super::request::RequestHandles;
use super::shard::{ask, ask_all, question_id};
use super::{now, with};
use crate::http::failure::Failure;

/// A question of one request.
pub struct Question<'a> {
    /// The platform.
    pub handles: &'a RequestHandles,
    /// The region that decides.
    pub region: &'a str,
    /// The checks.
    pub steps: &'a [Step<'a>],
}

/// What came of it.
pub struct Outcome {
    /// The answers that were needed.
    pub answers: Answers,
    /// What they come to.
    pub verdict: QuestionVerdict,
}

impl<'a> Question<'a> {
    /// Decides. `None` when a newer policy does not have what is asked any more.
    ///
    /// # Errors
    /// When the isolate decides for too many regions.
    pub async fn decide(&self) -> Result<Option<Outcome>, Failure> {
        let rules: Rules = Rc::new(self.steps.iter().map(Step::rules).collect());
        if let [Step { dimensions, .. }] = self.steps
            && let [only] = dimensions.as_slice()
        {
            return self.single(only, &rules).await;
        }
        let mut answers = Answers::open(self.steps);
        self.look_for_denials(&mut answers)?;
        for at in self.places() {
            if lost(&rules, &answers) {
                break;
            }
            if answers.get(at).is_none() {
                match self.held_here(at).await? {
                    Held::Decided(answer) => answers.set(at, answer),
                    Held::Elsewhere => {}
                    Held::Gone => {
                        self.undo(&answers, |_| true)?;
                        return Ok(None);
                    }
                }
            }
        }
        if !lost(&rules, &answers) {
            answers = self.ask_shards(&rules, answers).await?;
        }
        let verdict = verdict(&rules, &answers.decisions());
        if !verdict.admitted {
            self.undo(&answers, |_| true)?;
        } else if !verdict.steps.iter().all(|step| step.admitted) {
            // What is not enforced charges none of its dimensions where it would have denied.
            self.undo(&answers, |step| !verdict.steps[step].admitted)?;
        }
        Ok(Some(Outcome { answers, verdict }))
    }

    /// A question of one dimension, which needs no undoing.
    async fn single(
        &self,
        only: &Dimension<'a>,
        rules: &Rules,
    ) -> Result<Option<Outcome>, Failure> {
        let answer = match &only.place {
            Place::Shard {
                shard,
                key,
                machine,
                terms,
            } => {
                let check = KeyCheck {
                    region: self.region,
                    shard: *shard,
                    key,
                    terms,
                    units: only.units,
                    ceiling: machine.ceiling(),
                    look: only.look,
                };
                check.decide(self.handles).await?
            }
            _ => match self.held_here((0, 0)).await? {
                Held::Decided(answer) => answer,
                _ => return Ok(None),
            },
        };
        let answers = Answers(vec![vec![Some(answer)]]);
        let verdict = verdict(rules, &answers.decisions());
        Ok(Some(Outcome { answers, verdict }))
    }

    /// Denials that still stand, and costs that no state admits, cost nothing to know.
    fn look_for_denials(&self, answers: &mut Answers) -> Result<(), Failure> {
        let at_ms = now();
        for at in self.places() {
            let dimension = self.dimension(at);
            if let Place::Shard { key, machine, .. } = &dimension.place {
                let units = dimension.units;
                let denial = if units > machine.ceiling() {
                    Some(machine.look(None, units, at_ms))
                } else {
                    with(self.region, |view| {
                        let tap = view.tap(key, at_ms);
                        tap.standing_denial(units, machine.ceiling(), at_ms)
                    })?
                };
                if let Some(decision) = denial {
                    let answer = Answer {
                        decision,
                        window: None,
                        charge: Charge::Nothing,
                        drawn: None,
                    };
                    answers.set(at, answer);
                }
            }
        }
        Ok(())
    }

    /// Decides a dimension of which this isolate holds units.
    async fn held_here(&self, at: At) -> Result<Held, Failure> {
        let dimension = self.dimension(at);
        match &dimension.place {
            Place::Pool { .. } => {
                let Some(check) = self.lease(dimension) else {
                    return Ok(Held::Gone);
                };
                let Some((decision, window)) = check.decide(self.handles).await? else {
                    return Ok(Held::Gone);
                };
                let charged = decision.admitted() && !dimension.look;
                let charge = match window {
                    Some(label) if charged => Charge::Pool(label),
                    _ => Charge::Nothing,
                };
                Ok(Held::Decided(Answer {
                    decision,
                    window,
                    charge,
                    drawn: None,
                }))
            }
            Place::Isolate { key, machine } => {
                let check = LocalCheck {
                    region: self.region,
                    key,
                    machine,
                };
                let (decision, receipt) = check.decide(dimension.units, dimension.look)?;
                let charge = receipt.map_or(Charge::Nothing, Charge::Local);
                Ok(Held::Decided(Answer {
                    decision,
                    window: None,
                    charge,
                    drawn: None,
                }))
            }
            Place::Shard { key, machine, .. } => {
                let at_ms = now();
                let (units, look) = (dimension.units, dimension.look);
                with(self.region, |view| {
                    let tap = view.tap(key, at_ms);
                    let receipt = tap.receipt();
                    match tap.look((units, machine.ceiling()), look, at_ms) {
                        Look::Decided(decision) => Held::Decided(Answer {
                            decision,
                            window: None,
                            charge: match receipt {
                                Some(receipt) if decision.admitted() && !look => {
                                    Charge::Drawn(receipt)
                                }
                                _ => Charge::Nothing,
                            },
                            drawn: None,
                        }),
                        Look::Wait | Look::Ask => Held::Elsewhere,
                    }
                })
            }
        }
    }

    fn lease<'b>(&'b self, dimension: &'b Dimension<'a>) -> Option<LeaseCheck<'b>> {
        let Place::Pool {
            pool,
            terms,
            denial,
        } = &dimension.place
        else {
            return None;
        };
        Some(LeaseCheck {
            region: self.region,
            pool,
            terms,
            cost: if dimension.look { 0 } else { dimension.units },
            denial: *denial,
        })
    }

    /// Asks the shards of what is open: one decides and commits in one step; several hold first.
    async fn ask_shards(&self, rules: &Rules, mut answers: Answers) -> Result<Answers, Failure> {
        let sent_at = now();
        let mut parts = self.parts(&answers)?;
        match parts.len() {
            0 => return Ok(answers),
            1 => {
                let Some(part) = parts.pop() else {
                    return Ok(answers);
                };
                let landing = ask(self.handles, self.region, part.shard, part.body.clone());
                let reply = landing.await.ok().flatten();
                answers.take(&part, reply.as_ref());
            }
            _ => {
                let open = answers.clone();
                let parts_keys: Vec<_> = parts.iter().flat_map(|part| part.keys.clone()).collect();
                let rules = Rc::clone(rules);
                let landing = ask_all(self.handles, self.region, parts, rules, answers);
                answers = match landing.await {
                    Ok(answers) => answers,
                    Err(_) => {
                        let mut open = open;
                        for (at, _) in parts_keys {
                            open.set(at, out_of_reach());
                        }
                        open
                    }
                };
            }
        }
        self.remember(&answers, sent_at)?;
        Ok(answers)
    }

    /// What shards denied stands for a while, and what they charged ahead can be spent.
    fn remember(&self, answers: &Answers, sent_at: EpochMs) -> Result<(), Failure> {
        let at_ms = now();
        for at in self.places() {
            let dimension = self.dimension(at);
            let (Place::Shard { key, .. }, Some(answer)) = (&dimension.place, answers.get(at))
            else {
                continue;
            };
            with(self.region, |view| {
                let contact_at = view.contact_due;
                let tap = view.tap(key, at_ms);
                match &answer.charge {
                    Charge::Shard(_) => {
                        let draw = answer.drawn.clone().map(draw_of);
                        tap.admit(dimension.units, answer.decision, draw, sent_at);
                    }
                    Charge::Drawn(_) => {}
                    _ if answer.decision.admitted() => {}
                    _ => tap.deny(dimension.units, answer.decision, sent_at, contact_at),
                }
            })?;
        }
        Ok(())
    }

    /// The questions to the shards, one each.
    fn parts(&self, answers: &Answers) -> Result<Vec<Part>, Failure> {
        let mut open: BTreeMap<u32, Vec<At>> = BTreeMap::new();
        for at in self.places() {
            if let (Place::Shard { shard, .. }, None) = (&self.dimension(at).place, answers.get(at))
            {
                open.entry(*shard).or_default().push(at);
            }
        }
        let several = open.len() > 1;
        open.into_iter()
            .map(|(shard, keys)| self.part(shard, &keys, several, answers))
            .collect()
    }

    fn part(
        &self,
        shard: u32,
        open: &[At],
        several: bool,
        answers: &Answers,
    ) -> Result<Part, Failure> {
        let at_ms = now();
        let mut limits: BTreeMap<String, LimitTerms> = BTreeMap::new();
        let mut groups = Vec::new();
        let mut keys = Vec::new();
        let mut returns = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            let mut dimensions = Vec::new();
            for (inner, dimension) in step.dimensions.iter().enumerate() {
                let at = (index, inner);
                let shadow = dimension.rules.shadow || !step.enforced;
                if let (Place::Shard { key, terms, .. }, true) =
                    (&dimension.place, open.contains(&at))
                {
                    limits.insert(terms.name.clone(), terms.as_ref().clone());
                    let (back, ahead) = match dimension.look {
                        true => (None, 0),
                        false => with(self.region, |view| {
                            let tap = view.tap(key, at_ms);
                            (tap.take_back(), tap.interval(at_ms))
                        })?,
                    };
                    if let Some((units, receipt)) = back {
                        returns.push(ReturnBody {
                            limit: key.limit.clone(),
                            key: key.key.clone(),
                            units,
                            receipt,
                        });
                    }
                    keys.push((at, (groups.len(), dimensions.len())));
                    dimensions.push(AskedBody::Key {
                        limit: key.limit.clone(),
                        key: key.key.clone(),
                        cost: dimension.units,
                        look: dimension.look,
                        ahead,
                        shadow,
                    });
                } else if let Some(answer) = answers.get(at) {
                    dimensions.push(AskedBody::Decided {
                        decision: as_it_counts(dimension, answer.decision),
                        shadow,
                    });
                } else {
                    // Another shard decides it. Whether the whole admits is known when all have answered: until then
                    // it stands in no one's way.
                    dimensions.push(AskedBody::Decided {
                        decision: Decision::IDENTITY.into(),
                        shadow,
                    });
                }
            }
            groups.push(GroupBody {
                mode: step.mode,
                dimensions,
            });
        }
        Ok(Part {
            shard,
            body: DecideBody {
                v: VERSION,
                op: question_id(),
                limits: limits.into_values().collect(),
                returns,
                groups,
                hold: several,
            },
            keys,
        })
    }

    /// Gives back what was charged here for the checks that `which` names. What shards charged they undo themselves.
    fn undo(&self, answers: &Answers, which: impl Fn(usize) -> bool) -> Result<(), Failure> {
        let at_ms = now();
        for at in self.places().filter(|at| which(at.0)) {
            let (dimension, Some(answer)) = (self.dimension(at), answers.get(at)) else {
                continue;
            };
            match (&dimension.place, &answer.charge) {
                (Place::Pool { .. }, Charge::Pool(label)) => {
                    if let Some(check) = self.lease(dimension) {
                        check.undo(*label)?;
                    }
                }
                (Place::Isolate { key, machine }, Charge::Local(receipt)) => {
                    let check = LocalCheck {
                        region: self.region,
                        key,
                        machine,
                    };
                    check.undo(receipt, dimension.units)?;
                }
                (Place::Shard { key, .. }, Charge::Drawn(receipt)) => {
                    with(self.region, |view| {
                        let tap = view.tap(key, at_ms);
                        tap.unspend(dimension.units, receipt, at_ms);
                    })?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn places(&self) -> impl Iterator<Item = At> + use<'a> {
        let steps = self.steps;
        let count = |index: usize| steps[index].dimensions.len();
        (0..steps.len()).flat_map(move |step| (0..count(step)).map(move |inner| (step, inner)))
    }

    fn dimension(&self, at: At) -> &'a Dimension<'a> {
        &self.steps[at.0].dimensions[at.1]
    }
}

/// What this isolate can say of a dimension.
enum Held {
    /// It decides.
    Decided(Answer),
    /// A shard has to be asked.
    Elsewhere,
    /// A newer policy does not have it any more.
    Gone,
}

fn lost(rules: &Rules, answers: &Answers) -> bool {
    let decisions = answers.decisions();
    let mut steps = rules.iter().zip(&decisions);
    steps.any(|(rules, decisions)| rules.lost(decisions))
}

/// A decision as it counts for the others: one that is excused does not deny.
fn as_it_counts(dimension: &Dimension<'_>, decision: Decision) -> DecidedBody {
    if dimension.rules.passes(&decision) && !decision.admitted() && !dimension.rules.shadow {
        return Decision {
            retry: Retry::Now,
            ..Decision::IDENTITY
        }
        .into();
    }
    decision.into()
}
