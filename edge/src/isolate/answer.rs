//! The answer to a question: decided, counted, and reserved where it was asked for.

use weir_shared::accounting::counters::{Charged, Decided, Entry};
use weir_shared::accounting::pending::InWindow;
use weir_shared::check::{Check, Item, Target};
use weir_shared::decision::id::Denial;
use weir_shared::decision::{Decision, Reason};
use weir_shared::federation::party::window_claim;
use weir_shared::limiting::owner::{Account, Asking};
use weir_shared::limiting::reservation::{
    Counted, Place as ReservedPlace, Reservable, Reservation, Reserved,
};
use weir_shared::limits::{JSON_INTEGER_MAX, RESERVATION_MS};
use weir_shared::name::SEPARATOR;
use weir_shared::node::question::answers::{Answers, At, Charge};
use weir_shared::trace::span::Said;
use weir_shared::units::EpochMs;
use weir_shared::wire::accounting::ANONYMOUS;
use weir_shared::wire::check::DecisionBody;
use weir_shared::wire::operator::live::DecisionSample;

use super::contact::{count, tell_slots};
use super::loaded::Loaded;
use super::memory::{now, with};
use super::plan::{Dimension, Kind, Place, Step, steps};
use super::question::{QuestionOutcome, RequestQuestion};
use super::request::RequestHandles;
use super::shard::question_id;
use super::slot::given;
use crate::http::answered::Answered;
use crate::http::failure::Failure;
use crate::http::ratelimit::{QuotaPolicy, ServiceLimit};
use crate::isolate::sealed;
use crate::isolate::sealed::reservation::seal;
use crate::objects::trace;

/// Who decides the questions of one request, or of one batch.
pub struct Asker<'a> {
    /// The platform.
    pub handles: &'a RequestHandles,
    /// The region.
    pub region: &'a str,
    /// Its policy.
    pub loaded: &'a Loaded,
    /// Who asks.
    pub asking: Asking<'a>,
    /// Whether what is denied passes all the same.
    pub shadow: bool,
    /// Whether the request is forwarded here, so that its end is known.
    pub forwards: bool,
}

/// Which items of a question are settled, and until when they may be.
pub(super) struct Reserving<'a> {
    pub(super) items: &'a dyn Fn(usize) -> bool,
    pub(super) until: EpochMs,
}

impl<'a> Reserving<'a> {
    pub(super) fn new(items: &'a dyn Fn(usize) -> bool) -> Self {
        let until = now().plus(RESERVATION_MS);
        Self { items, until }
    }
}

