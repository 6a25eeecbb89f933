//! `/operator/v1/policy`: the document in force, its replacement, and what a candidate would change.

use futures_util::future::join;
use weir_shared::accounting::demand::Demand;
use weir_shared::audit::Action;
use weir_shared::limits::{HOUR_MS, JSON_INTEGER_MAX, POLICY_BODY_BYTES_MAX, PREVIEW_WINDOWS_MAX};
use weir_shared::policy::{Policy, work};
use weir_shared::preview::{self, recorded};
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::policy::PolicyDocument;
use weir_shared::wire::series::DemandBody;
use weir_shared::wire::windows::WindowsBody;
use worker::{Request, Response};

use super::change::{Change, if_match, invalid, too_often};
use super::ledgers::each;
use super::{in_force, registry};
use crate::auth::caller::Caller;
use crate::auth::doors::doors;
use crate::auth::secrets;
use crate::http::failure::Failure;
use crate::http::reply::Reply;
use crate::http::{body, reply};
use crate::isolate::request::RequestHandles;
use crate::isolate::{adopt_everywhere, now};
use crate::objects::calls::{SavePolicy, Saved};

/// The document in force, with its revision as `ETag`.
///
/// # Errors
/// 503.
pub async fn read(handles: &RequestHandles) -> Result<Response, Failure> {
    let found = in_force(handles).await?;
    answer(found.revision, &found.document)
}

/// Replaces the document if it is still the one that the caller saw.
///
/// # Errors
/// 400 naming the field, 412, 413, 415, 428, 503.
pub async fn save(
    request: &mut Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    let change = Change::new(request, handles, caller, Action::PolicySave)?;
    let (expected, document) = change.asked(asked(request, handles).await)?;
    let save = SavePolicy {
        expected,
        document,
        author: change.author(),
    };
    match registry(handles, &save).await? {
        Saved::Done(saved) => {
            adopt_everywhere(&saved);
            answer(saved.revision, &saved.document)
        }
        Saved::Moved { revision, .. } => Err(Failure::PreconditionFailed {
            current: revision.to_string(),
        }),
        Saved::Invalid { field, message } => Err(invalid(field, message)),
        Saved::TooOften { after_ms } => Err(too_often(after_ms)),
        Saved::Unknown => Err(Failure::Internal("a policy is no tenant".to_owned())),
    }
}

async fn asked(
    request: &mut Request,
    handles: &RequestHandles,
) -> Result<(Option<Revision>, PolicyDocument), Failure> {
    let tag = if_match(request)?;
    // No revision has the number of a tag that is none.
    let expected = tag.map(|tag| Revision(tag.parse().unwrap_or(u64::MAX)));
    let document: PolicyDocument = body::json(request, POLICY_BODY_BYTES_MAX).await?;
    candidate(handles, &document)?;
    Ok((expected, document))
}

/// A candidate that could be put in force here, if it is no more work than one request may cause.
///
/// # Errors
/// 400 naming the field, 413.
pub fn candidate(handles: &RequestHandles, document: &PolicyDocument) -> Result<Policy, Failure> {
    let candidate = validated(document)?;
    permit(handles, &candidate)?;
    Ok(candidate)
}

/// Refuses a policy that the deployment is not set up for.
fn permit(handles: &RequestHandles, policy: &Policy) -> Result<(), Failure> {
    doors(&handles.env).permit(policy)?;
    Ok(secrets::permit(&handles.env, policy)?)
}

/// A document as a policy, if that is no more work than one request may cause.
fn validated(document: &PolicyDocument) -> Result<Policy, Failure> {
    work::bounded(document).map_err(Failure::TooMuch)?;
    Ok(Policy::try_from(document)?)
}

/// Who would gain and who would lose by a candidate, over the last windows of budgets and the last hour of meters and
/// guards. Changes nothing.
///
/// # Errors
/// 400 naming the field, 413, 415, 503.
pub async fn preview(request: &mut Request, handles: &RequestHandles) -> Result<Response, Failure> {
    let document: PolicyDocument = body::json(request, POLICY_BODY_BYTES_MAX).await?;
    let candidate = candidate(handles, &document)?;
    let found = in_force(handles).await?;
    let at = now();
    let (env, regions) = (&handles.env, &found.policy.regions);
    let windows = each(env, regions, |_| WindowsBody {
        budget: None,
        from: EpochMs(0),
        to: EpochMs(JSON_INTEGER_MAX),
        count: PREVIEW_WINDOWS_MAX,
    });
    let asked = each(env, regions, |_| DemandBody {
        from: EpochMs(at.0.saturating_sub(HOUR_MS)),
        to: at.plus(1),
    });
    let (windows, answers) = join(windows, asked).await;
    let windows = windows.into_iter().filter_map(|(_, answer)| answer);
    let windows = windows.flat_map(|answer| answer.windows);
    let mut demand = Demand::default();
    for answer in answers.into_iter().filter_map(|(_, answer)| answer) {
        demand.merge(answer);
    }
    let recorded = recorded(windows.collect(), demand.reply());
    let answer = preview::preview(&found.policy, &candidate, &recorded, at);
    reply::json(200, &answer)
}

fn answer(revision: Revision, document: &PolicyDocument) -> Result<Response, Failure> {
    let reply = Reply::json(200, document)?;
    Ok(reply.with("etag", format!("\"{revision}\"")).respond()?)
}
