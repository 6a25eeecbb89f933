//! Why the tenant was denied: what decided, the arithmetic, and when a request can pass.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::policy::Policy;
use weir_shared::wire::operator::series::WindowsView;
use weir_shared::wire::windows::{WindowRecord, WindowTenant};

use super::choose::ChooseWhat;
use super::tenant::Tenant;
use crate::address::Page;
use crate::api::Client;
use crate::api::ask::WindowsAsk;
use crate::clock;
use crate::components::explain::Explain;
use crate::components::states::States;
use crate::components::time::Time;
use crate::features::policy::model::validate::policy_of;
use crate::features::tenant::model::bound::{self, Stretch};
use crate::features::tenant::model::counted::{last_denial, last_denial_at};
use crate::features::tenant::model::explanation::{Explanation, Step};
use crate::features::tenant::model::reach::Reach;
use crate::features::tenant::model::share;
use crate::fetched::{Follow, fetched};
use crate::format::{count, counted_weight, weight};
use crate::glossary::Term;
use crate::region_name::in_full;
use crate::tenant_name::TenantName;
use crate::what::{Kind, What, choices};

/// Windows of a budget that are looked through.
const WINDOWS: u64 = 40;

/// Others that are listed beside the tenant.
const OTHERS_SHOWN: usize = 10;

/// The question and its answer.
#[component]
pub fn WhyDenied(
    /// The page.
    page: Tenant,
) -> impl IntoView {
    let policy = fetched(|| Client.policy(), Follow::Once);
    let options = Signal::derive(move || {
        let policy = policy.value.get();
        policy
            .map(|policy| choices(&policy.body))
            .unwrap_or_default()
    });
    let last = Memo::new(move |_| page.series.value.get().and_then(|view| last_denial(&view)));
    let what = Memo::new(move |_| {
        let asked = page.query.with(|query| query.what.clone());
        asked
            .or_else(|| last.with(|last| last.as_ref().map(|(what, _)| what.clone())))
            .or_else(|| options.with(|options| options.first().cloned()))
    });
    let choose = Callback::new(move |what: What| page.ask(|query| query.what = Some(what)));
    let compiled = Memo::new(move |_| {
        let policy = policy.value.get()?;
        policy_of(&policy.body).ok().map(Arc::new)
    });
    let ready = Signal::derive(move || page.series.ready().get() && policy.ready().get());
    let error = Signal::derive(move || page.series.error.get().or_else(|| policy.error.get()));
    let retry = Callback::new(move |()| {
        page.series.refresh();
        policy.refresh();
    });
    let default = Signal::derive(move || {
        page.query.with(|query| query.what.is_none()) && last.with(Option::is_some)
    });
    view! {
        <section aria-labelledby="why-heading" data-testid="why-denied">
            <div class="section-head">
                <h2 id="why-heading">"Why was it denied?"</h2>
                <div class="filters">
                    <ChooseWhat options value=what.into() choose testid="why-what"/>
                </div>
            </div>
            <States ready error retry>
                {move || default.get().then(|| view! {
                    <p class="muted">"The last denial in this range."</p>
                })}
                {move || match what.get() {
                    Some(what) if what.kind == Kind::Budget => view! { <OfBudget page name=what.name compiled/> }.into_any(),
                    Some(what) => {
                        let explained = move || {
                            let policy = policy.value.get()?;
                            let view = page.series.value.get()?;
                            let interval = last_denial_at(&view, &what)?;
                            let stretch = Stretch { interval, step_ms: view.step_ms };
                            let told = page.told();
                            let effective = told.as_ref().and_then(|told| told.body.effective.as_ref());
                            let name = &what.name;
                            let answer = match what.kind {
                                Kind::Limit => bound::limit(name, policy.body.limits.get(name)?, effective, &stretch),
                                Kind::Meter => bound::meter(name, effective?.meters.get(name)?, &stretch),
                                Kind::Guard => bound::guard(name, effective?.guards.get(name)?, &stretch),
                                Kind::Budget | Kind::Overload => {
                                    let own = effective?.overload.get(name)?.weight.value.0;
                                    bound::overload(name, own, &stretch)
                                }
                            };
                            Some((answer, interval.at_ms))
                        };
                        view! { {move || answer_or_none(explained())} }.into_any()
                    }
                    None => view! { <NoDenial/> }.into_any(),
                }}
            </States>
        </section>
    }
}