impl Asker<'_> {
    pub(super) fn steps<'b>(&'b self, check: &'b Check) -> Result<Vec<Step<'b>>, Failure> {
        let forwards = self.forwards && !self.shadow;
        steps(check, self.loaded, self.region, (self.asking, forwards))
    }

    /// What a question charges, each state by a name of its own; nothing is decided.
    ///
    /// # Errors
    /// 404 for a name that the policy does not have, 400 for a key or tenant that is missing or has no place.
    pub fn plan(&self, check: &Check) -> Result<Vec<String>, Failure> {
        let steps = self.steps(check)?;
        let dimensions = steps.iter().flat_map(|step| &step.dimensions);
        let names = dimensions.map(|dimension| match &dimension.place {
            // Several tenants may share the pool, but each request has one.
            Place::Pool { pool, .. } => pool.clone(),
            Place::Budget { name, .. } => (*name).to_owned(),
            Place::Isolate { key, .. } | Place::Shard { key, .. } => {
                format!("{}{SEPARATOR}{}", key.limit, key.key)
            }
            Place::Overload(check) => format!("{SEPARATOR}{}", check.name),
            Place::Open => String::new(),
        });
        Ok(names.filter(|name| !name.is_empty()).collect())
    }

    /// Decides a question.
    ///
    /// # Errors
    /// As [`Asker::plan`]; 503 for one that is answered with a text while the keys that seal it are not known.
    pub async fn answer(&self, check: &Check) -> Result<Answered, Failure> {
        let steps = self.steps(check)?;
        let guarded = |item: &Item| matches!(item.target, Target::Guard(_));
        if check.reserve || check.items.iter().any(guarded) {
            sealed::ready()?;
        }
        let reserves = |_: usize| check.reserve;
        let reserving = Reserving::new(&reserves);
        let outcome = self.decide(check, &steps, false).await?;
        let would_deny = self.count(check, &steps, &outcome, &reserving)?;
        let mut answered = self.answered(check, &steps, &outcome)?;
        if outcome.verdict.admitted {
            let tenant = check.tenant.as_deref();
            if check.reserve {
                let reservation = self.reservation(tenant, &steps, &outcome, &reserving);
                answered.body.reservation = Some(seal(&reservation)?);
            }
            self.give_slot(check, &steps, &outcome, &mut answered.body)?;
        }
        if steps.iter().any(|step| step.cost > 0) {
            self.show(check, &answered.body, would_deny)?;
        }
        Ok(answered)
    }

    /// Decides, and counts nothing. `again` is said of a request that was denied before and has waited.
    pub(super) async fn decide(
        &self,
        check: &Check,
        steps: &[Step<'_>],
        again: bool,
    ) -> Result<QuestionOutcome, Failure> {
        let question = RequestQuestion {
            handles: self.handles,
            region: self.region,
            steps,
            again,
        };
        question.decide().await?.ok_or_else(|| {
            // A newer policy has taken it away meanwhile.
            let fields = check.items.first().map_or("", |item| item.at.as_str());
            Failure::unknown("limit", fields)
        })
    }

    /// Shows some of the decisions to whoever watches.
    pub(super) fn show(
        &self,
        check: &Check,
        body: &DecisionBody,
        would_deny: bool,
    ) -> Result<(), Failure> {
        let at = now();
        with(self.region, |view| {
            let pending = view.outbox.pending();
            pending.show(|| DecisionSample {
                at,
                tenant: check.tenant.clone(),
                allowed: body.allowed || self.shadow,
                binding: body.binding.clone(),
                reason: body.reason,
                would_deny,
                decision: body.decision.clone().filter(|_| !self.shadow),
            });
        })
    }

    /// Counts each check once: admitted with the request, denied where it denied. Whether any would have denied but for a
    /// shadow.
    pub(super) fn count(
        &self,
        check: &Check,
        steps: &[Step<'_>],
        outcome: &QuestionOutcome,
        reserving: &Reserving<'_>,
    ) -> Result<bool, Failure> {
        let tenant = check.tenant.as_deref().unwrap_or(ANONYMOUS);
        let known = self.loaded.policy.tiers.named(tenant).is_some();
        let mut would_deny = false;
        for (index, (step, verdict)) in steps.iter().zip(&outcome.verdict.steps).enumerate() {
            if verdict.admitted && !outcome.verdict.admitted {
                continue;
            }
            let reason = reason(steps, outcome, index);
            let entry = if reason == Reason::Admitted {
                match (reserving.items)(index) && Reservable::of(step.charged).is_some() {
                    true => Entry::Reservation {
                        until: reserving.until,
                    },
                    false => Entry::Charge,
                }
            } else if self.shadow || verdict.admitted || !step.enforced {
                would_deny |= step.cost > 0;
                Entry::Shadow
            } else {
                Entry::Charge
            };
            let decided = Decided {
                tenant,
                known,
                charged: step.charged,
                reason,
                units: step.cost,
            };
            let bound = verdict.binding.map(|inner| (index, inner));
            let window = bound.and_then(|at| in_window(step, &outcome.answers, at));
            count(self.handles, self.region, &decided, entry, window.as_ref())?;
        }
        self.tell_slots((tenant, known), steps, outcome)?;
        Ok(would_deny)
    }

    /// Passes on what shards said of the slots that are taken.
    fn tell_slots(
        &self,
        tenant: (&str, bool),
        steps: &[Step<'_>],
        outcome: &QuestionOutcome,
    ) -> Result<(), Failure> {
        for at in places(steps) {
            let word = outcome.answers.get(at).and_then(|answer| answer.in_flight);
            if let (Charged::Guard(guard), Some(word)) = (steps[at.0].charged, word) {
                tell_slots(self.handles, self.region, tenant, guard, word)?;
            }
        }
        Ok(())
    }

    /// The slot that the request takes, where it names a guard.
    fn give_slot(
        &self,
        check: &Check,
        steps: &[Step<'_>],
        outcome: &QuestionOutcome,
        body: &mut DecisionBody,
    ) -> Result<(), Failure> {
        let tenant = check.tenant.as_deref().unwrap_or_default();
        for at in places(steps) {
            if let Some(slot) = given((self.region, tenant), steps, outcome, at)? {
                body.slot = Some(slot.text);
                body.expires_at = Some(slot.expires_at.0);
            }
        }
        Ok(())
    }

    pub(super) fn answered(
        &self,
        check: &Check,
        steps: &[Step<'_>],
        outcome: &QuestionOutcome,
    ) -> Result<Answered, Failure> {
        let binding = outcome
            .verdict
            .binding
            .ok_or_else(|| Failure::Internal("nothing was decided".to_owned()))?;
        let mut service_limits = Vec::new();
        for at in std::iter::once(binding).chain(places(steps)) {
            let dimension = &steps[at.0].dimensions[at.1];
            let named = |service_limit: &ServiceLimit| service_limit.name == dimension.name;
            let Some(decision) = whole(dimension, outcome, at) else {
                continue;
            };
            // While a resource is not overloaded nothing bounds its clients; then what it serves is the bound.
            let quota_policy = match dimension.place {
                Place::Open => continue,
                Place::Overload(_) if decision.limit == JSON_INTEGER_MAX => continue,
                Place::Overload(_) => QuotaPolicy {
                    quota: decision.limit,
                    ..dimension.quota_policy
                },
                _ => dimension.quota_policy,
            };
            if !service_limits.iter().any(named) {
                service_limits.push(ServiceLimit {
                    name: dimension.name.to_owned(),
                    quota_policy,
                    remaining: decision.remaining,
                    reset_at: decision.reset_at,
                });
            }
        }
        let dimension = &steps[binding.0].dimensions[binding.1];
        let decision = whole(dimension, outcome, binding)
            .ok_or_else(|| Failure::Internal("the binding dimension is open".to_owned()))?;
        let allowed = outcome.verdict.admitted;
        let denial = || {
            let (kind, rule) = steps[binding.0].charged.rule();
            let denial = Denial {
                at: now(),
                tenant: check.tenant.as_deref().unwrap_or(ANONYMOUS),
                region: self.region,
                reason: decision.reason,
                kind,
                rule,
            };
            denial.to_string()
        };
        let window = outcome
            .answers
            .get(binding)
            .and_then(|answer| answer.window);
        let body = DecisionBody {
            allowed,
            limit: decision.limit,
            remaining: decision.remaining,
            reset_at: decision.reset_at.0,
            retry_after_ms: if allowed {
                Some(0)
            } else {
                decision.retry.after_ms()
            },
            binding: dimension.name.to_owned(),
            reason: decision.reason,
            region: self.region.to_owned(),
            window: window.map(|label| label.0),
            policy_revision: self.loaded.revision.0,
            decision: (!allowed).then(denial),
            reservation: None,
            slot: None,
            expires_at: None,
        };
        told(check, steps[binding.0].charged, &body);
        Ok(Answered {
            body,
            service_limits,
        })
    }

    /// What was charged for the checks that `which` names, to be settled. What was charged only to be counted is not
    /// reserved.
    pub(super) fn reservation(
        &self,
        tenant: Option<&str>,
        steps: &[Step<'_>],
        outcome: &QuestionOutcome,
        reserving: &Reserving<'_>,
    ) -> Reservation {
        let mut charges = Vec::new();
        let mut account = Account::default();
        for at in places(steps).filter(|at| (reserving.items)(at.0)) {
            let (step, dimension) = (&steps[at.0], &steps[at.0].dimensions[at.1]);
            let charge = outcome.answers.get(at).map(|answer| &answer.charge);
            let place = match (&dimension.place, charge) {
                (
                    Place::Pool {
                        pool,
                        party,
                        account: of,
                        ..
                    },
                    Some(Charge::Pool(label)),
                ) => {
                    // A budget is the policy's: nobody's part bounds it.
                    if matches!(step.charged, Charged::Limit(_)) {
                        account = of.as_ref().clone();
                    }
                    ReservedPlace::Pool {
                        pool: pool.clone(),
                        label: *label,
                        tenant: party.name().map(str::to_owned),
                    }
                }
                // A slot is released, not settled.
                (
                    Place::Shard {
                        shard,
                        key,
                        kind: Kind::Units,
                        ..
                    },
                    Some(Charge::Shard(receipt) | Charge::Drawn(receipt)),
                ) => ReservedPlace::Key {
                    limit: key.limit.clone(),
                    key: key.key.clone(),
                    global: !shard.is_regional(),
                    receipt: receipt.clone(),
                },
                _ => continue,
            };
            charges.push(Reserved {
                cost: step.cost,
                units: dimension.units,
                place,
            });
        }
        Reservation {
            op: question_id(),
            region: self.region.to_owned(),
            tenant: tenant.map(str::to_owned),
            account,
            expires_at: reserving.until,
            charges,
            counted: counted(steps, outcome, reserving),
        }
    }
}

/// Tells the trace what was decided.
fn told(check: &Check, charged: Charged<'_>, body: &DecisionBody) {
    trace::say(|| {
        let (kind, rule) = charged.rule();
        let text = |text: &str| Said::Text(text.to_owned());
        [
            (
                "weir.tenant",
                text(check.tenant.as_deref().unwrap_or_default()),
            ),
            ("weir.rule", Said::Text(format!("{}:{rule}", kind.name()))),
            ("weir.outcome", text(body.reason.name())),
            (
                "weir.decision",
                text(body.decision.as_deref().unwrap_or_default()),
            ),
        ]
    });
}

/// What is counted when it is settled: what was counted as reserved.
fn counted(
    steps: &[Step<'_>],
    outcome: &QuestionOutcome,
    reserving: &Reserving<'_>,
) -> Vec<Counted> {
    let items = (0..steps.len()).filter(|index| (reserving.items)(*index));
    let admitted = items.filter(|index| reason(steps, outcome, *index) == Reason::Admitted);
    let counted = admitted.filter_map(|index| {
        let step = &steps[index];
        let (of, name) = Reservable::of(step.charged).filter(|_| step.cost > 0)?;
        Some(Counted {
            of,
            name: name.to_owned(),
            cost: step.cost,
        })
    });
    counted.collect()
}

/// How a check was decided by itself, whatever becomes of that in shadow.
fn reason(steps: &[Step<'_>], outcome: &QuestionOutcome, index: usize) -> Reason {
    let verdict = &outcome.verdict.steps[index];
    let bound = verdict.binding.map(|inner| (index, inner));
    let answer = bound.and_then(|at| outcome.answers.get(at));
    let rules = bound.map(|(step, inner)| steps[step].dimensions[inner].rules);
    let hides = |decision| rules.is_some_and(|rules| rules.hides_denial(decision));
    match answer {
        Some(answer) if !verdict.admitted || hides(&answer.decision) => answer.decision.reason,
        _ if verdict.admitted => Reason::Admitted,
        _ => Reason::Unavailable,
    }
}

/// The decision of a dimension in whole units. A shard that is out of reach did not tell its limit.
fn whole(dimension: &Dimension<'_>, outcome: &QuestionOutcome, at: At) -> Option<Decision> {
    let decision = outcome.answers.get(at)?.decision;
    Some(match &dimension.place {
        Place::Pool { .. } => dimension.whole(decision),
        Place::Shard { machine, .. } if decision.reason == Reason::Unavailable => Decision {
            limit: machine.ceiling() / machine.scale(),
            ..decision
        },
        _ => decision,
    })
}

/// The window of a budget that a check was decided in.
fn in_window<'a>(step: &'a Step<'_>, answers: &Answers, at: At) -> Option<InWindow<'a>> {
    let (Charged::Budget(budget), Place::Pool { terms, party, .. }) =
        (step.charged, &step.dimensions.get(at.1)?.place)
    else {
        return None;
    };
    let answer = answers.get(at)?;
    Some(InWindow {
        budget,
        label: answer.window?,
        limit: terms.limit,
        ends_at: answer.decision.reset_at,
        claim: window_claim(party, terms),
    })
}

pub(super) fn places(steps: &[Step<'_>]) -> impl Iterator<Item = At> {
    let count = |step: &Step<'_>| step.dimensions.len();
    let all = steps.iter().map(count).enumerate();
    all.flat_map(|(step, count)| (0..count).map(move |inner| (step, inner)))
        .collect::<Vec<_>>()
        .into_iter()
}
