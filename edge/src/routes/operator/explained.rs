//! `GET /operator/v1/decisions/{decision}`: what the id of a denial leads to.

use weir_shared::decision::id::DecisionId;
use weir_shared::invalid::{Fault, Invalid};
use weir_shared::report::explained::{explained, question, tenant_of};
use weir_shared::wire::accounting::ANONYMOUS;
use worker::{Request, Response};

use super::ledgers::{each, totals};
use super::{InForce, in_force, query};
use crate::auth::caller::Caller;
use crate::http::failure::Failure;
use crate::http::reply;
use crate::isolate::now;
use crate::isolate::request::RequestHandles;

/// What the id says, with the tenant's name where it is known, and what its region's ledger counted then. `?tenant=` names the
/// tenant where nobody else knows it by name.
///
/// # Errors
/// 400 for what is no id, and for a tenant whose it is not; 503.
pub async fn read(
    request: &Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    let id = DecisionId::try_from(caller.name.as_str())
        .map_err(|fault| Invalid::new("/decision", fault))?;
    let mut query = query(request)?;
    let named = query.tenant("tenant")?;
    query.finish("tenant")?;
    if named.as_deref().is_some_and(|named| !id.is_of(named)) {
        let message = "is not the tenant of this decision".to_owned();
        return Err(Invalid::new("/tenant", Fault::Form { message }).into());
    }
    let found = in_force(handles).await?;
    let tenant = match named {
        Some(named) => Some(named),
        None => tenant(handles, &found, &id).await,
    };
    let asked = tenant.as_deref();
    let asked = asked.and_then(|tenant| question(&id, tenant, now()));
    let counted = match asked {
        Some(asked) => each(&handles.env, &regions(&found, &id), |_| asked.clone())
            .await
            .into_iter()
            .find_map(|(_, reply)| reply),
        None => None,
    };
    let told = explained(&id, &found.policy, tenant.as_deref(), counted.as_ref());
    reply::json(200, &told)
}

/// The tenant, as the policy or the ledger of the region knows it.
async fn tenant(handles: &RequestHandles, found: &InForce, id: &DecisionId) -> Option<String> {
    let named = found.document.tenants.keys().map(String::as_str);
    let known = tenant_of(id, named.chain([ANONYMOUS])).map(str::to_owned);
    if known.is_some() {
        return known;
    }
    let answers = totals(&handles.env, &regions(found, id)).await;
    let counted = answers.iter().flat_map(|(_, answer)| answer);
    let names = counted.flat_map(|totals| totals.counters.keys());
    tenant_of(id, names.map(String::as_str)).map(str::to_owned)
}

/// The region of an id, which may be made up: nothing of one that the policy does not have.
fn regions(found: &InForce, id: &DecisionId) -> Vec<String> {
    let regions = found.policy.regions.iter();
    regions
        .filter(|region| **region == id.region)
        .cloned()
        .collect()
}
