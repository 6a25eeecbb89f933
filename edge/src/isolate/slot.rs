//! Slots of guards after they were taken: the text by which a caller keeps one, its renewal, its release, and the moment for
//! which one stays here for the next request.

use std::cell::{Cell, RefCell};

use weir_shared::accounting::counters::Charged;
use weir_shared::algorithms::composite::StateKey;
use weir_shared::limiting::messages::{GuardAction, GuardBody, GuardReply};
use weir_shared::limiting::slot::{HeldSlot, Slot};
use weir_shared::limiting::spare_slots::{HeardSlot, renewal_ms};
use weir_shared::limits::OPERATOR_CALL_MS_MAX;
use weir_shared::name::{full_key, guard_name};
use weir_shared::units::EpochMs;
use weir_shared::wire::exchange::VERSION;
use weir_shared::wire::guard::SlotBody;
use weir_shared::wire::policy::Scope;

use super::contact::{schedule_flush, tell_slots};
use super::kept::{shard_of, terms_of};
use super::loaded::Loaded;
use super::memory::{now, with};
use super::plan::{Dimension, Kind, Place, Step};
use super::question::{QuestionOutcome, RequestQuestion};
use super::request::RequestHandles;
use crate::http::failure::Failure;
use crate::isolate::sealed::slot::seal;
use crate::objects::binding::{Address, call};
use weir_shared::node::question::answers::{At, Charge, DimensionAnswer};

/// A slot as the caller gets it.
pub struct Given {
    /// Its text.
    pub text: String,
    /// When it lapses unless it is renewed.
    pub expires_at: EpochMs,
}

/// A slot as the Worker itself keeps it.
pub struct Taken {
    /// Which, and where.
    pub slot: Slot,
    /// How long it is held unless it is renewed.
    pub lease_ms: u64,
    /// When it lapses unless it is renewed.
    pub expires_at: EpochMs,
    /// What was heard of it last, where it may stay here when its request has ended.
    heard: RefCell<Option<HeardSlot>>,
    has_ended: Cell<bool>,
}

impl Taken {
    /// How long until it has to be renewed.
    pub fn renews_in_ms(&self) -> u64 {
        match &*self.heard.borrow() {
            Some(heard) => heard.renews_in_ms(now()),
            None => renewal_ms(self.lease_ms),
        }
    }

    /// Renews it.
    ///
    /// # Errors
    /// As [`act`].
    pub async fn renew(
        &self,
        handles: &RequestHandles,
        place: (&str, &Loaded),
    ) -> Result<(), Failure> {
        let sent_at = now();
        let reply = ask(handles, place, &self.slot, GuardAction::Renew).await?;
        let word = reply.and_then(|reply| reply.in_flight.filter(|_| reply.held));
        let mut heard = self.heard.borrow_mut();
        // One that is not held any more stays nowhere.
        *heard = heard.take().zip(word).map(|(heard, word)| HeardSlot {
            taken: word.slots,
            heard_at: sent_at,
            ..heard
        });
        Ok(())
    }

    /// Its request has ended: whether that is all, as it stays here for the next one for a moment. Else it is to be released.
    pub fn stays(&self, handles: &RequestHandles, region: &str) -> bool {
        if self.has_ended.replace(true) {
            return true;
        }
        let Some(heard) = self.heard.take() else {
            return false;
        };
        let key = key_of(&self.slot);
        let kept = with(region, |view| view.spare_slots.keep(&key, heard, now()));
        let kept = kept.unwrap_or(false);
        if kept {
            // Without a task to return it, it lapses. It is not released as well: another request may have it by then.
            let _scheduled = schedule_flush(handles, region);
        }
        kept
    }
}

impl RequestQuestion<'_> {
    /// The slot of an earlier request, where this isolate has one spare.
    pub(super) fn spare_slot(
        &self,
        dimension: &Dimension<'_>,
    ) -> Result<Option<DimensionAnswer>, Failure> {
        let Place::Shard {
            key, terms, kind, ..
        } = &dimension.place
        else {
            return Ok(None);
        };
        let (Kind::Slots { spare: true, .. }, Some(terms)) = (*kind, &terms.guard) else {
            return Ok(None);
        };
        let spare = with(self.region, |view| view.spare_slots.take(key, terms, now()))?;
        Ok(spare.map(|slot| DimensionAnswer {
            charge: Charge::Spare(Box::new(slot.clone())),
            ..DimensionAnswer::uncharged(slot.decision)
        }))
    }
}

/// The state that a slot is one of.
fn key_of(slot: &Slot) -> StateKey {
    StateKey {
        limit: guard_name(&slot.guard),
        key: full_key(Some(&slot.tenant), ""),
    }
}

