//! `POST /v1/guards/{guard}/acquire`, `/renew` and `/release`: slots of a tenant.

use weir_shared::check::guard::{Acquire, Slot as SlotText};
use weir_shared::check::{Check, Item, Target};
use weir_shared::decision::Reason;
use weir_shared::limiting::messages::GuardAction;
use weir_shared::limiting::owner::Asking;
use weir_shared::limits::CHECK_BODY_BYTES_MAX;
use weir_shared::wire::check::DecisionBody;
use weir_shared::wire::guard::{AcquireRequest, AcquiredBody, SlotRequest};
use worker::{Request, Response};

use crate::auth::caller::Caller;
use crate::http::failure::Failure;
use crate::http::{body, reply};
use crate::isolate::answer::Asker;
use crate::isolate::place::place;
use crate::isolate::request::RequestHandles;
use crate::isolate::sealed::slot::open;
use crate::isolate::slot::act;

/// Takes a slot.
///
/// # Errors
/// 429 when none is free or the minute's budget is used up, with the time after which one could be; 503 when the guard
/// is out of reach; 400, 403, 404, 413 or 415, with the field at fault.
pub async fn acquire(
    request: &mut Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    let mut question: AcquireRequest = body::json(request, CHECK_BODY_BYTES_MAX).await?;
    question.tenant = caller.tenant(question.tenant, "")?;
    let question = Acquire::try_from(question)?;
    let (region, loaded) = place(request, handles).await?;
    if !loaded.policy.guards.contains_key(&caller.name) {
        return Err(no_guard());
    }
    let check = Check {
        tenant: Some(question.tenant),
        items: vec![Item {
            target: Target::Guard(caller.name.clone()),
            cost: 1,
            at: String::new(),
        }],
        reserve: false,
    };
    let asker = Asker {
        shadow: false,
        forwards: false,
        handles,
        region: &region,
        loaded: &loaded,
        asking: Asking::Principal(&caller.principal),
    };
    let decided = asker.answer(&check).await?.body;
    let (Some(slot), Some(expires_at)) = (&decided.slot, decided.expires_at) else {
        return Err(refused(decided));
    };
    let body = AcquiredBody {
        allowed: true,
        slot: slot.clone(),
        expires_at,
    };
    reply::json(200, &body)
}

/// Holds a slot for another lease, if it is still held.
///
/// # Errors
/// 400 for a slot that this deployment did not give, or gave of another guard; 403, 404, 413, 415; 503 when the shard
/// that holds it does not answer.
pub async fn renew(
    request: &mut Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    change(request, handles, caller, GuardAction::Renew).await
}

/// Frees a slot. One that is free already stays free.
///
/// # Errors
/// As [`renew`].
pub async fn release(
    request: &mut Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    change(request, handles, caller, GuardAction::Release).await
}

async fn change(
    request: &mut Request,
    handles: &RequestHandles,
    caller: &Caller,
    action: GuardAction,
) -> Result<Response, Failure> {
    let question: SlotRequest = body::json(request, CHECK_BODY_BYTES_MAX).await?;
    let question = SlotText::try_from(question)?;
    let (region, loaded) = place(request, handles).await?;
    let slot = open(handles, &region, &question.text, &caller.name).await?;
    caller.may_name(Some(&slot.tenant), "")?;
    reply::json(200, &act(handles, (&region, &loaded), &slot, action).await?)
}

/// The guard is named by the path, not by a field.
fn no_guard() -> Failure {
    Failure::NotFound {
        what: "guard",
        field: None,
    }
}

fn refused(decided: DecisionBody) -> Failure {
    let failure = match decided.reason {
        Reason::Concurrency => too_many("No slot of the guard is free.", &decided),
        Reason::LimitExceeded => too_many("The calls of this minute are used up.", &decided),
        reason => Failure::Unavailable {
            what: format!("guard {}: {reason:?}", decided.binding),
        },
    };
    match decided.decision {
        Some(decision) => Failure::Denied {
            failure: Box::new(failure),
            decision,
        },
        None => failure,
    }
}

fn too_many(detail: &'static str, decided: &DecisionBody) -> Failure {
    Failure::TooMany {
        detail,
        after_ms: decided.retry_after_ms.unwrap_or(1),
    }
}
