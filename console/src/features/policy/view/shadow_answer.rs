//! What a rule in shadow mode would have denied: on the rule itself, and beside decisions.

use leptos::prelude::*;
use weir_shared::limits::{DAY_MS, HOUR_MS, MINUTE_MS};

use crate::address::Page;
use crate::api::Client;
use crate::api::ask::{FairnessAsk, SeriesAsk};
use crate::clock;
use crate::components::states::States;
use crate::components::tenant_link::TenantLink;
use crate::features::policy::model::section::Section;
use crate::fetched::{Follow, fetched};
use crate::format::count;
use crate::situation::shadow::{Shadowed, rules, tenants};
use crate::what::{Kind, What};

/// How far off the time may be from which on a day is counted: a rule may have been put in shadow mode a moment ago.
const DAY_STEP_MS: u64 = 5 * MINUTE_MS;

/// Tenants that are looked through for those whom it would have denied most.
const TENANTS: u64 = 200;

/// Of one rule, in the last day, with whom it would have hit.
#[component]
pub fn ShadowAnswer(
    /// The rule.
    what: What,
) -> impl IntoView {
    let asked = what.clone();
    let series = fetched(
        move || {
            let now_ms = clock::server_ms();
            let ask = asked.of(SeriesAsk {
                from: Some(now_ms.saturating_sub(DAY_MS)),
                to: Some(now_ms),
                step_ms: Some(DAY_STEP_MS),
                ..SeriesAsk::default()
            });
            async move { Client.series(&ask).await }
        },
        Follow::Calm,
    );
    let report = fetched(
        || {
            let ask = FairnessAsk {
                page: 1,
                page_size: TENANTS,
                sort: Some("-calls".to_owned()),
                ..FairnessAsk::default()
            };
            async move { Client.fairness(&ask).await }
        },
        Follow::Calm,
    );
    let of = what.clone();
    let words = move || {
        let view = series.value.get();
        view.map(|view| Shadowed::of(&view, &of).words("the last 24 hours"))
    };
    let hit = Memo::new(move |_| {
        report.value.with(|report| {
            report
                .as_ref()
                .map(|report| tenants(report, &what))
                .unwrap_or_default()
        })
    });
    let named = move || {
        let hit = hit.get();
        (!hit.is_empty()).then(|| {
            let one = |(tenant, calls): (String, u128)| {
                view! { <li><TenantLink tenant/>" "<span class="muted">{format!("{} calls", count(calls))}</span></li> }
            };
            view! {
                <p>"Those it would have denied most, since counting began:"</p>
                <ul class="inline-list">{hit.into_iter().map(one).collect_view()}</ul>
            }
        })
    };
    view! {
        <section class="answer-box" aria-label="What would it have denied?" data-testid="shadow-answer">
            <h4>"What would it have denied?"</h4>
            <States ready=series.ready() error=series.error retry=series.retry()>
                <p>{words.clone()}</p>
                {named}
            </States>
        </section>
    }
}

/// Of every rule of the policy that is in shadow mode, in the last hour.
#[component]
pub fn ShadowRules() -> impl IntoView {
    let policy = fetched(|| Client.policy(), Follow::Once);
    let series = fetched(
        || {
            let now_ms = clock::server_ms();
            let ask = SeriesAsk {
                from: Some(now_ms.saturating_sub(HOUR_MS)),
                to: Some(now_ms),
                ..SeriesAsk::default()
            };
            async move { Client.series(&ask).await }
        },
        Follow::Calm,
    );
    let told = Memo::new(move |_| {
        let (policy, view) = (policy.value.get()?, series.value.get()?);
        let each = rules(&policy.body).into_iter();
        Some(
            each.map(|what| Shadowed::of(&view, &what))
                .collect::<Vec<_>>(),
        )
    });
    let ready = Signal::derive(move || told.with(Option::is_some));
    let error = Signal::derive(move || series.error.get().or_else(|| policy.error.get()));
    let empty = Signal::derive(move || {
        told.with(|told| told.as_ref().is_some_and(Vec::is_empty))
            .then(|| "No rule of the policy is in shadow mode. A rule with “Shadow” decides and counts, and denies nothing.".to_owned())
    });
    let line = |one: Shadowed| {
        let section = match one.what.kind {
            Kind::Budget => Section::Budgets,
            Kind::Limit => Section::Limits,
            Kind::Meter => Section::Meters,
            Kind::Guard => Section::Guards,
            Kind::Overload => Section::Overload,
        };
        let address = section.address(section.entries().map(|_| &*one.what.name));
        let words = one.words("the last hour");
        view! { <li><a href=address>{one.what.words()}</a>": "{words}</li> }
    };
    view! {
        <section class="answer-box" aria-label="Rules in shadow mode" data-testid="shadow-rules">
            <h2>"Rules in shadow mode"</h2>
            <States ready error retry=series.retry() empty>
                <ul class="culprits">{move || told.get().unwrap_or_default().into_iter().map(line).collect_view()}</ul>
            </States>
            <p class="muted">"All outcomes over time stand on the "<a href=Page::Overview.address()>"Overview"</a>"."</p>
        </section>
    }
}
