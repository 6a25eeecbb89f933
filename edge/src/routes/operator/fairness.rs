//! `GET /operator/v1/fairness`: who got what, merged from the ledgers of all regions.

use weir_shared::export::file_form::FileForm;
use weir_shared::export::sheets::FAIRNESS;
use weir_shared::paging::{Paging, Sizes};
use weir_shared::report::fairness::{Source, guarantees, report, seen, tenant};
use weir_shared::report::regions::Totals;
use worker::{Request, Response};

use super::ledgers::{borrowed, totals};
use super::{in_force, query};
use crate::http::failure::Failure;
use crate::http::file::{ListFile, written};
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
    let form = FileForm::take(&mut query)?;
    let paging = Paging::read(&mut query, Sizes::WHOLE)?;
    let effective = query.flag("effective")?.unwrap_or(true);
    query.finish("page, page_size, sort, search, effective, format")?;
    let found = in_force(handles).await?;
    let answers = totals(&handles.env, &found.policy.regions).await;
    let totals = Totals::of(borrowed(&answers));
    let at = now();
    let source = Source {
        policy: &found.policy,
        revision: found.revision,
        totals: &totals,
        at,
    };
    let Some(form) = form else {
        let report = report(&source, &found.document, &paging, effective);
        return reply::json(200, &report);
    };
    let file = ListFile {
        form,
        sheet: &FAIRNESS,
    };
    // No column tells of the effective policy.
    let effective = effective && form == FileForm::JsonLines;
    let (names, _) = seen(&source, &paging);
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    let guarantees = guarantees(&source);
    file.of(written(names.into_iter().filter_map(move |name| {
        let source = Source {
            policy: &found.policy,
            revision: found.revision,
            totals: &totals,
            at,
        };
        tenant(&source, &found.document, &guarantees, &name, effective)
    })))
}
