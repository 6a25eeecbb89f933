//! Slots of guards after they were taken: the text by which a caller keeps one, its renewal and its release.

use weir_shared::accounting::counters::Charged;
use weir_shared::algorithms::composite::StateKey;
use weir_shared::algorithms::scale::ScaledReceipt;
use weir_shared::limiting::messages::{GuardAction, GuardBody};
use weir_shared::limiting::slot::{HeldSlot, Slot};
use weir_shared::limits::OPERATOR_CALL_MS_MAX;
use weir_shared::name::{full_key, guard_name};
use weir_shared::units::EpochMs;
use weir_shared::wire::exchange::VERSION;
use weir_shared::wire::guard::SlotBody;
use weir_shared::wire::policy::Scope;

use super::contact::tell_slots;
use super::kept::{shard_of, terms_of};
use super::now;
use super::plan::{Kind, Place, Step};
use super::question::Outcome;
use super::region::Loaded;
use super::request::RequestHandles;
use crate::http::failure::Failure;
use crate::isolate::sealed::slot::seal;
use crate::objects::binding::{Address, call};
use weir_shared::node::question::answers::{At, Charge};

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
}

/// The slot that an admitted request takes, of the dimension `at`, as text. `None` where that dimension takes none.
///
/// # Errors
/// 503 while the deployment's keys are not known.
pub fn given(
    whose: (&str, &str),
    steps: &[Step<'_>],
    outcome: &Outcome,
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
    outcome: &Outcome,
    at: At,
) -> Option<Taken> {
    let (step, dimension) = (&steps[at.0], &steps[at.0].dimensions[at.1]);
    let (Place::Shard { shard, kind, .. }, Charged::Guard(guard)) =
        (&dimension.place, step.charged)
    else {
        return None;
    };
    let Kind::Slots { lease_ms } = *kind else {
        return None;
    };
    if dimension.look {
        return None;
    }
    let receipt = match outcome.answers.get(at).map(|answer| &answer.charge) {
        Some(Charge::Shard(receipt)) => Some(receipt),
        _ => None,
    };
    let held = receipt.and_then(ScaledReceipt::slot);
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
    })
}

/// Renews or releases a slot, from any isolate of any region.
///
/// # Errors
/// 503 when the shard that holds it does not answer: it can be tried again.
pub async fn act(
    handles: &RequestHandles,
    (region, loaded): (&str, &Loaded),
    slot: &Slot,
    action: GuardAction,
) -> Result<SlotBody, Failure> {
    let at = now();
    let key = StateKey {
        limit: guard_name(&slot.guard),
        key: full_key(Some(&slot.tenant), ""),
    };
    // A guard that the policy does not have any more holds nothing.
    let Some(terms) = terms_of(loaded, &key, 1, at) else {
        return Ok(SlotBody {
            held: false,
            expires_at: None,
        });
    };
    let lease_ms = terms.guard.as_ref().map_or(0, |guard| guard.lease_ms);
    let Some(held) = &slot.held else {
        let renewed = action == GuardAction::Renew;
        return Ok(SlotBody {
            held: renewed,
            expires_at: renewed.then(|| at.plus(lease_ms).0),
        });
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
    Ok(SlotBody {
        held: reply.held,
        expires_at: reply.expires_at.map(|at| at.0),
    })
}
