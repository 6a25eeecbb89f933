//! `POST /v1/reserve`: a place in the queue of a leaky bucket.

use weir_shared::check::reserve::Reserve;
use weir_shared::decision::Retry;
use weir_shared::decision::id;
use weir_shared::limiting::owner::Asking;
use weir_shared::limits::CHECK_BODY_BYTES_MAX;
use weir_shared::wire::reserve::{ReservationBody, ReserveRequest};
use worker::{Request, Response};

use crate::auth::caller::Caller;
use crate::http::body;
use crate::http::failure::Failure;
use crate::http::reply::Reply;
use crate::isolate::place::place;
use crate::isolate::request::RequestHandles;
use crate::isolate::shape::{Placed, Shape};

/// Gives a place, or says when there could be one.
///
/// # Errors
/// 400, 403, 404, 413 or 415, with the field at fault; 503 when the region does not answer.
pub async fn reserve(
    request: &mut Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    let mut question: ReserveRequest = body::json(request, CHECK_BODY_BYTES_MAX).await?;
    question.tenant = caller.tenant(question.tenant, "")?;
    let question = Reserve::try_from(question)?;
    let (region, loaded) = place(request, handles).await?;
    let shape = Shape {
        handles,
        region: &region,
        loaded: &loaded,
        asking: Asking::Principal(&caller.principal),
    };
    let Placed { outcome, decision } = shape.reserve(&question).await?;
    let retry_after_ms = match outcome.retry {
        Retry::Now => Some(0),
        other => other.after_ms(),
    };
    let body = ReservationBody {
        accepted: outcome.accepted,
        delay_ms: outcome.delay_ms,
        retry_after_ms,
        decision,
    };
    let mut reply = Reply::json(200, &body)?;
    if let Some(decision) = body.decision {
        reply = reply.with(id::HEADER, decision);
    }
    if let Some(after_ms) = retry_after_ms.filter(|ms| *ms > 0) {
        reply = reply.with("retry-after", after_ms.div_ceil(1_000).to_string());
    }
    Ok(reply.respond()?)
}
