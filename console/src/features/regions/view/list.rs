//! The page of the regions: how they are, and where the units of each budget are.

use leptos::prelude::*;
use leptos_router::hooks::use_navigate;

use super::health_table::HealthTable;
use super::place::BudgetPlace;
use crate::address::Page;
use crate::api::Client;
use crate::components::choice::Choice;
use crate::components::notice::{Notice, Severity};
use crate::components::states::States;
use crate::features::regions::model::place::{Place, places};
use crate::features::regions::model::query::RegionsQuery;
use crate::features::regions::model::trouble::{Trouble, troubles};
use crate::fetched::{Follow, fetched};
use crate::format;
use crate::query_address::{use_asked, within_page};

/// What is below the page's heading.
#[component]
pub fn RegionsView() -> impl IntoView {
    let query = use_asked(RegionsQuery::parse);
    let ask = move || {
        let budget = query.get().budget;
        async move { Client.regions_of(budget.as_deref()).await }
    };
    let regions = fetched(ask, Follow::Calm);
    let revision = Memo::new(move |_| {
        regions
            .value
            .with(|reply| reply.as_ref().map(|reply| reply.policy_revision))
    });
    let terms = move || {
        revision.track();
        Client.budgets()
    };
    let budgets = fetched(terms, Follow::Once);
    let shown = Memo::new(move |_| {
        let only = query.get().budget;
        let budgets = budgets.value.get();
        let rows = budgets.as_deref().map_or(&[][..], |reply| &reply.budgets);
        regions.value.with(|reply| {
            reply
                .as_ref()
                .map(|reply| places(reply, rows, only.as_deref()))
                .unwrap_or_default()
        })
    });
    let names = Signal::derive(move || {
        budgets.value.with(|reply| {
            let rows = reply.iter().flat_map(|reply| &reply.budgets);
            rows.map(|row| (row.name.clone(), row.name.clone()))
                .collect::<Vec<_>>()
        })
    });
    let unasked = Memo::new(move |_| {
        regions
            .value
            .with(|reply| reply.as_ref().map_or(0, |reply| reply.unasked))
    });
    let wrong = Memo::new(move |_| {
        regions.value.with(|reply| {
            reply
                .as_ref()
                .map(|reply| troubles(reply))
                .unwrap_or_default()
        })
    });
    view! {
        <States ready=regions.ready() error=regions.error retry=regions.retry()>
            <Troubles troubles=wrong/>
            <section aria-labelledby="regions-heading" class="block">
                <h2 id="regions-heading">"State of each region"</h2>
                <HealthTable regions=regions.value/>
            </section>
            <section aria-labelledby="places-heading" class="block">
                <div class="section-head">
                    <h2 id="places-heading">"Where each budget is now"</h2>
                    <BudgetFilter query names/>
                </div>
                <Places shown/>
                {move || (unasked.get() > 0).then(|| view! {
                    <p class="muted">
                        {format::counted(unasked.get() as usize, "budget")}
                        " not asked about, as there are too many at a time: choose one above."
                    </p>
                })}
            </section>
        </States>
    }
}

/// What is asked for, which is the address's.
#[component]
fn BudgetFilter(query: Memo<RegionsQuery>, names: Signal<Vec<(String, String)>>) -> impl IntoView {
    let navigate = use_navigate();
    let value = Signal::derive(move || query.get().budget.unwrap_or_default());
    let choose = Callback::new(move |name: String| {
        let wanted = RegionsQuery {
            budget: (!name.is_empty()).then_some(name),
        };
        let address = format!("{}{}", Page::Regions.address(), wanted.to_query_string());
        navigate(&address, within_page(true));
    });
    view! {
        <div class="filters inline">
            <Choice label="Budget" testid="filter-budget" all="All" value options=names choose/>
        </div>
    }
}

#[component]
fn Troubles(troubles: Memo<Vec<Trouble>>) -> impl IntoView {
    let notice = |trouble: Trouble| {
        view! {
            <Notice severity=Severity::Warning title=trouble.title detail=trouble.meaning testid="trouble"/>
        }
    };
    view! {
        <div class="troubles">
            {move || troubles.get().into_iter().map(notice).collect_view()}
        </div>
    }
}

#[component]
fn Places(shown: Memo<Vec<Place>>) -> impl IntoView {
    let names = Memo::new(move |_| {
        shown.with(|shown| {
            shown
                .iter()
                .map(|place| place.name.clone())
                .collect::<Vec<_>>()
        })
    });
    let place = move |name: String| {
        let wanted = name.clone();
        let place = Memo::new(move |_| {
            shown.with(|shown| shown.iter().find(|place| place.name == wanted).cloned())
        });
        view! { <BudgetPlace name place/> }
    };
    move || {
        if names.with(Vec::is_empty) {
            return view! {
                <p class="state" data-testid="state-empty">
                    "The policy has no budget. Budgets are added on the "
                    <a href=Page::Policy.address()>"Policy"</a>" page."
                </p>
            }
            .into_any();
        }
        view! { <For each=move || names.get() key=Clone::clone children=place/> }.into_any()
    }
}
