//! `GET /metrics`: the totals of all ledgers for Prometheus, and how regions and coordinators are. It needs no registry: the
//! last policy seen names whom to ask.

use futures_util::future::join;
use weir_shared::report::metrics::Scrape;
use worker::{Request, Response, ResponseBuilder};

use super::health;
use super::operator::{ledgers, regions};
use crate::http::failure::Failure;
use crate::isolate::now;
use crate::isolate::place::place;
use crate::isolate::request::RequestHandles;

/// The text format of Prometheus.
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// One scrape. Objects that do not answer are named in it, and what sums over all of them is left out then.
///
/// # Errors
/// 503 when no region can be found to ask for the policy.
pub async fn read(request: &Request, handles: &RequestHandles) -> Result<Response, Failure> {
    let (_, loaded) = place(request, handles).await?;
    let policy = &loaded.policy;
    let totals = ledgers::totals(&handles.env, &policy.regions);
    let (totals, (regions, coordinators)) = join(totals, regions::health(handles, policy)).await;
    let deployed = health::version(&handles.env);
    let scrape = Scrape {
        version: env!("CARGO_PKG_VERSION"),
        deployed: deployed.as_ref(),
        policy,
        totals: &totals,
        regions: &regions,
        coordinators: &coordinators,
        at: now(),
    };
    let body = scrape.text();
    Ok(ResponseBuilder::new()
        .with_status(200)
        .with_header("content-type", CONTENT_TYPE)?
        .with_header("cache-control", "no-store")?
        .fixed(body.into_bytes()))
}