/// The slot that an admitted request takes, of the dimension `at`, as text. `None` where that dimension takes none.
///
/// # Errors
/// 503 while the deployment's keys are not known.
pub fn given(
    whose: (&str, &str),
    steps: &[Step<'_>],
    outcome: &QuestionOutcome,
    at: At,
) -> Result<Option<Given>, Failure> {
    let Some(taken) = taken(whose, steps, outcome, at) else {
        return Ok(None);
    };
    Ok(Some(Given {
        text: seal(&taken.slot)?,
        expires_at: taken.expires_at,
    }))
}

/// The slot that an admitted request takes, of the dimension `at`. `None` where that dimension takes none. What a guard
/// let through without one, as it does not deny or was out of reach, gets a slot that holds nothing.
pub fn taken(
    (region, tenant): (&str, &str),
    steps: &[Step<'_>],
    outcome: &QuestionOutcome,
    at: At,
) -> Option<Taken> {
    let (step, dimension) = (&steps[at.0], &steps[at.0].dimensions[at.1]);
    let (
        Place::Shard {
            shard, kind, terms, ..
        },
        Charged::Guard(guard),
    ) = (&dimension.place, step.charged)
    else {
        return None;
    };
    let Kind::Slots { lease_ms, spare } = *kind else {
        return None;
    };
    if dimension.look {
        return None;
    }
    let answer = outcome.answers.get(at);
    let heard = answer.and_then(|answer| match &answer.charge {
        Charge::Spare(slot) => Some((**slot).clone()),
        Charge::Shard(receipt) => Some(HeardSlot {
            receipt: receipt.clone(),
            decision: answer.decision,
            terms: terms.guard?,
            taken: answer.in_flight?.slots,
            heard_at: outcome.asked_at,
        }),
        _ => None,
    });
    let receipt = answer.and_then(|answer| match &answer.charge {
        Charge::Spare(slot) => Some(&slot.receipt),
        Charge::Shard(receipt) => Some(receipt),
        _ => None,
    });
    let held = receipt.and_then(|receipt| receipt.slot());
    Some(Taken {
        slot: Slot {
            guard: guard.to_owned(),
            tenant: tenant.to_owned(),
            held: held.map(|(id, _)| HeldSlot {
                region: shard.is_regional().then(|| region.to_owned()),
                id,
                kept: receipt.and_then(|receipt| receipt.kept.clone()),
            }),
        },
        lease_ms,
        expires_at: held.map_or_else(|| now().plus(lease_ms), |(_, expires_at)| expires_at),
        heard: RefCell::new(heard.filter(|_| spare)),
        has_ended: Cell::new(false),
    })
}

/// Renews or releases a slot, from any isolate of any region.
///
/// # Errors
/// 503 when the shard that holds it does not answer: it can be tried again.
pub async fn act(
    handles: &RequestHandles,
    place: (&str, &Loaded),
    slot: &Slot,
    action: GuardAction,
) -> Result<SlotBody, Failure> {
    let at = now();
    // A guard that the policy does not have any more holds nothing.
    let Some(terms) = terms_of(place.1, &key_of(slot), 1, at) else {
        return Ok(SlotBody {
            held: false,
            expires_at: None,
        });
    };
    if let Some(reply) = ask(handles, place, slot, action).await? {
        return Ok(SlotBody {
            held: reply.held,
            expires_at: reply.expires_at.map(|at| at.0),
        });
    }
    let lease_ms = terms.guard.as_ref().map_or(0, |guard| guard.lease_ms);
    let renewed = action == GuardAction::Renew;
    Ok(SlotBody {
        held: renewed,
        expires_at: renewed.then(|| at.plus(lease_ms).0),
    })
}

/// Renews or releases a slot at its shard. `None` where there is nothing to ask: it holds nothing, or its guard is gone.
async fn ask(
    handles: &RequestHandles,
    (region, loaded): (&str, &Loaded),
    slot: &Slot,
    action: GuardAction,
) -> Result<Option<GuardReply>, Failure> {
    let key = key_of(slot);
    let terms = terms_of(loaded, &key, 1, now());
    let (Some(terms), Some(held)) = (terms, &slot.held) else {
        return Ok(None);
    };
    let (scope, place) = match &held.region {
        Some(region) => (Scope::Region, region.as_str()),
        None => (Scope::Global, region),
    };
    let shard = shard_of(loaded, place, scope, &key.key);
    let body = GuardBody {
        v: VERSION,
        terms,
        key: key.key,
        kept: held.kept.clone(),
        slot: held.id,
        action,
    };
    let address = Address::keys(&shard);
    let answer = call(&handles.env, address, &body, OPERATOR_CALL_MS_MAX).await;
    let reply = answer.map_err(|error| Failure::Unavailable {
        what: error.to_string(),
    })?;
    if let Some(word) = reply.in_flight {
        let known = loaded.policy.tiers.named(&slot.tenant).is_some();
        tell_slots(handles, region, (&slot.tenant, known), &slot.guard, word)?;
    }
    Ok(Some(reply))
}
