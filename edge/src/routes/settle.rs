//! `POST /v1/settle`: what a reservation really cost.

use weir_shared::check::settle::Settle;
use weir_shared::limits::CHECK_BODY_BYTES_MAX;
use weir_shared::wire::settle::SettleRequest;
use worker::{Request, Response};

use crate::auth::caller::Caller;
use crate::http::failure::Failure;
use crate::http::{body, reply};
use crate::isolate::now;
use crate::isolate::place::place;
use crate::isolate::request::RequestHandles;
use crate::isolate::sealed::reservation::open;
use crate::isolate::settle::settle as settle_once;

/// Settles a reservation. A second settlement answers the first result.
///
/// # Errors
/// 400 for a reservation that this deployment did not make, 403 for one of another tenant, 409 for one whose time is over, 413, 415; 503 when
/// the region that charged it does not answer, or the deployment's keys are not known.
pub async fn settle(
    request: &mut Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    let question: SettleRequest = body::json(request, CHECK_BODY_BYTES_MAX).await?;
    let question = Settle::try_from(question)?;
    let (region, loaded) = place(request, handles).await?;
    let reservation = open(handles, &region, &question.reservation).await?;
    caller.may_settle(&reservation)?;
    if now() >= reservation.expires_at {
        return Err(Failure::Expired);
    }
    let settled = settle_once(handles, &loaded, &reservation, question.actual).await?;
    reply::json(200, &settled)
}
