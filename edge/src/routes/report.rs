//! `POST /v1/report`: how a request that used an overload resource came out.

use weir_shared::check::report::Report;
use weir_shared::limits::CHECK_BODY_BYTES_MAX;
use weir_shared::overload::resource::Outcome;
use weir_shared::wire::report::{ReportReply, ReportRequest, ReportedOutcome};
use worker::{Request, Response};

use crate::auth::caller::Caller;
use crate::http::failure::Failure;
use crate::http::{body, reply};
use crate::isolate::overload;
use crate::isolate::place::place;
use crate::isolate::request::RequestHandles;

/// Takes one outcome.
///
/// # Errors
/// 400, 403, 404, 413 or 415, with the field at fault.
pub async fn report(
    request: &mut Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    let mut question: ReportRequest = body::json(request, CHECK_BODY_BYTES_MAX).await?;
    question.tenant = caller.tenant(question.tenant, "")?;
    let report = Report::try_from(question)?;
    let (region, loaded) = place(request, handles).await?;
    let outcome = match report.outcome {
        ReportedOutcome::Success => Outcome::Success,
        ReportedOutcome::Failure => Outcome::Failure,
    };
    let whose = (report.resource.as_str(), report.tenant.as_str());
    overload::report(handles, &region, &loaded, whose, outcome)?;
    reply::json(200, &ReportReply { reported: true })
}
