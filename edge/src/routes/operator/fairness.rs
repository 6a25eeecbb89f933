//! `GET /operator/v1/fairness`: who got what, merged from the ledgers of all regions.

use weir_shared::limits::FAIRNESS_PAGE_SIZE_MAX;
use weir_shared::paging::{Paging, Sizes};
use weir_shared::report::fairness::{Source, report};
use weir_shared::report::regions::Totals;
use worker::{Request, Response};

use super::ledgers::{borrowed, totals};
use super::{in_force, query};
use crate::http::failure::Failure;
use crate::http::reply;
use crate::isolate::now;
use crate::isolate::request::RequestHandles;

/// Every tenant seen, unless a page is asked for. A region whose ledger does not answer is named, and its counters are
/// missing from the sums.
///
/// # Errors
/// 400, 503.
pub async fn read(request: &Request, handles: &RequestHandles) -> Result<Response, Failure> {
    let mut query = query(request)?;
    let sizes = Sizes {
        default: FAIRNESS_PAGE_SIZE_MAX,
        max: FAIRNESS_PAGE_SIZE_MAX,
    };
    let paging = Paging::read(&mut query, sizes)?;
    let effective = query.flag("effective")?.unwrap_or(true);
    query.finish("page, page_size, sort, search, effective")?;
    let found = in_force(handles).await?;
    let answers = totals(&handles.env, &found.policy.regions).await;
    let totals = Totals::of(borrowed(&answers));
    let source = Source {
        policy: &found.policy,
        revision: found.revision,
        totals: &totals,
        at: now(),
    };
    let report = report(&source, &found.document, &paging, effective);
    reply::json(200, &report)
}
