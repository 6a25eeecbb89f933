//! The budgets, with how full the open window of each is.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::wire::operator::budgets::{BudgetRow, BudgetsReply};
use weir_shared::wire::policy::{Scope, Sharing};

use crate::address::Page;
use crate::api::Client;
use crate::api::ask::WindowsAsk;
use crate::chart::series::Tone;
use crate::clock;
use crate::components::explain::Explain;
use crate::components::spark::Meter;
use crate::components::time::Age;
use crate::features::budgets::model::utilization::{NowAndBefore, Utilization};
use crate::features::policy::model::words;
use crate::fetched::{Follow, fetched};
use crate::format;
use crate::glossary::Term;

/// Windows that show the open and the last one, whatever late word there is of old ones.
const GLOBAL_WINDOWS: u64 = 6;

/// Windows that show the open and the last one of every region.
const REGIONAL_WINDOWS: u64 = 32;

/// From this part of the limit on a budget is nearly used up.
const NEARLY: f64 = 0.9;

/// A row a budget.
#[component]
pub fn BudgetTable(
    /// The budgets.
    budgets: Signal<Option<Arc<BudgetsReply>>>,
    /// Whether to show how each is shared, too.
    #[prop(optional)]
    full: bool,
    /// Rows at most.
    rows_max: usize,
) -> impl IntoView {
    let names = Memo::new(move |_| {
        budgets.with(|reply| {
            let rows = reply.iter().flat_map(|reply| &reply.budgets);
            rows.take(rows_max)
                .map(|row| row.name.clone())
                .collect::<Vec<String>>()
        })
    });
    let row = move |name: String| {
        let row = Memo::new(move |_| {
            budgets.with(|reply| {
                let mut rows = reply.iter().flat_map(|reply| &reply.budgets);
                rows.find(|row| row.name == name).cloned()
            })
        });
        view! { <Row row full/> }
    };
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label="Budgets">
            <table class="budgets cards" class:roomy=full>
                <thead>
                    <tr>
                        <th scope="col">"Budget"</th>
                        {full.then(|| view! {
                            <th scope="col">"Shared"</th>
                            <th scope="col">"Scope"</th>
                        })}
                        <th scope="col">"Open window, used"</th>
                        <th scope="col" class="figure">"Used of limit, units"</th>
                        <th scope="col" class="figure">"Denied, units"</th>
                        <th scope="col" class="figure">"Jain"<Explain term=Term::Jain/></th>
                        <th scope="col" class="figure">"Tenants"</th>
                        <th scope="col">"Window ends"</th>
                        <th scope="col" class="figure">"Last window, used"</th>
                        {full.then(|| view! {
                            <th scope="col" class="figure">"Admitted in all, units"</th>
                            <th scope="col" class="figure">"Denied in all, units"</th>
                        })}
                    </tr>
                </thead>
                <tbody><For each=move || names.get() key=Clone::clone children=row/></tbody>
            </table>
        </div>
    }
}

fn windows_wanted(row: &BudgetRow) -> u64 {
    let regional =
        row.body.scope == Some(Scope::Region) || row.body.sharing == Some(Sharing::StaticPartition);
    if regional {
        REGIONAL_WINDOWS
    } else {
        GLOBAL_WINDOWS
    }
}

#[component]
fn Row(row: Memo<Option<BudgetRow>>, full: bool) -> impl IntoView {
    let asked = Memo::new(move |_| {
        row.with(|row| {
            row.as_ref()
                .map(|row| (row.name.clone(), windows_wanted(row)))
        })
    });
    let windows = fetched(
        move || {
            let (name, page_size) = asked.get().unwrap_or_default();
            let ask = WindowsAsk {
                page_size,
                ..WindowsAsk::default()
            };
            async move { Client.windows(&name, &ask).await }
        },
        Follow::Pulse,
    );
    let told = Memo::new(move |_| {
        windows.value.with(|view| {
            let view = view.as_ref();
            view.map(|view| NowAndBefore::of(&view.windows, clock::server_ms()))
                .unwrap_or_default()
        })
    });
    let now = Memo::new(move |_| told.with(|told| told.now.clone()));
    let unit = move |of: fn(&Utilization) -> String| {
        move || now.with(|now| now.as_ref().map_or_else(|| format::UNKNOWN.to_owned(), of))
    };
    let name = row
        .with_untracked(|row| row.as_ref().map(|row| row.name.clone()))
        .unwrap_or_default();
    let limit = move || row.with(|row| row.as_ref().map(|row| words::limit(&row.body)));
    let shadow = move || {
        row.with(|row| {
            row.as_ref()
                .is_some_and(|row| row.body.shadow == Some(true))
        })
    };
    let before = move || {
        told.with(|told| {
            told.before.as_ref().map_or_else(
                || format::UNKNOWN.to_owned(),
                |before| format::percent(before.share()),
            )
        })
    };
    let ends = move || match now.get() {
        Some(now) => view! { <Age at=Signal::stored(now.ends_at)/> }.into_any(),
        None => format::UNKNOWN.into_any(),
    };
    let share =
        Signal::derive(move || now.with(|now| now.as_ref().map_or(0.0, Utilization::share)));
    let label = format!("Used of {name}");
    let body = move |of: fn(&BudgetRow) -> String| move || row.with(|row| row.as_ref().map(of));
    view! {
        <tr data-testid="budget-row" data-budget=name.clone()>
            <th scope="row">
                <a href=Page::Budget(name.clone()).address()>{name.clone()}</a>
                {move || shadow().then(|| view! { <span class="tag warning" title="Decided and counted, never enforced">"shadow"</span> })}
                <span class="under">{limit}</span>
            </th>
            {full.then(|| view! {
                <td data-label="Shared">{body(|row| words::sharing(row.body.sharing).to_owned())}</td>
                <td data-label="Scope">{body(|row| words::scope(row.body.scope).to_owned())}</td>
            })}
            <td data-label="Open window, used">
                <span class="utilization">
                    {move || {
                        let tone = if share.get() >= NEARLY { Tone::DENIED } else { Tone::ADMITTED };
                        view! { <Meter share label=Signal::stored(label.clone()) tone/> }
                    }}
                    <span class="percent figure" data-testid="utilization" data-value=move || share.get().to_string()>
                        {unit(|now| format::percent(now.share()))}
                    </span>
                </span>
            </td>
            <td class="figure" data-label="Used of limit, units">{unit(|now| format!("{} / {}", format::count(now.used.into()), format::count(now.limit.into())))}</td>
            <td class="figure" data-label="Denied in this window, units" class:denying=move || now.with(|now| now.as_ref().is_some_and(|now| now.denied > 0))>
                {unit(|now| format::count(now.denied.into()))}
            </td>
            <td class="figure" data-label="Jain's index" data-testid="jain">{unit(|now| format::index(now.jain))}</td>
            <td class="figure" data-label="Tenants">{unit(|now| format::count(now.tenants.into()))}</td>
            <td data-label="Window ends">{ends}</td>
            <td class="figure" data-label="Last window, used">{before}</td>
            {full.then(|| view! {
                <td class="figure" data-label="Admitted in all, units">{body(|row| format::count(row.total.admitted_units.0))}</td>
                <td class="figure" data-label="Denied in all, units">{body(|row| format::count(row.total.denied_units.0))}</td>
            })}
        </tr>
    }
}
