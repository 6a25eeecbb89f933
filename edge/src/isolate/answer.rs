//! The answer to a question: decided, counted, and reserved where it was asked for.

use weir_shared::check::Check;
use weir_shared::decision::{Decision, Reason};
use weir_shared::limiting::key::SEPARATOR;
use weir_shared::limiting::reservation::{Place as ReservedPlace, Reservation, Reserved};
use weir_shared::limits::RESERVATION_MS;
use weir_shared::wire::accounting::ANONYMOUS;
use weir_shared::wire::check::DecisionBody;

use super::answers::{At, Charge};
use super::contact::count;
use super::now;
use super::plan::{Dimension, Place, Step, steps};
use super::question::{Outcome, Question};
use super::region::Loaded;
use super::request::RequestHandles;
use super::shard::question_id;
use crate::auth::reservation::seal;
use crate::http::failure::Failure;
use crate::http::ratelimit::Standing;

/// Who decides the questions of one request, or of one batch.
pub struct Asker<'a> {
    /// The platform.
    pub handles: &'a RequestHandles,
    /// The region.
    pub region: &'a str,
    /// Its policy.
    pub loaded: &'a Loaded,
}

/// An answer, with what its headers say.
pub struct Answered {
    /// The decision.
    pub body: DecisionBody,
    /// Every budget and limit that was decided, the binding one first.
    pub standings: Vec<Standing>,
}

impl Asker<'_> {
    /// What a question charges, each state by a name of its own; nothing is decided.
    ///
    /// # Errors
    /// 404 for a name that the policy does not have, 400 for a key or tenant that is missing or has no place.
    pub fn plan(&self, check: &Check) -> Result<Vec<String>, Failure> {
        let steps = steps(check, self.loaded, self.region)?;
        let dimensions = steps.iter().flat_map(|step| &step.dimensions);
        let names = dimensions.map(|dimension| match &dimension.place {
            // Several tenants may share the pool, but each request has one.
            Place::Pool { pool, .. } => pool.clone(),
            Place::Budget { name, .. } => (*name).to_owned(),
            Place::Isolate { key, .. } | Place::Shard { key, .. } => {
                format!("{}{SEPARATOR}{}", key.limit, key.key)
            }
        });
        Ok(names.collect())
    }

    /// Decides a question.
    ///
    /// # Errors
    /// As [`Asker::plan`].
    pub async fn answer(&self, check: &Check) -> Result<Answered, Failure> {
        let steps = steps(check, self.loaded, self.region)?;
        let question = Question {
            handles: self.handles,
            region: self.region,
            steps: &steps,
        };
        let Some(outcome) = question.decide().await? else {
            // A newer policy has taken it away meanwhile.
            let fields = check.items.first().map_or("", |item| item.at.as_str());
            return Err(Failure::unknown("limit", fields));
        };
        self.count(check, &steps, &outcome)?;
        let mut answered = self.answered(&steps, &outcome)?;
        if check.reserve && outcome.verdict.admitted {
            answered.body.reservation = self.reserve(&steps, &outcome)?;
        }
        Ok(answered)
    }

    /// Counts each check once: admitted with the request, denied where it denied.
    fn count(&self, check: &Check, steps: &[Step<'_>], outcome: &Outcome) -> Result<(), Failure> {
        let tenant = check.tenant.as_deref().unwrap_or(ANONYMOUS);
        for (step, verdict) in steps.iter().zip(&outcome.verdict.steps) {
            if !verdict.admitted || outcome.verdict.admitted {
                let decided = (step.charged, verdict.admitted, step.cost);
                count(self.handles, self.region, tenant, decided)?;
            }
        }
        Ok(())
    }

    fn answered(&self, steps: &[Step<'_>], outcome: &Outcome) -> Result<Answered, Failure> {
        let binding = outcome
            .verdict
            .binding
            .ok_or_else(|| Failure::Internal("nothing was decided".to_owned()))?;
        let mut standings = Vec::new();
        for at in std::iter::once(binding).chain(places(steps)) {
            let dimension = &steps[at.0].dimensions[at.1];
            let named = |standing: &Standing| standing.name == dimension.name;
            if let Some(decision) = whole(dimension, outcome, at)
                && !standings.iter().any(named)
            {
                standings.push(Standing {
                    name: dimension.name.to_owned(),
                    promise: dimension.promise,
                    remaining: decision.remaining,
                    reset_at: decision.reset_at,
                });
            }
        }
        let dimension = &steps[binding.0].dimensions[binding.1];
        let decision = whole(dimension, outcome, binding)
            .ok_or_else(|| Failure::Internal("the binding dimension is open".to_owned()))?;
        let allowed = outcome.verdict.admitted;
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
            reservation: None,
        };
        Ok(Answered { body, standings })
    }

    /// The text by which what was charged can be settled. What was charged only to be counted is not reserved.
    fn reserve(&self, steps: &[Step<'_>], outcome: &Outcome) -> Result<Option<String>, Failure> {
        let mut charges = Vec::new();
        for at in places(steps) {
            let (step, dimension) = (&steps[at.0], &steps[at.0].dimensions[at.1]);
            let charge = outcome.answers.get(at).map(|answer| &answer.charge);
            let place = match (&dimension.place, charge) {
                (Place::Pool { pool, party, .. }, Some(Charge::Pool(label))) => {
                    let shared = !party.name.is_empty();
                    ReservedPlace::Pool {
                        pool: pool.clone(),
                        label: *label,
                        tenant: shared.then(|| party.name.clone()),
                    }
                }
                (
                    Place::Shard { key, terms, .. },
                    Some(Charge::Shard(receipt) | Charge::Drawn(receipt)),
                ) => ReservedPlace::Key {
                    limit: terms.name.clone(),
                    key: key.key.clone(),
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
        let reservation = Reservation {
            op: question_id(),
            region: self.region.to_owned(),
            expires_at: now().plus(RESERVATION_MS),
            charges,
        };
        seal(&self.handles.env, &reservation).map(Some)
    }
}

/// The decision of a dimension in whole units. A shard that is out of reach did not tell its limit.
fn whole(dimension: &Dimension<'_>, outcome: &Outcome, at: At) -> Option<Decision> {
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

fn places(steps: &[Step<'_>]) -> impl Iterator<Item = At> {
    let count = |step: &Step<'_>| step.dimensions.len();
    let all = steps.iter().map(count).enumerate();
    all.flat_map(|(step, count)| (0..count).map(move |inner| (step, inner)))
        .collect::<Vec<_>>()
        .into_iter()
}
