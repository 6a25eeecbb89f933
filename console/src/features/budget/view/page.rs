//! One budget: who has what of a window, where its units are, and the windows before.

use leptos::prelude::*;
use leptos_router::hooks::use_navigate;
use weir_shared::wire::policy::{BudgetBody, Scope, Sharing};

use crate::address::Page;
use crate::api::Client;
use crate::api::ask::{SeriesAsk, WindowsAsk, segment};
use crate::clock;
use crate::components::range_picker::RangePicker;
use crate::components::shell::Shell;
use crate::components::states::States;
use crate::context::use_named;
use crate::features::budget::model::pick::{chosen, regions};
use crate::features::budget::model::query::{BudgetQuery, PAGE_SIZE};
use crate::features::budget::view::facts::BudgetFacts;
use crate::features::budget::view::history::{JainChart, UnitsChart, WindowsTable};
use crate::features::budget::view::holdings::BudgetHoldings;
use crate::features::budget::view::window::Window;
use crate::fetched::{Follow, fetched};
use crate::lazy;
use crate::lazy::{fetch_part, shown_with};
use crate::query_address::{use_asked, use_range, within_page};
use crate::region_name::in_full;

/// Windows among which the newest is, whatever late word there is of old ones.
const GLOBAL_WINDOWS: u64 = 4;

/// Windows among which the newest of every region are.
const REGIONAL_WINDOWS: u64 = 32;

/// The budget that the address names.
#[component]
pub fn BudgetPage() -> impl IntoView {
    let name = use_named(|page| match page {
        Page::Budget(name) => Some(name),
        _ => None,
    });
    let title = Signal::derive(move || format!("Budget {}", name.get()));
    let actions = move || {
        view! {
            <p class="links">
                <a href=move || format!("{}?binding={}", Page::Decisions.address(), segment(&name.get()))>"Its decisions"</a>
                <a href=move || format!("{}?section=budgets&name={}", Page::Policy.address(), segment(&name.get()))>"In the policy"</a>
            </p>
        }
    };
    let part = fetch_part(fetch);
    view! { <Shell title=title actions=actions>{shown_with(part, move || content(name))}</Shell> }
}

lazy!(
    figures,
    fetch,
    fn content(name: Memo<String>) {
        view! { <Sections name=name/> }
    }
);

#[component]
fn Sections(name: Memo<String>) -> impl IntoView {
    let query = use_asked(BudgetQuery::parse);
    let budgets = fetched(|| Client.budgets(), Follow::Calm);
    let body = Memo::new(move |_| {
        budgets.value.with(|reply| {
            let mut rows = reply.iter().flat_map(|reply| &reply.budgets);
            let row = rows.find(|row| name.with(|name| row.name == *name));
            row.map(|row| row.body.clone())
        })
    });
    let known = Signal::derive(move || body.with(Option::is_some));
    let missing = Signal::derive(move || {
        let loaded = budgets.value.with(Option::is_some);
        (loaded && !known.get()).then(|| format!("The policy has no budget {}.", name.get()))
    });
    let body = Signal::derive(move || body.get().unwrap_or_default());
    view! {
        <States ready=budgets.ready() error=budgets.error retry=budgets.retry() empty=missing>
            <BudgetFacts body=body/>
            <Drawn name query body/>
            <Where name/>
            <History name query body/>
        </States>
    }
}

/// Whether each region has windows of its own.
fn is_regional(body: &BudgetBody) -> bool {
    body.scope != Some(Scope::Global) || body.sharing == Some(Sharing::StaticPartition)
}

/// The window that is looked at.
#[component]
fn Drawn(name: Memo<String>, query: Memo<BudgetQuery>, body: Signal<BudgetBody>) -> impl IntoView {
    let window = Memo::new(move |_| query.with(|query| query.window));
    let regional = Memo::new(move |_| body.with(is_regional));
    let windows = fetched(
        move || {
            let name = name.get();
            let (from, to) = window.get().map(|window| window.span()).unzip();
            let ask = WindowsAsk {
                page_size: if regional.get() {
                    REGIONAL_WINDOWS
                } else {
                    GLOBAL_WINDOWS
                },
                from,
                to,
                ..WindowsAsk::default()
            };
            async move { Client.windows(&name, &ask).await }
        },
        Follow::Pulse,
    );
    let region = Memo::new(move |_| query.with(|query| query.region.clone()));
    let record = Memo::new(move |_| {
        windows.value.with(|view| {
            let view = view.as_ref()?;
            let label = window.get().map(|window| window.label);
            region
                .with(|region| chosen(view, label, region.as_deref()))
                .cloned()
        })
    });
    let regions = Memo::new(move |_| {
        windows
            .value
            .with(|view| view.as_ref().map(|view| regions(view)).unwrap_or_default())
    });
    let has_record = Memo::new(move |_| record.with(Option::is_some));
    let open = Memo::new(move |_| {
        record.with(|record| {
            let record = record.as_ref();
            record.is_some_and(|record| !record.complete && record.ends_at.0 > clock::server_ms())
        })
    });
    let empty = Signal::derive(move || {
        let nothing = windows.value.with(Option::is_some) && !has_record.get();
        nothing.then(|| match window.get() {
            Some(window) => format!(
                "There is no record of window {}. Records are kept for a day.",
                window.label
            ),
            None => {
                "Nothing was asked of this budget yet. Its first check opens a window.".to_owned()
            }
        })
    });
    let newest = move || {
        format!(
            "{}{}",
            Page::Budget(name.get()).address(),
            BudgetQuery {
                window: None,
                ..query.get()
            }
            .query_string()
        )
    };
    view! {
        <section class="block" aria-labelledby="window-heading">
            <div class="section-head">
                <h2 id="window-heading">{move || match window.get() {
                    Some(window) => format!("Window {}", window.label),
                    None => "The newest window".to_owned(),
                }}</h2>
                <Regions name query regions/>
                {move || window.get().is_some().then(|| view! { <a href=newest data-testid="newest">"To the newest"</a> })}
            </div>
            <States ready=windows.ready() error=windows.error retry=windows.retry() empty=empty>
                {move || has_record.get().then(|| {
                    let last = StoredValue::new(record.get_untracked());
                    let record = Memo::new(move |_| {
                        let now = record.get();
                        if now.is_some() {
                            last.set_value(now);
                        }
                        last.get_value()
                    });
                    view! { <Window record open/> }
                })}
            </States>
        </section>
    }
}

