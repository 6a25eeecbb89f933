//! What serves each endpoint. One that is not here does not compile.

use weir_shared::access::endpoint::{Endpoint, Matched};
use worker::{Request, Response};

use super::{
    agent, check, documents, gateway, guards, health, metrics, operator, own, report, reserve,
    session, settle,
};
use crate::auth::caller::Caller;
use crate::http::failure::Failure;
use crate::isolate::request::RequestHandles;

/// What is served without a known caller, whatever the table of routes says of others. A proxy asks `/v1/authorize` for somebody
/// else, and says there itself who it is.
fn is_open(endpoint: Endpoint) -> bool {
    matches!(
        endpoint,
        Endpoint::Health
            | Endpoint::OpenApi
            | Endpoint::PolicySchema
            | Endpoint::Console
            | Endpoint::SessionOpen
            | Endpoint::Authorize
    )
}

/// Answers a request that the route lets in. Nobody is the caller where anyone may ask.
///
/// # Errors
/// As each of them says.
pub(super) async fn answer(
    request: &mut Request,
    handles: &RequestHandles,
    matched: &Matched<'_>,
    caller: Option<&Caller>,
) -> Result<Response, Failure> {
    let endpoint = matched.route.endpoint;
    let known = || caller.ok_or_else(super::no_route);
    if !is_open(endpoint) {
        known()?;
    }
    match endpoint {
        Endpoint::Health => health::read(&handles.env),
        Endpoint::OpenApi => documents::read(documents::OPENAPI),
        Endpoint::PolicySchema => documents::read(documents::POLICY_SCHEMA),
        Endpoint::Console => super::front(),
        Endpoint::SessionOpen => session::open(request, handles, matched.route).await,
        Endpoint::Authorize => gateway::authorize::serve(request, handles, matched).await,
        Endpoint::Check | Endpoint::CheckBatch => {
            check::answer(request, handles, known()?, endpoint).await
        }
        Endpoint::Reserve => reserve::reserve(request, handles, known()?).await,
        Endpoint::Settle => settle::settle(request, handles, known()?).await,
        Endpoint::Report => report::report(request, handles, known()?).await,
        Endpoint::GuardAcquire => guards::acquire(request, handles, known()?).await,
        Endpoint::GuardRenew => guards::renew(request, handles, known()?).await,
        Endpoint::GuardRelease => guards::release(request, handles, known()?).await,
        Endpoint::AgentContact => agent::contact(request, handles, known()?).await,
        Endpoint::OwnFairness => own::read(request, handles, known()?).await,
        Endpoint::Metrics => metrics::read(request, handles).await,
        Endpoint::SessionRead => session::read(known()?),
        Endpoint::SessionClose => session::close(request, handles, known()?).await,
        Endpoint::SessionsRevoke => session::revoke_all(request, handles, known()?).await,
        Endpoint::PolicyRead => operator::policy::read(handles).await,
        Endpoint::PolicySave => operator::policy::save(request, handles, known()?).await,
        Endpoint::PolicyPreview => operator::policy::preview(request, handles).await,
        Endpoint::Replay => operator::replay::replay(request, handles).await,
        Endpoint::TenantsList => operator::tenants::list(request, handles).await,
        Endpoint::TenantRead => operator::tenants::read(handles, known()?).await,
        Endpoint::TenantPatch => operator::tenants::patch(request, handles, known()?).await,
        Endpoint::TenantDelete => operator::tenants::remove(request, handles, known()?).await,
        Endpoint::FairnessRead => operator::fairness::read(request, handles).await,
        Endpoint::BudgetsList => operator::budgets::list(request, handles).await,
        Endpoint::BudgetWindows => operator::budgets::windows(request, handles, known()?).await,
        Endpoint::RegionsList => operator::regions::list(request, handles).await,
        Endpoint::AuditList => operator::audit::list(request, handles).await,
        Endpoint::AuditVerify => operator::audit::verify(request, handles).await,
        Endpoint::AuditExport => operator::audit::export(request, handles).await,
        Endpoint::SeriesRead => operator::series::read(request, handles).await,
        Endpoint::DecisionsRead => operator::decisions::list(request, handles).await,
        Endpoint::DecisionRead => operator::explained::read(request, handles, known()?).await,
        Endpoint::CostsRead => operator::costs::read(request, handles).await,
        Endpoint::Live => operator::live::open(request, handles, known()?).await,
        Endpoint::Reset => operator::reset::reset(request, handles, known()?).await,
        Endpoint::TokensList => operator::tokens::list(request, handles).await,
        Endpoint::TokenCreate => operator::tokens::create(request, handles, known()?).await,
        Endpoint::TokenRevoke => operator::tokens::revoke(request, handles, known()?).await,
    }
}
