//! `GET /v1/fairness`: what applies to a tenant, and what it got. A fairness dispute needs nobody else's word.

use weir_shared::invalid::{Fault, Invalid};
use weir_shared::report::fairness::Source;
use weir_shared::report::own::own;
use weir_shared::report::regions::Totals;
use weir_shared::wire::role::Role;
use worker::{Request, Response};

use super::operator::ledgers::{borrowed, totals};
use super::operator::query;
use crate::auth::caller::Caller;
use crate::http::failure::Failure;
use crate::http::reply;
use crate::isolate::now;
use crate::isolate::place::place;
use crate::isolate::request::RequestHandles;

/// The view of the caller's own tenant, or of the one that an admin names. It is by the policy that decides here, so it
/// needs no registry.
///
/// # Errors
/// 400, 403 for another's tenant, 404 for one that the policy refuses.
pub async fn read(
    request: &Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    let mut query = query(request)?;
    let named = query.tenant("tenant")?;
    query.finish("tenant")?;
    let tenant = caller.tenant(named, "")?;
    let missing = || Invalid::new("/tenant", Fault::Missing);
    let (_, loaded) = place(request, handles).await?;
    if !loaded.policy.enforcing && tenant.is_none() && caller.principal.role == Role::Admin {
        return reply::json(200, &serde_json::json!({ "enforcing": false }));
    }
    let tenant = tenant.ok_or_else(missing)?;
    let answers = totals(&handles.env, &loaded.policy.regions).await;
    let totals = Totals::of(borrowed(&answers));
    let source = Source {
        policy: &loaded.policy,
        revision: loaded.revision,
        totals: &totals,
        at: now(),
    };
    let view = own(&source, &tenant).ok_or(Failure::NotFound {
        what: "tenant",
        field: Some("/tenant".to_owned()),
    })?;
    reply::json(200, &view)
}
