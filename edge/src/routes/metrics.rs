//! `GET /metrics`: the totals of all ledgers for Prometheus. It needs no registry: the last policy seen names the regions.

use weir_shared::accounting::metrics::text;
use weir_shared::wire::policy::Scope;
use worker::{Request, Response, ResponseBuilder};

use super::operator::ledgers;
use crate::http::failure::Failure;
use crate::isolate::now;
use crate::isolate::place::place;
use crate::isolate::request::RequestHandles;

/// The text format of Prometheus.
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// One scrape. Ledgers that do not answer are named in it, and what sums over all of them is left out then.
///
/// # Errors
/// 503 when no region can be found to ask for the policy.
pub async fn read(request: &Request, handles: &RequestHandles) -> Result<Response, Failure> {
    let (_, loaded) = place(request, handles).await?;
    let policy = &loaded.policy;
    let regions = ledgers::totals(&handles.env, &policy.regions).await;
    let regional = |guard: &str| {
        let guard = policy.guards.get(guard);
        guard.is_some_and(|guard| guard.scope == Scope::Region)
    };
    let body = text(&regions, regional, |meter| policy.bills(meter), now());
    Ok(ResponseBuilder::new()
        .with_status(200)
        .with_header("content-type", CONTENT_TYPE)?
        .with_header("cache-control", "no-store")?
        .fixed(body.into_bytes()))
}
