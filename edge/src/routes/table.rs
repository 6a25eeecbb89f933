//! What serves each endpoint. One that is not here does not compile.

use weir_shared::access::endpoint::Endpoint;
use worker::{Request, Response};

use super::{agent, check, guards, metrics, operator, own, report, reserve, session, settle};
use crate::auth::caller::Caller;
use crate::http::failure::Failure;
use crate::isolate::request::RequestHandles;

/// Answers a request of a caller whom the route lets in.
///
/// # Errors
/// As each of them says.
pub(super) async fn answer(
    request: &mut Request,
    handles: &RequestHandles,
    endpoint: Endpoint,
    caller: &Caller,
) -> Result<Response, Failure> {
    match endpoint {
        Endpoint::Check | Endpoint::CheckBatch => {
            check::answer(request, handles, caller, endpoint).await
        }
        Endpoint::Reserve => reserve::reserve(request, handles, caller).await,
        Endpoint::Settle => settle::settle(request, handles, caller).await,
        Endpoint::Report => report::report(request, handles, caller).await,
        Endpoint::GuardAcquire => guards::acquire(request, handles, caller).await,
        Endpoint::GuardRenew => guards::renew(request, handles, caller).await,
        Endpoint::GuardRelease => guards::release(request, handles, caller).await,
        Endpoint::AgentContact => agent::contact(request, handles, caller).await,
        Endpoint::OwnFairness => own::read(request, handles, caller).await,
        Endpoint::Metrics => metrics::read(request, handles).await,
        Endpoint::SessionRead => session::read(caller),
        Endpoint::SessionClose => session::close(request, handles, caller).await,
        Endpoint::SessionsRevoke => session::revoke_all(request, handles, caller).await,
        Endpoint::PolicyRead => operator::policy::read(handles).await,
        Endpoint::PolicySave => operator::policy::save(request, handles, caller).await,
        Endpoint::PolicyPreview => operator::policy::preview(request, handles).await,
        Endpoint::Replay => operator::replay::replay(request, handles).await,
        Endpoint::TenantsList => operator::tenants::list(request, handles).await,
        Endpoint::TenantRead => operator::tenants::read(handles, caller).await,
        Endpoint::TenantPatch => operator::tenants::patch(request, handles, caller).await,
        Endpoint::TenantDelete => operator::tenants::remove(request, handles, caller).await,
        Endpoint::FairnessRead => operator::fairness::read(request, handles).await,
        Endpoint::BudgetsList => operator::budgets::list(request, handles).await,
        Endpoint::BudgetWindows => operator::budgets::windows(request, handles, caller).await,
        Endpoint::RegionsList => operator::regions::list(request, handles).await,
        Endpoint::AuditList => operator::audit::list(request, handles).await,
        Endpoint::AuditVerify => operator::audit::verify(request, handles).await,
        Endpoint::AuditExport => operator::audit::export(request, handles).await,
        Endpoint::SeriesRead => operator::series::read(request, handles).await,
        Endpoint::DecisionsRead => operator::decisions::list(request, handles).await,
        Endpoint::DecisionRead => operator::explained::read(request, handles, caller).await,
        Endpoint::CostsRead => operator::costs::read(request, handles).await,
        Endpoint::Live => operator::live::open(request, handles, caller).await,
        Endpoint::Reset => operator::reset::reset(request, handles, caller).await,
        Endpoint::TokensList => operator::tokens::list(request, handles).await,
        Endpoint::TokenCreate => operator::tokens::create(request, handles, caller).await,
        Endpoint::TokenRevoke => operator::tokens::revoke(request, handles, caller).await,
        // They are answered before anybody is asked who calls.
        Endpoint::Health
        | Endpoint::OpenApi
        | Endpoint::PolicySchema
        | Endpoint::Console
        | Endpoint::SessionOpen
        | Endpoint::Authorize => Err(super::no_route()),
    }
}
