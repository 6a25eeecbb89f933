//! How the regions are: a row each.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::units::Revision;
use weir_shared::wire::operator::regions::{RegionStatus, RegionsReply};

use crate::address::Page;
use crate::components::explain::Explain;
use crate::components::health_word::HealthWord;
use crate::components::spark::Sparkline;
use crate::components::time::Age;
use crate::context::Console;
use crate::features::regions::model::place::isolates;
use crate::format;
use crate::glossary::Term;
use crate::health::Health;
use crate::live::rates::CallsPerS;
use crate::region_name::in_full;

/// A row a region, in the policy's order.
#[component]
pub fn HealthTable(
    /// The regions, as they answered.
    regions: Signal<Option<Arc<RegionsReply>>>,
) -> impl IntoView {
    let rows = move || {
        let reply = regions.get()?;
        let row =
            |status: &RegionStatus| view! { <Row status=status.clone() reply=Arc::clone(&reply)/> };
        Some(reply.regions.iter().map(row).collect_view())
    };
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label="Regions">
            <table class="cards roomy">
                <thead>
                    <tr>
                        <th scope="col">"Region"</th>
                        <th scope="col">"State"</th>
                        <th scope="col">"Last contact"</th>
                        <th scope="col" class="figure">"Answer, ms"</th>
                        <th scope="col" class="figure">"Policy, revision"</th>
                        <th scope="col" class="figure">"Isolates"<Explain term=Term::Isolate/></th>
                        <th scope="col" class="figure">"Admitted, calls/s"</th>
                        <th scope="col" class="figure">"Denied, calls/s"</th>
                        <th scope="col">"Admitted, last 2 min"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
}

#[component]
fn Row(status: RegionStatus, reply: Arc<RegionsReply>) -> impl IntoView {
    let health = Health::of_region(&status, reply.policy_revision);
    let name = status.region.clone();
    let number = |value: Option<u64>| {
        value.map_or_else(
            || format::UNKNOWN.to_owned(),
            |value| format::count(value.into()),
        )
    };
    let applied = status
        .policy_revision
        .filter(|applied| *applied > Revision(0));
    let tag = |shown: bool, word: &'static str, meaning: &'static str| {
        shown.then(|| view! { <span class="tag" title=meaning>{word}</span> })
    };
    view! {
        <tr data-testid="region-row" data-region=name.clone() class:lost=!status.reachable>
            <th scope="row">
                <a href=Page::Region(name.clone()).address()>{in_full(&name)}</a>
                {tag(status.home, "home", "Coordinators, registry and ledgers are placed here.")}
                {tag(reply.here == name, "here", "Requests from your location are decided here.")}
            </th>
            <td data-label="State"><HealthWord health/></td>
            <td data-label="Last contact">{match status.last_contact_at {
                Some(at) => view! { <Age at=Signal::stored(at.0)/> }.into_any(),
                None => view! { <span class="muted">"none yet"</span> }.into_any(),
            }}</td>
            <td data-label="Answer, ms" class="figure">{number(status.answer_ms)}</td>
            <td data-label="Policy, revision" class="figure">{number(applied.map(|applied| applied.0))}</td>
            <td data-label="Isolates" class="figure">{number(isolates(&reply, &name))}</td>
            <LiveCells region=name.clone()/>
        </tr>
    }
}

/// What goes through it now.
#[component]
fn LiveCells(region: String) -> impl IntoView {
    let rates = expect_context::<Console>().live.rates;
    let rates = Memo::new(move |_| rates.with(|rates| rates.regions.get(&region).cloned()));
    let rate = move |of: fn(CallsPerS) -> f64| {
        format::rate(rates.with(|rates| rates.as_ref()?.per_s.map(of)))
    };
    let admitted = Signal::derive(move || {
        rates.with(|rates| {
            let measured = rates.iter().filter(|rates| rates.per_s.is_some());
            let seconds = measured.flat_map(|rates| &rates.history);
            seconds
                .map(|second| second.admitted as f64)
                .collect::<Vec<_>>()
        })
    });
    view! {
        <td data-label="Admitted, calls/s" class="figure">{move || rate(|per_s| per_s.admitted)}</td>
        <td data-label="Denied, calls/s" class="figure">{move || rate(|per_s| per_s.denied)}</td>
        <td data-label="Admitted, last 2 min"><Sparkline values=admitted/></td>
    }
}
