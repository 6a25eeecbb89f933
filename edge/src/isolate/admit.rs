//! The answer to a question of the Worker itself, of a request at a route: it may wait in place of a denial, and what it has
//! taken stays here.

use weir_shared::check::Check;
use weir_shared::decision::Reason;
use weir_shared::limiting::reservation::Reservation;
use weir_shared::node::question::answers::Charge;

use super::answer::{Asker, Reserving, places};
use super::memory::now;
use super::patience::{Next, Patience, Wait};
use super::plan::{Place, Step};
use super::question::QuestionOutcome;
use super::slot::{Taken, taken};
use super::turn::Turn;
use crate::http::answered::Answered;
use crate::http::failure::Failure;

/// What came of a question of the Worker itself.
pub struct Admission {
    /// The answer.
    pub answered: Answered,
    /// What can be settled, by the index of its item; nothing of a question that was denied.
    pub reservations: Vec<(usize, Reservation)>,
    /// The slot that was taken, where the question names a guard and was admitted.
    pub slot: Option<Taken>,
    /// The slots that were taken at overload resources, each by the resource's name.
    pub resource_slots: Vec<(String, u64)>,
    /// The place in a queue that was taken, where the question names a shaper, was admitted, and waits for its turn.
    pub turn: Option<Turn>,
    /// Whether it was denied for want of a place in a queue.
    pub queue_full: bool,
}

impl Asker<'_> {
    /// Decides a question for this Worker itself, which settles the items of `settled` one by one and gives the slot
    /// back: nothing is sealed, as nothing leaves the Worker. With `patience` a request waits where it would be denied, and
    /// is decided again; what is counted is how that ends. `None` where its client went away meanwhile.
    ///
    /// # Errors
    /// As [`Asker::plan`].
    pub async fn admit(
        &self,
        check: &Check,
        settled: &[usize],
        patience: Option<&Patience<'_>>,
    ) -> Result<Option<Admission>, Failure> {
        let mut wait = patience.map(|patience| Wait::new(self, check, patience));
        if let Some(wait) = &mut wait
            && wait.stand().await? == Next::Gone
        {
            return Ok(None);
        }
        loop {
            let again = wait.as_ref().is_some_and(Wait::was_denied);
            let steps = self.steps(check)?;
            let outcome = self.decide(check, &steps, again).await?;
            let decided_at = now();
            if let Some(wait) = &mut wait {
                match wait.after(&steps, &outcome).await? {
                    Next::Ask => continue,
                    Next::Gone => return Ok(None),
                    Next::Answer => {}
                }
            }
            let mut admission = self.admission(check, settled, &steps, &outcome)?;
            if let Some(retry_ms) = &mut admission.answered.body.retry_after_ms
                && *retry_ms > 0
            {
                *retry_ms = retry_ms.saturating_sub(now().since(decided_at)).max(1);
            }
            return Ok(Some(admission));
        }
    }

    /// What a decision comes to for this Worker, counted.
    fn admission(
        &self,
        check: &Check,
        settled: &[usize],
        steps: &[Step<'_>],
        outcome: &QuestionOutcome,
    ) -> Result<Admission, Failure> {
        let reserves = |step: usize| settled.contains(&step);
        let reserving = Reserving::new(&reserves);
        let would_deny = self.count(check, steps, outcome, &reserving)?;
        let mut admission = Admission {
            answered: self.answered(check, steps, outcome)?,
            reservations: Vec::new(),
            slot: None,
            resource_slots: Vec::new(),
            turn: None,
            queue_full: queue_is_full(steps, outcome),
        };
        if outcome.verdict.admitted {
            let tenant = check.tenant.as_deref();
            let reservations = settled.iter().map(|index| {
                let one = Reserving {
                    items: &|step| step == *index,
                    ..reserving
                };
                (*index, self.reservation(tenant, steps, outcome, &one))
            });
            admission.reservations = reservations.collect();
            let whose = (self.region, tenant.unwrap_or_default());
            let mut taken = places(steps).filter_map(|at| taken(whose, steps, outcome, at));
            admission.slot = taken.next();
            admission.resource_slots = resource_slots(steps, outcome);
            // What is only counted delays nobody.
            admission.turn = Turn::of(steps, &outcome.answers).filter(|_| !self.shadow);
        }
        if steps.iter().any(|step| step.cost > 0) {
            self.show(check, &admission.answered.body, would_deny)?;
        }
        Ok(admission)
    }
}

/// The slots at overload resources that an admitted question has taken.
fn resource_slots(steps: &[Step<'_>], outcome: &QuestionOutcome) -> Vec<(String, u64)> {
    let taken = places(steps).filter_map(|at| {
        let charge = &outcome.answers.get(at)?.charge;
        match (&steps[at.0].dimensions[at.1].place, charge) {
            (Place::Overload(check), Charge::Resource(Some(slot))) => {
                Some((check.name.to_owned(), *slot))
            }
            _ => None,
        }
    });
    taken.collect()
}

/// Whether a question was denied for want of a place in a queue.
fn queue_is_full(steps: &[Step<'_>], outcome: &QuestionOutcome) -> bool {
    let bound = outcome
        .verdict
        .binding
        .filter(|_| !outcome.verdict.admitted);
    bound.is_some_and(|at| {
        let decided = outcome.answers.get(at).map(|answer| answer.decision.reason);
        steps[at.0].dimensions[at.1].delays() && decided == Some(Reason::LimitExceeded)
    })
}
