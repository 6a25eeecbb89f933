//! `/operator/v1/tenants`: the list, and one tenant: read, changed field by field, taken out of the policy.

use weir_shared::audit::Action;
use weir_shared::export::file_form::FileForm;
use weir_shared::export::sheets::TENANTS;
use weir_shared::limits::{LABEL_BYTES_MAX, OPERATOR_BODY_BYTES_MAX};
use weir_shared::paging::{Paging, Sizes};
use weir_shared::policy::Policy;
use weir_shared::report::fairness::Source;
use weir_shared::report::regions::Totals;
use weir_shared::report::tenants::{Wanted, list as listed, one};
use weir_shared::units::Revision;
use weir_shared::wire::policy::PolicyDocument;
use weir_shared::wire::tenant::TenantPatch;
use worker::{Request, Response, ResponseBuilder};

use super::change::{Change, if_match, invalid, too_often};
use super::ledgers::{borrowed, totals};
use super::{in_force, query, registry};
use crate::auth::caller::Caller;
use crate::http::body;
use crate::http::failure::Failure;
use crate::http::file;
use crate::http::reply::Reply;
use crate::isolate::request::RequestHandles;
use crate::isolate::{adopt_everywhere, now};
use crate::objects::calls::{DeleteTenant, PatchTenant, Saved};

/// One page of the tenants that the policy names and those that were seen. `named=true` keeps the former, `tier` those of
/// a tier; `budget` says of which budget the rows tell.
///
/// # Errors
/// 400, 404 for a budget that the policy does not have, 503.
pub async fn list(request: &Request, handles: &RequestHandles) -> Result<Response, Failure> {
    let mut query = query(request)?;
    let form = FileForm::take(&mut query)?;
    // A file holds all, unless a page is asked for.
    let sizes = form.map_or_else(Sizes::default, |_| Sizes::WHOLE);
    let paging = Paging::read(&mut query, sizes)?;
    let wanted = Wanted {
        named: query.flag("named")?,
        tier: query.text("tier", LABEL_BYTES_MAX)?,
        budget: query.text("budget", LABEL_BYTES_MAX)?,
    };
    query.finish("page, page_size, sort, search, named, tier, budget, format")?;
    let found = in_force(handles).await?;
    let budget = wanted.budget.as_ref();
    if budget.is_some_and(|name| !found.policy.budgets.contains_key(name)) {
        return Err(Failure::unknown("budget", ""));
    }
    let answers = totals(&handles.env, &found.policy.regions).await;
    let totals = Totals::of(borrowed(&answers));
    let source = Source {
        policy: &found.policy,
        revision: found.revision,
        totals: &totals,
        at: now(),
    };
    let list = listed(&source, &found.document, &paging, &wanted);
    file::listed(form, &TENANTS, list, |list| list.tenants)
}

/// One tenant, with the tag of what the policy says of it as `ETag`. One that the policy does not name is resolved by
/// rule.
///
/// # Errors
/// 404 for one that it refuses, 503.
pub async fn read(handles: &RequestHandles, caller: &Caller) -> Result<Response, Failure> {
    let found = in_force(handles).await?;
    answer(&found.document, &found.policy, found.revision, &caller.name)
}

/// Changes the fields that the body names, if the tenant is still as the caller saw it.
///
/// # Errors
/// 400 naming the field, 412, 413, 415, 428, 503.
pub async fn patch(
    request: &mut Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    let change = Change::new(request, handles, caller, Action::TenantPatch)?;
    let (expected, patch) = change.asked(asked(request).await)?;
    let body = PatchTenant {
        tenant: caller.name.clone(),
        patch,
        expected,
        author: change.author(),
    };
    changed(caller, &registry(handles, &body).await?)
}

async fn asked(request: &mut Request) -> Result<(Option<String>, TenantPatch), Failure> {
    let expected = if_match(request)?;
    let patch = body::json(request, OPERATOR_BODY_BYTES_MAX).await?;
    Ok((expected, patch))
}

/// Takes a tenant out of the policy.
///
/// # Errors
/// 400 for one that others stand below, 404 for one that the policy does not name, 412, 428, 503.
pub async fn remove(
    request: &Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    let change = Change::new(request, handles, caller, Action::TenantDelete)?;
    let expected = change.asked(if_match(request))?;
    let body = DeleteTenant {
        tenant: caller.name.clone(),
        expected,
        author: change.author(),
    };
    let saved = registry(handles, &body).await?;
    changed(caller, &saved)?;
    Ok(ResponseBuilder::new()
        .with_status(204)
        .with_header("cache-control", "no-store")?
        .empty())
}

fn changed(caller: &Caller, saved: &Saved) -> Result<Response, Failure> {
    match saved {
        Saved::Done(saved) => {
            adopt_everywhere(saved);
            let policy = Policy::try_from(&saved.document)?;
            answer_of(&saved.document, &policy, saved.revision, &caller.name)
        }
        Saved::Moved { revision, tag } => Err(Failure::PreconditionFailed {
            current: tag.clone().unwrap_or_else(|| revision.to_string()),
        }),
        Saved::Unknown => Err(unknown()),
        Saved::TooOften { after_ms } => Err(too_often(*after_ms)),
        Saved::Invalid { field, message } => Err(invalid(field.clone(), message.clone())),
    }
}

fn unknown() -> Failure {
    Failure::NotFound {
        what: "tenant",
        field: None,
    }
}

fn answer(
    document: &PolicyDocument,
    policy: &Policy,
    revision: Revision,
    tenant: &str,
) -> Result<Response, Failure> {
    let refused = policy.resolve(tenant, now()).is_none();
    if refused && !document.tenants.contains_key(tenant) {
        return Err(unknown());
    }
    answer_of(document, policy, revision, tenant)
}

fn answer_of(
    document: &PolicyDocument,
    policy: &Policy,
    revision: Revision,
    tenant: &str,
) -> Result<Response, Failure> {
    let (body, tag) = one(document, policy, revision, (tenant, now()));
    let reply = Reply::json(200, &body)?;
    Ok(reply.with("etag", format!("\"{tag}\"")).respond()?)
}
