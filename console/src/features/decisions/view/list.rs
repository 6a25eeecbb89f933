//! The rows of the tail.

use leptos::prelude::*;
use weir_shared::wire::accounting::ANONYMOUS;
use weir_shared::wire::check::Reason;
use weir_shared::wire::operator::decisions::DecisionOutcome;
use weir_shared::wire::operator::live::DecisionSample;

use crate::address::Page;
use crate::clock;
use crate::components::tenant_link::TenantLink;
use crate::components::time::use_time_zone;
use crate::features::decisions::model::filter::{outcome_meaning, outcome_name};
use crate::features::decisions::model::watch::Look;
use crate::instant::{TimeZone, date_time, rfc3339, time_of_day};
use crate::live::tail::{TailEntry, TailEvent};
use crate::reason;
use crate::region_name::region_name;

/// The list. It says when somebody is at it: what is pointed at must not move away.
#[component]
pub fn List(
    /// What is in it.
    look: Memo<Look>,
    /// Whether somebody points at it or has the focus in it.
    at_it: RwSignal<bool>,
) -> impl IntoView {
    let zone = use_time_zone();
    let pointed = RwSignal::new(false);
    let focused = RwSignal::new(false);
    Effect::new(move |_| at_it.set(pointed.get() || focused.get()));
    on_cleanup(move || {
        at_it.try_set(false);
    });
    let zone_name = move || zone.get().suffix(clock::server_ms());
    view! {
        <div
            class="scroll"
            role="region"
            aria-label="Decisions"
            tabindex="0"
            on:pointerenter=move |_| pointed.set(true)
            on:pointerleave=move |_| pointed.set(false)
            on:focusin=move |_| focused.set(true)
            on:focusout=move |_| focused.set(false)
        >
            <table class="decisions cards">
                <caption class="unseen">"Decisions, newest first"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Time, "{zone_name}</th>
                        <th scope="col">"Outcome"</th>
                        <th scope="col">"Tenant"</th>
                        <th scope="col">"Reason"</th>
                        <th scope="col">"Decided by"</th>
                        <th scope="col">"Region"</th>
                    </tr>
                </thead>
                <tbody>
                    <For each=move || look.with(|look| look.rows.clone()) key=|row| row.number let:row>
                        {one(row, zone)}
                    </For>
                </tbody>
            </table>
        </div>
    }
}

fn one(row: TailEntry, zone: Signal<TimeZone>) -> AnyView {
    match row.event {
        TailEvent::Decision(sample) => decision(sample, row.region, zone),
        TailEvent::Gap { at } => view! {
            <tr class="gap" data-testid="gap">
                <td colspan="6">
                    "Missed: what "{row.region}" decided shortly before "{move || date_time(at, zone.get())}
                    " came while there was no connection, and is no longer there."
                </td>
            </tr>
        }
        .into_any(),
    }
}

fn to_the_millisecond(at: u64, zone: TimeZone) -> String {
    format!("{}.{:03}", time_of_day(at, zone), at % 1_000)
}

fn decision(sample: DecisionSample, region: String, zone: Signal<TimeZone>) -> AnyView {
    let at = sample.at.0;
    let outcome = DecisionOutcome::of(&sample);
    let tenant = sample.tenant.unwrap_or_else(|| ANONYMOUS.to_owned());
    let in_words = region_name(&region);
    let named = tenant.clone();
    // The outcome says it already.
    let admitted = outcome == DecisionOutcome::Admitted && sample.reason == Reason::Admitted;
    let words = if admitted {
        ""
    } else {
        reason::name(sample.reason)
    };
    let why = match sample.decision {
        Some(id) => {
            let address = Page::Decision(id).address();
            view! { <a href=address data-testid="why-link">{words}</a> }.into_any()
        }
        None => words.into_any(),
    };
    view! {
        <tr
            data-testid="decision-row"
            data-tenant=named
            data-outcome=outcome.name()
            data-reason=sample.reason.name()
        >
            <td class="instant" data-label="Time"><time datetime=rfc3339(at)>{move || to_the_millisecond(at, zone.get())}</time></td>
            <td data-label="Outcome"><span class=format!("tag {}", outcome.name()) title=outcome_meaning(outcome)>{outcome_name(outcome)}</span></td>
            <th scope="row"><TenantLink tenant/></th>
            <td data-label="Reason" title=(!admitted).then(|| reason::meaning(sample.reason))>{why}</td>
            <td data-label="Decided by">{sample.binding}</td>
            <td data-label="Region" title=in_words>{region}</td>
        </tr>
    }
    .into_any()
}
