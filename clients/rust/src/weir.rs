//! The client.

use std::sync::Arc;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use crate::answer::{Decision, Place, Settled, SlotState};
use crate::batch::{BATCH, check_call, decide, with_headers};
use crate::clock::epoch_ms;
use crate::coalescer::{Coalescer, Waiting, cut};
use crate::error::WeirError;
use crate::options::{CallOptions, OptionError, Options, Settings};
use crate::question::{Item, Question, ReportedOutcome};
use crate::reservation::{Reservation, Settling};
use crate::scope::Outcome;
use crate::slot::Slot;
use crate::transport::{Again, Answered, Call, Connection};
use crate::unreachable;

/// Asks Weir. One client serves a whole process; clones share its connections. It runs on tokio.
///
/// Each call is an `Err` when the request itself is at fault (a name that the policy does not have, a token that is not valid),
/// and never because Weir is out of reach: `fail` decides then.
#[derive(Clone)]
pub struct Weir {
    over: Arc<Connection>,
    coalescer: Option<Arc<Coalescer>>,
    options: CallOptions,
}

impl Weir {
    /// A client that has asked nothing yet.
    ///
    /// # Errors
    /// Names the option that makes no sense.
    pub fn new(options: Options) -> Result<Self, OptionError> {
        let over = Arc::new(Connection::new(Settings::try_from(options)?));
        let coalescer = over.settings.batch_ms.map(|within_ms| {
            let over = Arc::clone(&over);
            let send = move |batch| {
                let over = Arc::clone(&over);
                tokio::spawn(async move { decide(&over, batch).await });
            };
            Arc::new(Coalescer::new(within_ms, BATCH, send))
        });
        Ok(Self {
            over,
            coalescer,
            options: CallOptions::default(),
        })
    }

    /// The same client with other options. Its checks are never part of a batch.
    ///
    /// # Errors
    /// Names the option that makes no sense.
    pub fn with(&self, options: CallOptions) -> Result<Self, OptionError> {
        Ok(Self {
            over: Arc::clone(&self.over),
            coalescer: None,
            options: options.checked()?,
        })
    }

    /// Decides. A denial is an answer.
    ///
    /// # Errors
    /// When the request itself is at fault.
    pub async fn check(&self, question: impl Into<Question>) -> Result<Decision, WeirError> {
        let question = question.into();
        match &self.coalescer {
            Some(coalescer) => {
                let answer = coalescer.ask(question.to_json()).await;
                answer.unwrap_or_else(|_| Err(WeirError::no_answer("The runtime has ended.")))
            }
            None => Ok(self.decision(&question).await?.value),
        }
    }

    /// Decides many in as few requests as they fit in: 1,000 and 64 KiB each. One at fault has its error in the place of a
    /// decision, and harms no other.
    pub async fn batch(
        &self,
        questions: impl IntoIterator<Item = Question>,
    ) -> Vec<Result<Decision, WeirError>> {
        let asked = questions.into_iter().map(|one| Waiting::new(one.to_json()));
        let (waiting, answers): (Vec<_>, Vec<_>) = asked.unzip();
        for batch in cut(BATCH, waiting) {
            let over = Arc::clone(&self.over);
            tokio::spawn(async move { decide(&over, batch).await });
        }
        let mut decided = Vec::with_capacity(answers.len());
        for answer in answers {
            let answer = answer.await;
            decided.push(
                answer.unwrap_or_else(|_| Err(WeirError::no_answer("The runtime has ended."))),
            );
        }
        decided
    }

    /// Charges what a call may cost at most, runs it, and settles what it did cost: to what [`Reservation::used`] said last;
    /// when it said nothing, in full if `run` returned `Ok` and to 0 if it returned `Err`. Denied, `run` is not called.
    ///
    /// A guard among the question's checks is renewed meanwhile and released at the end. A settlement that does not reach Weir
    /// leaves all charged, and is no error. A future that is dropped settles in the background.
    ///
    /// # Errors
    /// When the request itself is at fault. What `run` returns is the value of the outcome.
    pub async fn reserve<T, E, F>(
        &self,
        question: impl Into<Question>,
        run: impl FnOnce(Reservation) -> F,
    ) -> Result<Outcome<Result<T, E>>, WeirError>
    where
        F: Future<Output = Result<T, E>>,
    {
        let question = question.into().reserving();
        let slot = self.slot(&question).await?;
        let (units, decision) = (question.units(), slot.decision().clone());
        if !decision.allowed {
            return Ok(Outcome::Denied(decision));
        }
        let settling = Settling::new(self, slot, units);
        let value = run(settling.reservation().clone()).await;
        settling.settle(value.is_ok()).await;
        Ok(Outcome::Allowed { decision, value })
    }

