//! `GET /operator/v1/costs`: what the deployment used of the platform for what it decided, as it was counted.

use weir_shared::report::costs::costs;
use worker::{Request, Response};

use super::ledgers::{borrowed, totals};
use super::{in_force, query};
use crate::http::failure::Failure;
use crate::http::reply;
use crate::isolate::now;
use crate::isolate::request::RequestHandles;

/// The costs, over all regions that answer.
///
/// # Errors
/// 400, 503.
pub async fn read(request: &Request, handles: &RequestHandles) -> Result<Response, Failure> {
    query(request)?.finish("none")?;
    let found = in_force(handles).await?;
    let answers = totals(&handles.env, &found.policy.regions).await;
    reply::json(200, &costs(borrowed(&answers), now()))
}
