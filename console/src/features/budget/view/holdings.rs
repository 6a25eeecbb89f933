//! Where the units of a budget's open window are, by region.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::wire::operator::regions::RegionsReply;

use crate::address::Page;
use crate::chart::series::{Part, Tone};
use crate::components::explain::Explain;
use crate::components::health_word::HealthWord;
use crate::components::spark::{SplitBar, Swatch};
use crate::components::time::Age;
use crate::features::budget::model::holdings::{Holdings, RegionHolding};
use crate::format;
use crate::glossary::Term;
use crate::health::Health;
use crate::region_name::in_full;

/// A bar of the whole window, and a row a region.
#[component]
pub fn BudgetHoldings(
    /// The regions and coordinators.
    regions: Signal<Option<Arc<RegionsReply>>>,
    /// The budget.
    #[prop(into)]
    budget: Signal<String>,
) -> impl IntoView {
    let told = Memo::new(move |_| {
        regions.with(|reply| {
            let reply = reply.as_ref();
            reply
                .map(|reply| budget.with(|budget| Holdings::of(reply, budget)))
                .unwrap_or_default()
        })
    });
    let parts = Signal::derive(move || told.with(parts));
    let whole = Signal::derive(move || told.with(|told| told.limit as f64));
    let label = Signal::derive(move || told.with(in_words));
    let rows = move || {
        told.with(|told| {
            let regions = told.regions.iter().enumerate();
            regions
                .map(|(index, region)| row(index, region))
                .collect_view()
        })
    };
    view! {
        <p class="said">{label}</p>
        {move || told.with(Holdings::is_open).then(|| view! { <SplitBar parts whole label/> })}
        <div class="scroll" tabindex="0" role="region" aria-label="Units by region">
            <table class="cards" data-testid="holdings">
                <thead>
                    <tr>
                        <th scope="col">"Region"</th>
                        <th scope="col">"State"</th>
                        <th scope="col" class="figure">"Held, units"<Explain term=Term::Holder/></th>
                        <th scope="col" class="figure">"Leased to isolates, units"<Explain term=Term::Leased/></th>
                        <th scope="col" class="figure">"In escrow, units"<Explain term=Term::Escrow/></th>
                        <th scope="col" class="figure">"Isolates"<Explain term=Term::Isolate/></th>
                        <th scope="col">"Last contact"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
                <tfoot>{move || told.with(foot)}</tfoot>
            </table>
        </div>
    }
}

fn parts(told: &Holdings) -> Vec<Part> {
    let regions = told.regions.iter().enumerate();
    let mut parts: Vec<Part> = regions
        .map(|(index, region)| Part {
            name: in_full(&region.region),
            tone: Tone::nth(index),
            amount: if told.own { region.leased } else { region.held } as f64,
        })
        .collect();
    parts.push(Part {
        name: "holder not known".to_owned(),
        tone: Tone::FREE,
        amount: told.unplaced as f64,
    });
    parts
}

fn in_words(told: &Holdings) -> String {
    let units = |units: u64| format::count(units.into());
    if !told.is_open() {
        return match told.coordinator {
            Some(false) => {
                "The coordinator does not answer: what regions hold they may spend.".to_owned()
            }
            _ => "No window is open: nobody has asked for this budget recently.".to_owned(),
        };
    }
    let out = told.limit.saturating_sub(told.free);
    if told.own {
        return format!(
            "Each region has windows of its own: {} of {} units are leased to isolates.",
            units(out),
            units(told.limit)
        );
    }
    let known = if told.exact { "" } else { " at most" };
    format!(
        "The coordinator has lent{known} {} of {} units to regions; {} are free.",
        units(out),
        units(told.limit),
        units(told.free)
    )
}

fn row(index: usize, region: &RegionHolding) -> impl IntoView + use<> {
    let units = |units: u64| format::count(units.into());
    let health = match (region.reachable, region.outage) {
        (false, _) => Health::Lost,
        (true, true) => Health::CutOff,
        (true, false) if region.held == 0 => Health::Idle,
        (true, false) => Health::Good,
    };
    let address = Page::Region(region.region.clone()).address();
    view! {
        <tr data-testid="holding" data-region=region.region.clone()>
            <th scope="row"><Swatch tone=Tone::nth(index)/>" "<a href=address>{in_full(&region.region)}</a></th>
            <td data-label="State"><HealthWord health/></td>
            <td data-label="Held, units" class="figure">{units(region.held)}</td>
            <td data-label="Leased to isolates, units" class="figure">{units(region.leased)}</td>
            <td data-label="In escrow, units" class="figure">{units(region.kept())}</td>
            <td data-label="Isolates" class="figure">{units(region.isolates)}</td>
            <td data-label="Last contact">{match region.last_contact_at {
                Some(at) => view! { <Age at=Signal::stored(at)/> }.into_any(),
                None => format::UNKNOWN.into_any(),
            }}</td>
        </tr>
    }
}

fn foot(told: &Holdings) -> impl IntoView + use<> {
    let row = |name: &'static str, units: u64| {
        view! {
            <tr>
                <th scope="row">{name}</th>
                <td></td>
                <td class="figure">{format::count(units.into())}</td>
                <td colspan="4"></td>
            </tr>
        }
    };
    (!told.own && told.is_open()).then(|| {
        view! {
            {(told.unplaced > 0).then(|| row("Holder not known", told.unplaced))}
            {row("Free at the coordinator", told.free)}
        }
    })
}
