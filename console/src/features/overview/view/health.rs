//! How regions and coordinators are, in short; the page of the regions has the rest.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::wire::operator::regions::{CoordinatorStatus, RegionStatus, RegionsReply};

use crate::address::Page;
use crate::components::health_word::HealthWord;
use crate::components::rows::rows;
use crate::components::time::Age;
use crate::context::Console;
use crate::format;
use crate::health::Health;
use crate::region_name::in_full;

/// A row a region, and a row a coordinator.
#[component]
pub fn HealthTables(
    /// The regions, as they answered.
    regions: Signal<Option<Arc<RegionsReply>>>,
) -> impl IntoView {
    let of_regions = Memo::new(move |_| {
        regions.with(|reply| {
            let Some(reply) = reply else {
                return Vec::new();
            };
            let health = |status: &RegionStatus| Health::of_region(status, reply.policy_revision);
            let regions = reply.regions.iter();
            regions
                .map(|status| (status.clone(), health(status)))
                .collect::<Vec<_>>()
        })
    });
    let coordinators = Memo::new(move |_| {
        regions.with(|reply| {
            reply
                .as_ref()
                .map(|reply| reply.coordinators.clone())
                .unwrap_or_default()
        })
    });
    let coordinated =
        Memo::new(move |_| coordinators.with(|coordinators| !coordinators.is_empty()));
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label="Regions and coordinators">
            <table class="cards">
                <thead>
                    <tr>
                        <th scope="col">"Region"</th>
                        <th scope="col">"State"</th>
                        <th scope="col" class="figure">"Answer"</th>
                        <th scope="col" class="figure">"Admitted, calls/s"</th>
                        <th scope="col" class="figure">"Denied, calls/s"</th>
                        <th scope="col">"Last contact"</th>
                    </tr>
                </thead>
                <tbody>{rows(of_regions, |(status, _)| status.region.clone(), region)}</tbody>
                {move || coordinated.get().then(|| view! {
                    <thead>
                        <tr>
                            <th scope="col">"Coordinator of"</th>
                            <th scope="col">"State"</th>
                            <th scope="col" class="figure">"Answer"</th>
                            <th scope="col" class="figure">"Lent, units"</th>
                            <th scope="col" class="figure">"Free, units"</th>
                            <th scope="col">"Window ends"</th>
                        </tr>
                    </thead>
                    <tbody>{rows(coordinators, |status| status.budget.clone(), coordinator)}</tbody>
                })}
            </table>
        </div>
    }
}

fn answer(answer_ms: Option<u64>) -> String {
    answer_ms.map_or_else(
        || format::UNKNOWN.to_owned(),
        |ms| format!("{} ms", format::count(ms.into())),
    )
}

fn region(entry: Memo<(RegionStatus, Health)>) -> AnyView {
    let rates = expect_context::<Console>().live.rates;
    let name = entry.with_untracked(|(status, _)| status.region.clone());
    let of = name.clone();
    let rate = Memo::new(move |_| {
        rates.with(|rates| {
            let per_s = rates.regions.get(&of)?.per_s?;
            Some((per_s.admitted, per_s.denied))
        })
    });
    let home = move || entry.with(|(status, _)| status.home);
    let last = move || match entry.with(|(status, _)| status.last_contact_at) {
        Some(at) => view! { <Age at=Signal::stored(at.0)/> }.into_any(),
        None => format::UNKNOWN.into_any(),
    };
    view! {
        <tr data-testid="region-health" data-region=name.clone()>
            <th scope="row">
                <a href=Page::Region(name.clone()).address()>{in_full(&name)}</a>
                {move || home().then(|| view! { <span class="tag" title="Coordinators, registry and ledgers are placed here.">"home"</span> })}
            </th>
            <td data-label="State">{move || view! { <HealthWord health=entry.with(|(_, health)| *health)/> }}</td>
            <td class="figure" data-label="Answer">{move || entry.with(|(status, _)| answer(status.answer_ms))}</td>
            <td class="figure" data-label="Admitted, calls/s">{move || format::rate(rate.get().map(|rate| rate.0))}</td>
            <td class="figure" data-label="Denied, calls/s">{move || format::rate(rate.get().map(|rate| rate.1))}</td>
            <td data-label="Last contact">{last}</td>
        </tr>
    }
    .into_any()
}

fn coordinator(entry: Memo<CoordinatorStatus>) -> AnyView {
    let name = entry.with_untracked(|status| status.budget.clone());
    let address = Page::Budget(name.clone()).address();
    view! {
        <tr data-testid="coordinator-health" data-budget=name.clone()>
            <th scope="row"><a href=address>{name.clone()}</a></th>
            {move || entry.with(coordinator_cells)}
        </tr>
    }
    .into_any()
}

fn coordinator_cells(status: &CoordinatorStatus) -> impl IntoView + use<> {
    let open = status.window.is_some();
    let units = |units: u64| match open {
        true => format::count(units.into()),
        false => format::UNKNOWN.to_owned(),
    };
    let ends_at = status.ends_at.filter(|_| open);
    view! {
        <td data-label="State"><HealthWord health=Health::of_coordinator(status)/></td>
        <td class="figure" data-label="Answer">{answer(status.answer_ms)}</td>
        <td class="figure" data-label="Lent, units">{(!status.exact && open).then_some("≤ ")}{units(status.lent_total)}</td>
        <td class="figure" data-label="Free, units">{units(status.free)}</td>
        <td data-label="Window ends">{match ends_at {
            Some(at) => view! { <Age at=Signal::stored(at.0)/> }.into_any(),
            None => format::UNKNOWN.into_any(),
        }}</td>
    }
}
