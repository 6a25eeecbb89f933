//! `GET /operator/v1/decisions`: the last decisions that the regions show, some of many.

use weir_shared::export::file_form::FileForm;
use weir_shared::export::sheets::DECISIONS;
use weir_shared::limits::LABEL_BYTES_MAX;
use weir_shared::report::decisions::{asked, merged};
use worker::{Request, Response};

use super::ledgers::each;
use super::{in_force, one_or_all, query};
use crate::http::failure::Failure;
use crate::http::file;
use crate::isolate::now;
use crate::isolate::request::RequestHandles;

/// Newest first, of all tenants or of one, in all regions or in one. A ledger keeps them in memory alone: they are those
/// since it woke.
///
/// # Errors
/// 400, 404 for a region that the policy does not have, 503.
pub async fn list(request: &Request, handles: &RequestHandles) -> Result<Response, Failure> {
    let mut query = query(request)?;
    let form = FileForm::take(&mut query)?;
    let body = asked(&mut query)?;
    let region = query.text("region", LABEL_BYTES_MAX)?;
    query.finish("tenant, search, outcome, reason, binding, region, format")?;
    let found = in_force(handles).await?;
    let regions = one_or_all(&found.policy, region)?;
    let answers = each(&handles.env, &regions, |_| body.clone()).await;
    let view = merged(now(), answers);
    file::listed(form, &DECISIONS, view, |view| view.decisions)
}
