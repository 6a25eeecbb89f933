//! `GET /operator/v1/fairness`: who got what, merged from the ledgers of all regions.

use futures_util::future::join_all;
use weir_shared::accounting::report::report;
use weir_shared::limits::CALL_MS_MAX;
use weir_shared::policy::Policy;
use worker::{Request, Response, console_error};

use super::policy::in_force;
use crate::auth;
use crate::http::failure::Failure;
use crate::http::reply;
use crate::isolate::now;
use crate::isolate::request::RequestHandles;
use crate::objects::binding::{Address, call};
use crate::objects::calls::ReadCounters;

/// The report. A region whose ledger does not answer is named in it, and its counters are missing from the sums.
///
/// # Errors
/// 401, 503.
pub async fn read(request: &Request, handles: &RequestHandles) -> Result<Response, Failure> {
    auth::operator(request, &handles.env, now())?;
    let saved = in_force(handles).await?;
    let policy = Policy::try_from(&saved.document)?;
    let reading = policy.regions.iter().map(async |region| {
        let read = call(
            &handles.env,
            Address::ledger(region),
            &ReadCounters {},
            CALL_MS_MAX,
        )
        .await;
        if let Err(error) = &read {
            console_error!("ledger of {region}: {error}");
        }
        (region.clone(), read.ok())
    });
    let regions = join_all(reading).await;
    reply::json(200, &report(&policy, saved.revision, regions, now()))
}