    /// Takes a slot of a guard, runs `run`, and gives the slot back. Meanwhile the slot is renewed at a third of its lease;
    /// [`Slot::until_lost`] ends when it is lost. Denied, `run` is not called.
    ///
    /// # Errors
    /// When the request itself is at fault.
    pub async fn acquire<T, F>(
        &self,
        tenant: &str,
        guard: &str,
        run: impl FnOnce(Arc<Slot>) -> F,
    ) -> Result<Outcome<T>, WeirError>
    where
        F: Future<Output = T>,
    {
        let slot = self.slot(&Item::guard(guard).tenant(tenant)).await?;
        let decision = slot.decision().clone();
        if !decision.allowed {
            return Ok(Outcome::Denied(decision));
        }
        let slot = Arc::new(slot);
        let value = run(Arc::clone(&slot)).await;
        slot.release().await;
        Ok(Outcome::Allowed { decision, value })
    }

    /// Decides by a request of its own, and keeps the slot of the guard that the question names, until it is dropped.
    ///
    /// # Errors
    /// When the request itself is at fault.
    pub async fn slot(&self, question: &Question) -> Result<Slot, WeirError> {
        let answered = self.decision(question).await?;
        let date_ms = answered.date_ms();
        let guard = question.guard().unwrap_or_default();
        Ok(Slot::new(self, guard, answered.value, date_ms))
    }

    /// Takes a place in the queue of a `leaky_bucket`: an [`Item::limit`] with its key. Whoever has it waits `delay_ms` and goes
    /// on.
    ///
    /// # Errors
    /// When the request itself is at fault.
    pub async fn place(&self, question: impl Into<Question>) -> Result<Place, WeirError> {
        let call = Call {
            path: "/v1/reserve".to_owned(),
            body: question.into().to_json(),
            again: Again::Key,
        };
        let asked = self.over.send(&call, &self.options).await;
        let asked = asked.map(|answered: Answered<Place>| answered.value);
        unreachable::or_else(asked, |cause| {
            unreachable::place(self.over.settings.fail, cause)
        })
    }

    /// Says what a reservation came to, in units; 0 releases it. `None` when Weir could not be told: then all stays charged.
    ///
    /// # Errors
    /// When the request itself is at fault.
    pub async fn settle(
        &self,
        reservation: &str,
        actual: u64,
    ) -> Result<Option<Settled>, WeirError> {
        let call = Call {
            path: "/v1/settle".to_owned(),
            body: json!({ "reservation": reservation, "actual": actual }).to_string(),
            again: Again::Nature,
        };
        let asked = self.over.send(&call, &self.options).await;
        let asked = asked.map(|answered: Answered<Settled>| Some(answered.value));
        unreachable::or_else(asked, |_| None)
    }

    /// Gives a slot back that a check took; again changes nothing. `None` when Weir could not be told: it lapses then.
    ///
    /// # Errors
    /// When the request itself is at fault.
    pub async fn release(&self, guard: &str, slot: &str) -> Result<Option<SlotState>, WeirError> {
        let asked = self.change(guard, "release", slot, &self.options).await;
        unreachable::or_else(asked.map(|answered| Some(answered.value)), |_| None)
    }

    /// Says how a request to an overloaded resource came out. Needs the role service. False when Weir could not be told; it is
    /// not told again, as it might have heard it.
    ///
    /// # Errors
    /// When the request itself is at fault.
    pub async fn report(
        &self,
        resource: &str,
        tenant: &str,
        outcome: ReportedOutcome,
    ) -> Result<bool, WeirError> {
        let body = json!({ "resource": resource, "tenant": tenant, "outcome": outcome });
        let call = Call {
            path: "/v1/report".to_owned(),
            body: body.to_string(),
            again: Again::Never,
        };
        let asked = self.over.send(&call, &self.options).await;
        let asked = asked.map(|_: Answered<serde_json::Map<String, serde_json::Value>>| true);
        unreachable::or_else(asked, |_| false)
    }

    /// Renews a slot, within a time.
    pub(crate) async fn renew(
        &self,
        guard: &str,
        slot: &str,
        timeout_ms: u64,
    ) -> Result<Answered<SlotState>, WeirError> {
        let options = CallOptions {
            timeout_ms: Some(timeout_ms),
            ..self.options.clone()
        };
        self.change(guard, "renew", slot, &options).await
    }

    /// The decision, and Weir's clock.
    async fn decision(&self, question: &Question) -> Result<Answered<Decision>, WeirError> {
        let call = check_call(question.to_json());
        let asked = self.over.send(&call, &self.options).await;
        let asked = asked.map(|answered| Answered {
            headers: answered.headers.clone(),
            value: with_headers(answered),
        });
        unreachable::or_else(asked, |cause| Answered {
            headers: hyper::HeaderMap::new(),
            value: unreachable::decision(self.over.settings.fail, cause, epoch_ms()),
        })
    }

    async fn change(
        &self,
        guard: &str,
        what: &str,
        slot: &str,
        options: &CallOptions,
    ) -> Result<Answered<SlotState>, WeirError> {
        let guard = utf8_percent_encode(guard, NON_ALPHANUMERIC);
        let call = Call {
            path: format!("/v1/guards/{guard}/{what}"),
            body: json!({ "slot": slot }).to_string(),
            again: Again::Nature,
        };
        self.over.send(&call, options).await
    }
}