/// Leads to the windows of each region, where they have windows of their own.
#[component]
fn Regions(
    name: Memo<String>,
    query: Memo<BudgetQuery>,
    regions: Memo<Vec<String>>,
) -> impl IntoView {
    let link = move |region: String| {
        let address = Page::Budget(name.get()).address();
        let query = query.get();
        let current = (query.region.as_deref() == Some(&*region)).then_some("true");
        let query = BudgetQuery {
            region: Some(region.clone()),
            window: None,
            ..query
        };
        view! { <li><a class="button" href=format!("{address}{}", query.query_string()) aria-current=current>{in_full(&region)}</a></li> }
    };
    move || {
        let regions = regions.get();
        (!regions.is_empty()).then(|| view! {
            <ul class="choices" aria-label="Region">{regions.into_iter().map(link).collect_view()}</ul>
        })
    }
}

/// Where the units of the open window are.
#[component]
fn Where(name: Memo<String>) -> impl IntoView {
    let regions = fetched(
        move || {
            let name = name.get();
            async move { Client.regions_of(Some(&name)).await }
        },
        Follow::Calm,
    );
    view! {
        <section class="block" aria-labelledby="where-heading">
            <div class="section-head"><h2 id="where-heading">"Where it is now"</h2></div>
            <States ready=regions.ready() error=regions.error retry=regions.retry()>
                <BudgetHoldings regions=regions.value budget=name/>
            </States>
        </section>
    }
}

/// The windows before.
#[component]
fn History(
    name: Memo<String>,
    query: Memo<BudgetQuery>,
    body: Signal<BudgetBody>,
) -> impl IntoView {
    let navigate = use_navigate();
    let range = use_range(
        Memo::new(move |_| query.with(|query| query.range)),
        Callback::new(move |range| {
            let query = BudgetQuery {
                range,
                page: 0,
                ..query.get_untracked()
            };
            let address = Page::Budget(name.get_untracked()).address();
            navigate(
                &format!("{address}{}", query.query_string()),
                within_page(true),
            );
        }),
    );
    let page = Memo::new(move |_| query.with(|query| query.page.max(1)));
    let series = fetched(
        move || {
            let ask = SeriesAsk {
                budget: Some(name.get()),
                ..range.get().series_ask(clock::server_ms())
            };
            async move { Client.series(&ask).await }
        },
        Follow::Calm,
    );
    let windows = fetched(
        move || {
            let name = name.get();
            let (from, to) = range.get().span(clock::server_ms());
            let open_ms = body.with(|body| body.window_ms).unwrap_or(0);
            let ask = WindowsAsk {
                page: page.get(),
                page_size: PAGE_SIZE,
                from: Some(from),
                // The open window ends later.
                to: Some(if range.get().is_live() {
                    to + 2 * open_ms
                } else {
                    to
                }),
            };
            async move { Client.windows(&name, &ask).await }
        },
        Follow::Calm,
    );
    let span = Signal::derive(move || {
        windows.value.track();
        range.get().span(clock::server_ms())
    });
    let window_ms = Signal::derive(move || body.with(|body| body.window_ms).unwrap_or(0));
    let empty = Signal::derive(move || {
        let none = windows
            .value
            .with(|view| view.as_ref().is_some_and(|view| view.windows.is_empty()));
        none.then(|| {
            "No window ended in this time. Records of windows are kept for a day.".to_owned()
        })
    });
    view! {
        <section class="block" aria-labelledby="history-heading">
            <div class="section-head">
                <h2 id="history-heading">"Earlier windows"</h2>
                <RangePicker range/>
            </div>
            <div class="pair">
                <States ready=series.ready() error=series.error retry=series.retry()>
                    <UnitsChart series=series.value budget=name body/>
                </States>
                <States ready=windows.ready() error=windows.error retry=windows.retry()>
                    <JainChart windows=windows.value span window_ms/>
                </States>
            </div>
            <States ready=windows.ready() error=Signal::stored(None) retry=windows.retry() empty=empty>
                <WindowsTable windows=windows.value query=query budget=name/>
            </States>
        </section>
    }
}
