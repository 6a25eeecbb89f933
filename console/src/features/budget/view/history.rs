//! The windows that a budget had: what went through them, and how fairly.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::wire::operator::series::{SeriesView, WindowsView};
use weir_shared::wire::policy::BudgetBody;
use weir_shared::wire::windows::WindowRecord;

use crate::address::Page;
use crate::api::ask::windows_csv_address;
use crate::components::chart::{Kind, SeriesChart, intervals};
use crate::components::explain::Explain;
use crate::components::rows::rows;
use crate::components::time::Time;
use crate::features::budget::model::history::{jain, limit_of_interval, units};
use crate::features::budget::model::query::{BudgetQuery, Drawn};
use crate::format;
use crate::glossary::Term;
use crate::region_name::in_full;

/// What went through over time.
#[component]
pub fn UnitsChart(
    /// What was counted.
    series: Signal<Option<Arc<SeriesView>>>,
    /// The budget.
    #[prop(into)]
    budget: Signal<String>,
    /// What the policy says of it.
    #[prop(into)]
    body: Signal<BudgetBody>,
) -> impl IntoView {
    let (span, step_ms) = intervals(series);
    let lines = Signal::derive(move || {
        series.with(|view| {
            let view = view.as_ref();
            view.map(|view| budget.with(|budget| units(view, budget)))
                .unwrap_or_default()
        })
    });
    let limit = Signal::derive(move || body.with(|body| limit_of_interval(body, step_ms.get())));
    let title = "Units by interval";
    view! { <SeriesChart title unit="units" kind=Kind::Bars series=lines span step_ms limit/> }
}

/// How fairly windows were shared.
#[component]
pub fn JainChart(
    /// The windows.
    windows: Signal<Option<Arc<WindowsView>>>,
    /// The span that is looked at.
    #[prop(into)]
    span: Signal<(u64, u64)>,
    /// The length of a window.
    #[prop(into)]
    window_ms: Signal<u64>,
) -> impl IntoView {
    let lines = Signal::derive(move || {
        windows.with(|view| {
            let view = view.as_ref();
            view.map(|view| jain(&view.windows, window_ms.get()))
                .unwrap_or_default()
        })
    });
    let title = "Jain's index by window";
    let empty = "No window of this page was asked for anything.";
    view! { <SeriesChart title unit="" kind=Kind::Lines series=lines span step_ms=window_ms empty/> }
}

/// The records, newest first, each leading to its drawing.
#[component]
pub fn WindowsTable(
    /// The windows.
    windows: Signal<Option<Arc<WindowsView>>>,
    /// What is looked at.
    #[prop(into)]
    query: Signal<BudgetQuery>,
    /// The budget.
    #[prop(into)]
    budget: Signal<String>,
) -> impl IntoView {
    let entries = Memo::new(move |_| {
        windows.with(|view| {
            let windows = view.iter().flat_map(|view| &view.windows);
            windows.map(without_tenants).collect::<Vec<WindowRecord>>()
        })
    });
    let key = |record: &WindowRecord| format!("{} {:?}", record.label, record.region);
    let row = move |entry: Memo<WindowRecord>| row(entry, query, budget);
    let pages = move || {
        let (page, pages) = windows.with(|view| {
            view.as_ref()
                .map_or((1, 1), |view| (view.page.page, view.page.pages))
        });
        let to = move |page: u64| {
            let query = BudgetQuery {
                page,
                ..query.get()
            };
            format!(
                "{}{}",
                Page::Budget(budget.get()).address(),
                query.query_string()
            )
        };
        view! {
            <nav class="more" aria-label="Pages of windows">
                {(page > 1).then(|| view! { <a class="button" href=to(page - 1)>"Newer"</a> })}
                {(pages > 1 || page > 1).then(|| view! { <span class="muted">{format!("Page {page} of {pages}")}</span> })}
                {(page < pages).then(|| view! { <a class="button" href=to(page + 1)>"Older"</a> })}
                <a class="button" href=windows_csv_address(&budget.get()) rel="external" download data-testid="windows-csv">
                    "Export CSV"
                </a>
            </nav>
        }
    };
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label="Windows, newest first">
            <table class="cards" data-testid="windows">
                <thead>
                    <tr>
                        <th scope="col">"Window"</th>
                        <th scope="col">"Ends"</th>
                        <th scope="col" class="figure">"Limit"</th>
                        <th scope="col" class="figure">"Lent"<Explain term=Term::Lent/></th>
                        <th scope="col" class="figure">"Admitted"</th>
                        <th scope="col" class="figure">"Returned"<Explain term=Term::Returned/></th>
                        <th scope="col" class="figure"><abbr title="Leased by isolates that died, as counted by the regions that lent it">"Unaccounted"</abbr></th>
                        <th scope="col" class="figure">"Denied"</th>
                        <th scope="col" class="figure">"Jain"<Explain term=Term::Jain/></th>
                        <th scope="col" class="figure">"Tenants"</th>
                    </tr>
                </thead>
                <tbody>{rows(entries, key, row)}</tbody>
            </table>
        </div>
        {pages}
    }
}