fn answer_or_none(explained: Option<(Explanation, u64)>) -> AnyView {
    match explained {
        Some((explanation, at_ms)) => view! {
            <p class="muted">"In the interval from "<Time at=Signal::stored(at_ms)/></p>
            <Answer explanation/>
        }
        .into_any(),
        None => view! { <NoDenial/> }.into_any(),
    }
}

#[component]
fn NoDenial() -> impl IntoView {
    view! {
        <p class="state" data-testid="state-empty">
            "Nothing was denied here in this range. Choose something else, or a longer range."
        </p>
    }
}

/// The answer for a budget: from its recorded windows.
#[component]
fn OfBudget(page: Tenant, name: String, compiled: Memo<Option<Arc<Policy>>>) -> impl IntoView {
    let budget = StoredValue::new(name);
    let windows = fetched(
        move || {
            let (from, to) = page.range.get().span(clock::server_ms());
            let ask = WindowsAsk {
                page: 1,
                page_size: WINDOWS,
                from: Some(from),
                // The window that is open ends later.
                to: (!page.range.get().is_live()).then_some(to),
            };
            async move { Client.windows(&budget.get_value(), &ask).await }
        },
        Follow::Calm,
    );
    let record = Memo::new(move |_| {
        let view: Option<Arc<WindowsView>> = windows.value.get();
        let view = view?;
        page.name
            .with_value(|name| share::telling(&view.windows, name).cloned())
    });
    let explained = Memo::new(move |_| {
        let policy = compiled.get()?;
        let record = record.get()?;
        let now_ms = clock::server_ms();
        page.name
            .with_value(|name| share::explain(&policy, &record, name, now_ms))
    });
    let found = Memo::new(move |_| explained.with(Option::is_some));
    let reach = Memo::new(move |_| {
        let view = windows.value.get()?;
        let policy = compiled.get()?;
        let window_ms = budget
            .with_value(|budget| policy.budgets.get(budget))?
            .window_ms;
        Reach::of(&view, window_ms, page.range.get(), clock::server_ms())
    });
    let reached = move || {
        let reach = reach.get()?;
        Some(view! { <p class="muted" data-testid="reach">{reach.words()}</p> })
    };
    view! {
        <States ready=windows.ready() error=windows.error retry=windows.retry()>
            {reached}
            {move || if found.get() {
                view! {
                    {move || record.get().map(|record| view! { <Window record/> })}
                    {move || explained.get().map(|explanation| view! { <Answer explanation/> })}
                    {move || record.get().map(|record| view! { <Others record own=page.name.get_value()/> })}
                }.into_any()
            } else {
                view! {
                    <p class="state" data-testid="state-empty">
                        "No window of this budget in this range names the tenant. A record keeps those that asked for most \
                         by name, and the others together."
                    </p>
                }.into_any()
            }}
        </States>
    }
}

#[component]
fn Window(record: WindowRecord) -> impl IntoView {
    let address = Page::Budget(record.budget.clone()).address();
    view! {
        <p class="muted">
            "Window "<span class="figure">{record.label.0}</span>" of "<a href=address>{record.budget}</a>
            {record.region.map(|region| format!(" in {}", in_full(&region)))}
            {if record.complete { ", ended " } else { ", ends " }}<Time at=Signal::stored(record.ends_at.0)/>
        </p>
    }
}

