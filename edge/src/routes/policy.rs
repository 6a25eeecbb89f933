//! `/operator/v1/policy`: the document in force, and its replacement.

use weir_shared::limits::{OPERATOR_CALL_MS_MAX, POLICY_BODY_BYTES_MAX};
use weir_shared::policy::Policy;
use weir_shared::units::Revision;
use weir_shared::wire::policy::PolicyDocument;
use weir_shared::wire::region::SavedPolicy;
use worker::{Request, Response};

use crate::auth;
use crate::http::failure::Failure;
use crate::http::{body, reply};
use crate::isolate::adopt_everywhere;
use crate::isolate::now;
use crate::isolate::request::RequestHandles;
use crate::objects::binding::{Address, CallError, call};
use crate::objects::calls::{ReadPolicy, SavePolicy, Saved};
use crate::objects::registry::shipped;

/// Who is named as the author of a saved revision.
const ACTOR: &str = "bootstrap";

/// The document in force, with its revision as `ETag`.
///
/// # Errors
/// 401, 503.
pub async fn read(request: &Request, handles: &RequestHandles) -> Result<Response, Failure> {
    auth::operator(request, &handles.env, now())?;
    answer(&in_force(handles).await?)
}

/// Replaces the document if it is still the one that the caller saw.
///
/// # Errors
/// 400 naming the field, 401, 403, 412, 413, 415, 428, 503.
pub async fn save(request: &mut Request, handles: &RequestHandles) -> Result<Response, Failure> {
    auth::operator(request, &handles.env, now())?;
    let expected = if_match(request)?;
    let document: PolicyDocument = body::json(request, POLICY_BODY_BYTES_MAX).await?;
    Policy::try_from(&document)?;
    let save = SavePolicy {
        expected,
        document: document.clone(),
        actor: ACTOR.to_owned(),
    };
    let saved = call(
        &handles.env,
        registry()?.address(),
        &save,
        OPERATOR_CALL_MS_MAX,
    )
    .await;
    match saved.map_err(unavailable)? {
        Saved::Done(revision) => {
            let saved = SavedPolicy { revision, document };
            adopt_everywhere(&saved);
            answer(&saved)
        }
        Saved::Moved(current) => Err(Failure::PreconditionFailed { current: current.0 }),
    }
}

/// The policy as the registry has it.
///
/// # Errors
/// 503 when the registry does not answer.
pub async fn in_force(handles: &RequestHandles) -> Result<SavedPolicy, Failure> {
    let home = registry()?;
    let read = call(
        &handles.env,
        home.address(),
        &ReadPolicy {},
        OPERATOR_CALL_MS_MAX,
    );
    read.await.map_err(unavailable)
}

fn unavailable(error: CallError) -> Failure {
    Failure::Unavailable {
        what: error.to_string(),
    }
}

/// Where the registry is first placed: the home of the policy that was shipped.
struct Home(String);

impl Home {
    fn address(&self) -> Address<'_> {
        Address::registry(&self.0)
    }
}

fn registry() -> Result<Home, Failure> {
    let shipped = shipped().map_err(|refused| Failure::Internal(refused.0))?;
    Ok(Home(shipped.document.home.unwrap_or_default()))
}

fn answer(saved: &SavedPolicy) -> Result<Response, Failure> {
    let builder = reply::builder(200)?.with_header("etag", &format!("\"{}\"", saved.revision))?;
    reply::with_body(builder, &saved.document)
}

/// The revision of `If-Match`; `None` for `*` (RFC 9110, section 13.1.1).
fn if_match(request: &Request) -> Result<Option<Revision>, Failure> {
    let header = request.headers().get("if-match")?;
    let value = header.ok_or(Failure::PreconditionRequired)?;
    let value = value.trim();
    if value == "*" {
        return Ok(None);
    }
    let tag = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    // Any other tag names a document that is not in force: no revision has that number.
    let revision = tag.and_then(|tag| tag.parse().ok()).unwrap_or(u64::MAX);
    Ok(Some(Revision(revision)))
}
