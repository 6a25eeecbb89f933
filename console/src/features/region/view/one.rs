//! One region: its health, its calls over time, and the units that it holds.

use leptos::prelude::*;
use weir_shared::wire::operator::regions::RegionBudget;

use crate::address::Page;
use crate::api::Client;
use crate::api::ask::SeriesAsk;
use crate::clock;
use crate::components::chart::{Kind as Drawn, SeriesChart, intervals};
use crate::components::explain::Explain;
use crate::components::range_picker::RangePicker;
use crate::components::rows::rows;
use crate::components::states::States;
use crate::components::time::Age;
use crate::features::regions::view::health_table::HealthTable;
use crate::fetched::{Follow, fetched};
use crate::format;
use crate::glossary::Term;
use crate::query_address::{use_ask, use_asked, use_range};
use crate::situation::flow::calls;
use crate::situation::query::SituationQuery;

/// What is below the page's heading.
#[component]
pub fn OneRegion(
    /// The region.
    name: String,
) -> impl IntoView {
    let query = use_asked(SituationQuery::parse);
    let ask = use_ask(&Page::Region(name.clone()), SituationQuery::to_query_string);
    let range = use_range(
        Memo::new(move |_| query.with(|query| query.range)),
        Callback::new(move |range| ask.run((SituationQuery { range, what: None }, true))),
    );
    let regions = fetched(|| Client.regions(), Follow::Calm);
    let region = name.clone();
    let series = fetched(
        move || {
            let ask = SeriesAsk {
                region: Some(region.clone()),
                ..range.get().series_ask(clock::server_ms())
            };
            async move { Client.series(&ask).await }
        },
        Follow::Calm,
    );
    let of = name.clone();
    let status = Memo::new(move |_| {
        regions.value.with(|reply| {
            let reply = reply.as_ref()?;
            reply.regions.iter().find(|one| one.region == of).cloned()
        })
    });
    let known = Memo::new(move |_| status.with(Option::is_some));
    let budgets = Memo::new(move |_| {
        status.with(|status| {
            let status = status.as_ref();
            status
                .map(|status| status.budgets.clone())
                .unwrap_or_default()
        })
    });
    let missing = Signal::derive(move || {
        let gone = regions.value.with(Option::is_some) && status.with(Option::is_none);
        gone.then(|| format!("The policy has no region {name}."))
    });
    // The table of all regions, with this one alone.
    let alone = Signal::derive(move || {
        let mut reply = regions.value.get().map(|reply| (*reply).clone())?;
        let name = status.with(|status| status.as_ref().map(|status| status.region.clone()))?;
        reply.regions.retain(|one| one.region == name);
        Some(std::sync::Arc::new(reply))
    });
    let lines = Signal::derive(move || {
        let view = series.value.get();
        view.map(|view| calls(&view, clock::server_ms()))
            .unwrap_or_default()
    });
    let (span, step_ms) = intervals(series.value);
    view! {
        <States ready=regions.ready() error=regions.error retry=regions.retry() empty=missing>
            <section class="block" aria-label="Health"><HealthTable regions=alone/></section>
            <section class="block" aria-labelledby="region-flow">
                <div class="section-head">
                    <h2 id="region-flow">"Over time"</h2>
                    <RangePicker range/>
                </div>
                <States ready=series.ready() error=series.error retry=series.retry()>
                    <SeriesChart title="Calls in this region" unit="calls/s" kind=Drawn::Bars series=lines span step_ms/>
                </States>
            </section>
            <section class="block" aria-labelledby="region-holds">
                <h2 id="region-holds">"What it holds now"</h2>
                {move || known.get().then(|| view! { <Held budgets/> })}
            </section>
        </States>
    }
}

/// A row a budget of which it has units.
#[component]
fn Held(budgets: Memo<Vec<RegionBudget>>) -> impl IntoView {
    let none = Memo::new(move |_| budgets.with(Vec::is_empty));
    move || {
        if none.get() {
            return view! {
                <p class="state" data-testid="state-empty">
                    "It holds no units: nothing was asked of a budget here in the window that is open. The first check draws some."
                </p>
            }
            .into_any();
        }
        view! {
            <div class="scroll" tabindex="0" role="region" aria-label="Units that the region holds">
                <table class="cards">
                    <thead>
                        <tr>
                            <th scope="col">"Budget"</th>
                            <th scope="col" class="figure">"Held, units"<Explain term=Term::Holder/></th>
                            <th scope="col" class="figure">"Leased to isolates, units"<Explain term=Term::Leased/></th>
                            <th scope="col" class="figure">"In escrow, units"<Explain term=Term::Escrow/></th>
                            <th scope="col" class="figure">"Of the window, units"<Explain term=Term::Window/></th>
                            <th scope="col" class="figure">"Isolates"<Explain term=Term::Isolate/></th>
                            <th scope="col">"Window ends"</th>
                        </tr>
                    </thead>
                    <tbody>{rows(budgets, |one| one.budget.clone(), row)}</tbody>
                </table>
            </div>
        }
        .into_any()
    }
}

fn row(entry: Memo<RegionBudget>) -> AnyView {
    let budget = entry.with_untracked(|one| one.budget.clone());
    let address = Page::Budget(budget.clone()).address();
    let named = budget.clone();
    let units = move |of: fn(&RegionBudget) -> u64| move || format::count(entry.with(of).into());
    let ends = move || match entry.with(|one| one.ends_at) {
        Some(at) => view! { <Age at=Signal::stored(at.0)/> }.into_any(),
        None => format::UNKNOWN.into_any(),
    };
    view! {
        <tr data-testid="held-row" data-budget=named>
            <th scope="row"><a href=address>{budget}</a></th>
            <td class="figure" data-label="Held, units">{units(|one| one.held)}</td>
            <td class="figure" data-label="Leased to isolates, units">{units(|one| one.lent)}</td>
            <td class="figure" data-label="In escrow, units">{units(|one| one.held.saturating_sub(one.lent))}</td>
            <td class="figure" data-label="Of the window, units">{units(|one| one.limit)}</td>
            <td class="figure" data-label="Isolates">{units(|one| one.isolates)}</td>
            <td data-label="Window ends">{ends}</td>
        </tr>
    }
    .into_any()
}