/// The answer: a sentence, the arithmetic, and when it can pass.
#[component]
fn Answer(explanation: Explanation) -> impl IntoView {
    let line = |step: Step| {
        let term = step.term();
        view! {
            <tr class:binding=step.binding>
                <th scope="row">
                    {step.label}{term.map(|term| view! { <Explain term/> })}{step.binding.then(|| view! { " "<span class="tag">"decided"</span> })}
                </th>
                <td class="formula">{step.formula}</td>
                <td class="figure">{step.value}</td>
                <td class="unit">{step.unit}</td>
            </tr>
        }
    };
    view! {
        <div class="answer">
            <p class="headline" data-testid="headline">{explanation.headline}</p>
            <div class="scroll" role="region" aria-label="The arithmetic" tabindex="0">
                <table class="plain arithmetic" data-testid="arithmetic">
                    <thead>
                        <tr>
                            <th scope="col">"Figure"</th><th scope="col">"How it comes about"</th>
                            <th scope="col" class="figure">"Value"</th><th scope="col">"Unit"</th>
                        </tr>
                    </thead>
                    <tbody>{explanation.steps.into_iter().map(line).collect_view()}</tbody>
                </table>
            </div>
            <p data-testid="can-pass"><strong>"When can it pass? "</strong>{explanation.can_pass}</p>
            {explanation.notes.into_iter().map(|note| view! { <p class="muted">{note}</p> }).collect_view()}
        </div>
    }
}

/// What the others have of the window.
#[component]
fn Others(record: WindowRecord, own: String) -> impl IntoView {
    let hidden = record.tenants.len().saturating_sub(OTHERS_SHOWN);
    let mut listed: Vec<WindowTenant> = record.tenants;
    // Its own line is there, however little it asked for.
    let place = listed.iter().position(|one| one.tenant == own);
    if let Some(place) = place.filter(|place| *place >= OTHERS_SHOWN) {
        listed.swap(place, OTHERS_SHOWN - 1);
    }
    listed.truncate(OTHERS_SHOWN);
    let line = move |one: WindowTenant| {
        let told = TenantName::of(&one.tenant);
        let label = told.label();
        let name = if one.tenant == own {
            view! { <strong>{label}</strong> }.into_any()
        } else if told.is_named() {
            let address = Page::Tenant(one.tenant.clone()).address();
            view! { <a href=address>{label}</a> }.into_any()
        } else {
            view! { <em>{label}</em> }.into_any()
        };
        view! {
            <tr>
                <th scope="row">{name}</th>
                <td class="figure">{match one.parent {
                    None => counted_weight(one.weight.0, one.counted_weight()),
                    Some(_) => weight(one.weight.0),
                }}</td>
                <td class="figure">{count(one.entitlement.into())}</td>
                <td class="figure">{count(one.served.0)}</td>
                <td class="figure">{count(one.borrowed.0)}</td>
                <td class="figure">{count(one.denied.0)}</td>
            </tr>
        }
    };
    view! {
        <h3 id="others-heading">"Who had what of this window"</h3>
        <div class="scroll" role="region" aria-labelledby="others-heading" tabindex="0">
            <table class="plain">
                <thead>
                    <tr>
                        <th scope="col">"Tenant"</th>
                        <th scope="col" class="figure">"Weight"<Explain term=Term::Weight/></th>
                        <th scope="col" class="figure">"Guarantee"<Explain term=Term::Guarantee/><small>"units"</small></th>
                        <th scope="col" class="figure">"Used"<small>"units"</small></th>
                        <th scope="col" class="figure">"Borrowed"<Explain term=Term::Borrowed/><small>"units"</small></th>
                        <th scope="col" class="figure">"Denied"<small>"units"</small></th>
                    </tr>
                </thead>
                <tbody>{listed.into_iter().map(line).collect_view()}</tbody>
            </table>
        </div>
        {(hidden > 0).then(|| view! { <p class="muted">{format!("{hidden} more are not listed.")}</p> })}
    }
}
