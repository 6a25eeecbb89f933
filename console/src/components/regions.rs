//! The table of regions.

use std::sync::Arc;

use leptos::prelude::*;

use super::counts::{CountCell, RateCell};
use crate::overview::{Overview, RegionRow};

/// One row a region of the policy; one out of reach says so in place of figures.
#[component]
pub fn Regions(
    /// The figures.
    #[prop(into)]
    overview: Signal<Arc<Overview>>,
) -> impl IntoView {
    let names = Memo::new(move |_| {
        overview.with(|overview| {
            overview
                .regions
                .iter()
                .map(|row| row.region.clone())
                .collect::<Vec<_>>()
        })
    });
    view! {
        <div class="scroll" role="region" aria-labelledby="regions-heading" tabindex="0">
            <table class="regions">
                <caption class="unseen">"Admitted and denied per region"</caption>
                <thead>
                    <tr>
                        <th scope="col" rowspan="2">"Region"</th>
                        <th scope="colgroup" colspan="3" class="group">"Admitted"</th>
                        <th scope="colgroup" colspan="3" class="group">"Denied"</th>
                    </tr>
                    <tr>
                        <th scope="col" class="figure">"Calls"</th>
                        <th scope="col" class="figure">"Units"</th>
                        <th scope="col" class="figure">"Calls/s"</th>
                        <th scope="col" class="figure">"Calls"</th>
                        <th scope="col" class="figure">"Units"</th>
                        <th scope="col" class="figure">"Calls/s"</th>
                    </tr>
                </thead>
                <tbody>
                    <For each=move || names.get() key=String::clone let:name>
                        <Region overview name/>
                    </For>
                </tbody>
            </table>
        </div>
    }
}

#[component]
fn Region(overview: Signal<Arc<Overview>>, name: String) -> impl IntoView {
    let region = name.clone();
    let row = Memo::new(move |_| {
        overview.with(|overview| {
            overview
                .regions
                .iter()
                .find(|row| row.region == region)
                .cloned()
        })
    });
    let total = Signal::derive(move || row.with(|row| row.as_ref().and_then(|row| row.total)));
    let rate = Signal::derive(move || row.with(|row| row.as_ref().and_then(|row| row.rate)));
    let out_of_reach =
        Memo::new(move |_| row.with(|row| row.as_ref().is_some_and(is_out_of_reach)));
    view! {
        <tr data-testid="region-row" data-region=name class:lost=move || out_of_reach.get()>
            <th scope="row">
                {name.clone()}
                {move || out_of_reach.get().then(|| view! { <span class="tag warning">"out of reach"</span> })}
            </th>
            <CountCell count=Signal::derive(move || total.get().map(|total| total.admitted_calls))/>
            <CountCell count=Signal::derive(move || total.get().map(|total| total.admitted_units))/>
            <RateCell per_s=Signal::derive(move || rate.get().map(|rate| rate.admitted_calls))/>
            <CountCell count=Signal::derive(move || total.get().map(|total| total.denied_calls))/>
            <CountCell count=Signal::derive(move || total.get().map(|total| total.denied_units))/>
            <RateCell per_s=Signal::derive(move || rate.get().map(|rate| rate.denied_calls)) of_denials=true/>
        </tr>
    }
}

fn is_out_of_reach(row: &RegionRow) -> bool {
    row.total.is_none()
}