/// What a row shows of a record.
fn without_tenants(record: &WindowRecord) -> WindowRecord {
    WindowRecord {
        budget: String::new(),
        region: record.region.clone(),
        tenants: Vec::new(),
        ..*record
    }
}

fn row(entry: Memo<WindowRecord>, query: Signal<BudgetQuery>, budget: Signal<String>) -> AnyView {
    let (label, region) = entry.with_untracked(|record| (record.label.0, record.region.clone()));
    let of = region.clone();
    let here = Memo::new(move |_| {
        query.with(|query| {
            let window = query.window.is_some_and(|window| window.label == label);
            window && (of.is_none() || of == query.region)
        })
    });
    let of = region.clone();
    let address = move || {
        let ends_at = entry.with(|record| record.ends_at.0);
        let query = BudgetQuery {
            window: Some(Drawn { label, ends_at }),
            region: of.clone(),
            ..query.get()
        };
        format!(
            "{}{}",
            Page::Budget(budget.get()).address(),
            query.query_string()
        )
    };
    let complete = move || entry.with(|record| record.complete);
    view! {
        <tr data-testid="window-row" data-window=label class:chosen=here>
            <th scope="row">
                <a class="window-link" href=address aria-current=move || here.get().then_some("true")>{label}</a>
                {region.map(|region| view! { <span class="muted">" "{in_full(&region)}</span> })}
                {move || (!complete()).then(|| view! { <span class="tag" title="Open, or not all is told of it yet">"not complete"</span> })}
            </th>
            {move || entry.with(cells)}
        </tr>
    }
    .into_any()
}

fn cells(record: &WindowRecord) -> impl IntoView + use<> {
    let count =
        |count: Option<u128>| count.map_or_else(|| format::UNKNOWN.to_owned(), format::count);
    let bound = (!record.exact && record.granted.is_some()).then_some("≤ ");
    let unaccounted = record.unaccounted.map(|count| count.0);
    view! {
        <td data-label="Ends"><Time at=Signal::stored(record.ends_at.0)/></td>
        <td data-label="Limit" class="figure">{count(Some(record.limit.into()))}</td>
        <td data-label="Lent" class="figure">{bound}{count(record.granted.map(|count| count.0))}</td>
        <td data-label="Admitted" class="figure">{count(Some(record.admitted.0))}</td>
        <td data-label="Returned" class="figure">{count(Some(record.returned.0))}</td>
        <td data-label="Unaccounted" class="figure" class:denying=record.exact && unaccounted.is_some_and(|units| units > 0)>{count(unaccounted)}</td>
        <td data-label="Denied" class="figure" class:denying=record.denied.0 != 0>{count(Some(record.denied.0))}</td>
        <td data-label="Jain's index" class="figure">{format::index(record.jain.map(|jain| jain.0))}</td>
        <td data-label="Tenants" class="figure">{count(Some(record.tenants_seen.into()))}</td>
    }
}
