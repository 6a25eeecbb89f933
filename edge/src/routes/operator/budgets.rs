//! `/operator/v1/budgets`: the budgets of the policy, and the windows that one of them had.

use futures_util::stream::{StreamExt, try_unfold};
use weir_shared::export::file_form::FileForm;
use weir_shared::export::sheets::WINDOWS;
use weir_shared::invalid::within;
use weir_shared::limits::{
    JSON_INTEGER_MAX, PAGE_SIZE_MAX, PAGES_MAX, RECORDS_READ_MAX, WINDOWS_PAGE_SIZE_DEFAULT,
};
use weir_shared::policy::Policy;
use weir_shared::report::budgets::list as listed;
use weir_shared::report::fairness::Source;
use weir_shared::report::regions::Totals;
use weir_shared::report::windows::{Span, merged, part};
use weir_shared::units::EpochMs;
use weir_shared::wire::policy::Scope;
use weir_shared::wire::windows::WindowsBody;
use worker::{Request, Response};

use super::ledgers::{borrowed, each, totals};
use super::{in_force, query};
use crate::auth::caller::Caller;
use crate::http::failure::Failure;
use crate::http::file::ListFile;
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

/// The windows that a budget had, newest first: a page, or as a file all.
///
/// # Errors
/// 400, 404 for a budget that the policy does not have, 503.
pub async fn windows(
    request: &Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    let mut query = query(request)?;
    let to = query.number("to")?.unwrap_or(JSON_INTEGER_MAX);
    let to = within("/to", to, 0..=JSON_INTEGER_MAX)?;
    let from = query.number("from")?.unwrap_or(0);
    let from = within("/from", from, 0..=to)?;
    let body = WindowsBody {
        budget: Some(caller.name.clone()),
        from: EpochMs(from),
        to: EpochMs(to),
        count: RECORDS_READ_MAX,
    };
    if let Some(form) = FileForm::take(&mut query)? {
        query.finish("from, to, format")?;
        let found = in_force(handles).await?;
        return file(form, handles, kept_in(&found.policy, &caller.name)?, body);
    }
    let page = query.number("page")?.unwrap_or(1);
    let page = within("/page", page, 1..=PAGES_MAX)?;
    let size = query
        .number("page_size")?
        .unwrap_or(WINDOWS_PAGE_SIZE_DEFAULT);
    let size = within("/page_size", size, 1..=PAGE_SIZE_MAX)?;
    query.finish("page, page_size, from, to, format")?;
    let span = Span { page, size };
    let found = in_force(handles).await?;
    let regions = kept_in(&found.policy, &caller.name)?;
    let count = span.needed();
    let answers = each(&handles.env, &regions, |_| WindowsBody {
        count,
        ..body.clone()
    });
    reply::json(200, &merged(caller.name.clone(), span, answers.await))
}

/// Every window, read as the file is written. A region that does not answer breaks it off.
fn file(
    form: FileForm,
    handles: &RequestHandles,
    regions: Vec<String>,
    body: WindowsBody,
) -> Result<Response, Failure> {
    let env = handles.env.clone();
    let batches = try_unfold(Some(body), move |body| {
        let (env, regions) = (env.clone(), regions.clone());
        async move {
            let Some(body) = body else {
                return Ok(None);
            };
            let mut replies = Vec::new();
            for (region, answer) in each(&env, &regions, |_| body.clone()).await {
                replies.push(answer.ok_or_else(|| {
                    worker::Error::RustError(format!("the ledger of {region} did not answer"))
                })?);
            }
            let part = part(replies);
            let next = part.before.map(|to| WindowsBody { to, ..body });
            let texts = part.windows.iter().map(serde_json::to_string);
            Ok(Some((texts.collect::<Result<_, _>>()?, next)))
        }
    });
    let file = ListFile {
        form,
        sheet: &WINDOWS,
    };
    file.of_batches(batches.boxed_local())
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
