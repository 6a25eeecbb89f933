//! `/operator/v1/budgets`: the budgets of the policy, and the windows that one of them had.

use weir_shared::invalid::within;
use weir_shared::limits::{JSON_INTEGER_MAX, PAGE_SIZE_MAX, PAGES_MAX, WINDOWS_PAGE_SIZE_DEFAULT};
use weir_shared::policy::Policy;
use weir_shared::report::budgets::list as listed;
use weir_shared::report::fairness::Source;
use weir_shared::report::regions::Totals;
use weir_shared::report::windows::{Span, merged};
use weir_shared::units::EpochMs;
use weir_shared::wire::policy::Scope;
use weir_shared::wire::windows::WindowsBody;
use worker::{Request, Response};

use super::ledgers::{borrowed, each, totals};
use super::{in_force, query};
use crate::auth::caller::Caller;
use crate::http::failure::Failure;
use crate::http::reply;
use crate::isolate::now;
use crate::isolate::request::RequestHandles;

/// Every budget of the policy, with what went through it.
///
/// # Errors
/// 400, 503.
pub async fn list(request: &Request, handles: &RequestHandles) -> Result<Response, Failure> {
    query(request)?.finish("none")?;
    let found = in_force(handles).await?;
    let answers = totals(&handles.env, &found.policy.regions).await;
    let totals = Totals::of(borrowed(&answers));
    let source = Source {
        policy: &found.policy,
        revision: found.revision,
        totals: &totals,
        at: now(),
    };
    reply::json(200, &listed(&source, &found.document))
}

/// The windows that a budget had, newest first.
///
/// # Errors
/// 400, 404 for a budget that the policy does not have, 503.
pub async fn windows(
    request: &Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    let mut query = query(request)?;
    let page = query.number("page")?.unwrap_or(1);
    let page = within("/page", page, 1..=PAGES_MAX)?;
    let size = query
        .number("page_size")?
        .unwrap_or(WINDOWS_PAGE_SIZE_DEFAULT);
    let size = within("/page_size", size, 1..=PAGE_SIZE_MAX)?;
    let to = query.number("to")?.unwrap_or(JSON_INTEGER_MAX);
    let to = within("/to", to, 0..=JSON_INTEGER_MAX)?;
    let from = query.number("from")?.unwrap_or(0);
    let from = within("/from", from, 0..=to)?;
    query.finish("page, page_size, from, to")?;
    let span = Span { page, size };
    let found = in_force(handles).await?;
    let regions = kept_in(&found.policy, &caller.name)?;
    let answers = each(&handles.env, &regions, |_| WindowsBody {
        budget: Some(caller.name.clone()),
        from: EpochMs(from),
        to: EpochMs(to),
        count: span.needed(),
    })
    .await;
    reply::json(200, &merged(caller.name.clone(), span, answers))
}

/// Whose ledgers have the windows of a budget: those of a global one all lie at home.
fn kept_in(policy: &Policy, budget: &str) -> Result<Vec<String>, Failure> {
    let found = policy.budgets.get(budget).ok_or(Failure::NotFound {
        what: "budget",
        field: None,
    })?;
    Ok(match found.root() {
        Scope::Global => vec![policy.home.clone()],
        _ => policy.regions.clone(),
    })
}
