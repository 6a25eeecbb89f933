//! `GET /operator/v1/series`: counters over time.

use weir_shared::export::file_form::FileForm;
use weir_shared::export::sheets::SERIES;
use weir_shared::invalid::Invalid;
use weir_shared::limits::LABEL_BYTES_MAX;
use weir_shared::report::series::{Names, asked, merged};
use worker::{Request, Response};

use super::ledgers::each;
use super::{in_force, one_or_all, query};
use crate::http::failure::Failure;
use crate::http::file;
use crate::isolate::now;
use crate::isolate::request::RequestHandles;

/// What was counted by minute or by a longer step, of all tenants or of one, of all names or of one, in all regions or in
/// one.
///
/// # Errors
/// 400, 404 for a name that the policy does not have, 503.
pub async fn read(request: &Request, handles: &RequestHandles) -> Result<Response, Failure> {
    let mut query = query(request)?;
    let form = FileForm::take(&mut query)?;
    let body = asked(&mut query, now())?;
    let mut name =
        |kind: &str| -> Result<Option<String>, Invalid> { query.text(kind, LABEL_BYTES_MAX) };
    let names = Names {
        budget: name("budget")?,
        limit: name("limit")?,
        meter: name("meter")?,
        guard: name("guard")?,
        overload: name("overload")?,
    };
    let region = query.text("region", LABEL_BYTES_MAX)?;
    query.finish(
        "from, to, step_ms, tenant, budget, limit, meter, guard, overload, region, format",
    )?;
    let found = in_force(handles).await?;
    let policy = &found.policy;
    let unknown = [
        (
            "budget",
            names
                .budget
                .as_ref()
                .is_some_and(|name| !policy.budgets.contains_key(name)),
        ),
        (
            "limit",
            names
                .limit
                .as_ref()
                .is_some_and(|name| !policy.limits.contains_key(name)),
        ),
        (
            "meter",
            names
                .meter
                .as_ref()
                .is_some_and(|name| !policy.meters.contains_key(name)),
        ),
        (
            "guard",
            names
                .guard
                .as_ref()
                .is_some_and(|name| !policy.guards.contains_key(name)),
        ),
        (
            "overload",
            names
                .overload
                .as_ref()
                .is_some_and(|name| !policy.overload.contains_key(name)),
        ),
    ];
    if let Some((what, _)) = unknown.into_iter().find(|(_, unknown)| *unknown) {
        return Err(Failure::unknown(what, ""));
    }
    let regions = one_or_all(policy, region)?;
    let answers = each(&handles.env, &regions, |_| body.clone()).await;
    let view = merged(body, &names, answers);
    file::listed(form, &SERIES, view, |view| view.points)
}
