//! Where the units of one budget are: drawn as one bar, and as a table of who holds how much.

use leptos::prelude::*;
use weir_shared::limits::STANDING_WINDOWS;
use weir_shared::wire::policy::Outage;

use super::holders::{Holders, Tenants};
use crate::address::Page;
use crate::chart::scale::place as share_of;
use crate::chart::series::Part;
use crate::components::health_word::HealthWord;
use crate::components::spark::{SplitBar, Swatch};
use crate::components::time::Age;
use crate::features::policy::model::words;
use crate::features::regions::model::place::Place;
use crate::format;

/// One budget.
#[component]
pub fn BudgetPlace(
    /// Its name.
    name: String,
    /// Where it is; none once it is gone.
    place: Memo<Option<Place>>,
) -> impl IntoView {
    let address = Page::Budget(name.clone()).address();
    view! {
        <article class="place" data-testid="budget-place" data-budget=name.clone() aria-label=name.clone()>
            <div class="section-head">
                <h3><a href=address>{name.clone()}</a></h3>
                {move || place.get().map(|place| view! { <Facts place/> })}
            </div>
            {move || match place.get() {
                Some(place) if place.is_open() => view! { <Open place/> }.into_any(),
                Some(place) => view! { <p class="muted">{place.closed_words()}</p> }.into_any(),
                None => ().into_any(),
            }}
        </article>
    }
}

/// What the policy says of it, how its coordinator is, and the window.
#[component]
fn Facts(place: Place) -> impl IntoView {
    let body = place.body.as_ref();
    let mode = body.filter(|_| place.coordinator.is_some()).map(|body| {
        let outage = body.outage.unwrap_or(Outage::FailClosed);
        (words::outage(Some(outage)), standing(outage))
    });
    let answer = place.answer_ms.map(|ms| format!(" in {ms} ms"));
    view! {
        <dl class="facts">
            {body.map(|body| view! { <div><dt>"Limit"</dt><dd>{words::limit(body)}</dd></div> })}
            {place.coordinator.map(|health| view! {
                <div><dt>"Coordinator"</dt><dd><HealthWord health/>{answer}</dd></div>
            })}
            {place.own.then(|| view! { <div><dt>"Windows"</dt><dd>"each region has its own"</dd></div> })}
            {place.window.map(|window| view! {
                <div><dt>"Window"</dt><dd>{format::count(window.into())}{place.ends_at.map(ends)}</dd></div>
            })}
            {mode.map(|(mode, meaning)| view! {
                <div><dt>"In an outage"</dt><dd title=meaning>{mode}</dd></div>
            })}
        </dl>
    }
}

fn ends(ends_at: u64) -> impl IntoView {
    view! { <span class="muted">", ends "<Age at=Signal::stored(ends_at)/></span> }
}

/// What the mode comes to.
fn standing(outage: Outage) -> String {
    match outage {
        Outage::FailClosed => {
            "A region that cannot reach the coordinator spends what it holds, and then does as the budget says \
             for what is out of reach."
                .to_owned()
        }
        Outage::RegionalOnly => format!(
            "A region that cannot reach the coordinator also spends slices of the next {STANDING_WINDOWS} windows \
             that it was lent in advance."
        ),
    }
}

/// A budget with an open window.
#[component]
fn Open(place: Place) -> impl IntoView {
    let (parts, limit) = (place.parts(), place.limit as f64);
    let label = described(&place.name, &parts, limit);
    let bar = parts.clone();
    view! {
        <SplitBar parts=Signal::stored(bar) whole=Signal::stored(limit) label=Signal::stored(label)/>
        <ul class="key parts">{parts.into_iter().map(|part| key(part, limit)).collect_view()}</ul>
        {(!place.exact).then(|| view! {
            <p class="muted">
                "The coordinator woke in this window: what it lent before it takes for granted, so that no unit is lent \
                 twice. What is lent is an upper bound until the window ends."
            </p>
        })}
        <Holders place=place.clone()/>
        {(!place.tenants.is_empty()).then(|| view! { <Tenants place/> })}
    }
}

fn key(part: Part, limit: f64) -> impl IntoView {
    let share = format::percent(share_of(part.amount, limit));
    view! {
        <li>
            <Swatch tone=part.tone/>{part.name}" "
            <strong>{format::count(part.amount as u128)}</strong>" units "
            <span class="muted">{share}</span>
        </li>
    }
}

/// The bar in words.
fn described(name: &str, parts: &[Part], limit: f64) -> String {
    let said = parts.iter().map(|part| {
        let share = format::percent(share_of(part.amount, limit));
        format!("{} {share}", part.name)
    });
    let said = said.collect::<Vec<_>>().join(", ");
    format!("Units of {name}: {said}")
}
