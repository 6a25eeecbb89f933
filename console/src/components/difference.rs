//! Differences: of two documents, and of three.

use leptos::prelude::*;
use serde_json::Value;
use weir_shared::wire::audit::AuditOutcome;

use crate::api::Client;
use crate::api::ask::AuditAsk;
use crate::components::time::use_time_zone;
use crate::context::Console;
use crate::difference::{Row, lines_at, shown_at, words};
use crate::fetched::{Follow, fetched};
use crate::instant::TimeZone;
use crate::rebase::{Meeting, Side, saved_by};

/// Rows that are shown before the rest is asked for.
const SHOWN: usize = 40;

/// What differs between two documents.
#[component]
pub fn DifferenceTable(
    /// The values that differ.
    #[prop(into)]
    rows: Signal<Vec<Row>>,
) -> impl IntoView {
    let all = RwSignal::new(false);
    let zone = use_time_zone();
    let listed = move || {
        rows.with(|rows| {
            let shown = if all.get() { rows.len() } else { SHOWN };
            let zone = zone.get();
            rows.iter()
                .take(shown)
                .map(|one| row(one, zone))
                .collect_view()
        })
    };
    let total = Signal::derive(move || rows.with(Vec::len));
    let body = move || {
        if total.get() == 0 {
            return view! { <p class="muted">"Nothing differs."</p> }.into_any();
        }
        view! {
            <div class="scroll" tabindex="0" role="region" aria-label="Difference">
                <table class="difference">
                    <thead>
                        <tr>
                            <th scope="col">"Value"</th>
                            <th scope="col">"Before"</th>
                            <th scope="col">"After"</th>
                        </tr>
                    </thead>
                    <tbody>{listed}</tbody>
                </table>
            </div>
        }
        .into_any()
    };
    view! {
        <div data-testid="difference">
            {body}
            <More all total/>
        </div>
    }
}

fn row(row: &Row, zone: TimeZone) -> AnyView {
    let value = |side: Option<&Value>| value(&row.pointer, side, zone);
    view! {
        <tr data-pointer=row.pointer.clone() data-kind=row.kind()>
            <th scope="row" class="pointer">{words(&row.pointer)}</th>
            <td class="value before">{value(row.before.as_ref())}</td>
            <td class="value after">{value(row.after.as_ref())}</td>
        </tr>
    }
    .into_any()
}

/// Records among which the change that was met is looked for: a login may be newer.
const LOOKED_THROUGH: u64 = 20;

/// Who saved what was met, once that is known.
fn saver() -> AnyView {
    let console = expect_context::<Console>();
    let ask = AuditAsk {
        limit: LOOKED_THROUGH,
        outcome: Some(AuditOutcome::Done),
        ..AuditAsk::default()
    };
    let log = fetched(
        move || {
            let ask = ask.clone();
            async move { Client.audit_as_it_is(&ask).await }
        },
        Follow::Once,
    );
    let said = move || {
        let me = console
            .session
            .with(|session| Some(session.as_ref()?.name.clone()))?;
        let said = log.value.with(|log| saved_by(log.as_ref()?, &me))?;
        Some(view! { <p class="said" data-testid="saved-by">{said}</p> })
    };
    view! { {said} }.into_any()
}

/// What was made of one document here and elsewhere at once.
#[component]
pub fn MeetingTable(
    /// The values that either changed.
    #[prop(into)]
    rows: Signal<Vec<Meeting>>,
) -> impl IntoView {
    let all = RwSignal::new(false);
    let zone = use_time_zone();
    let listed = move || {
        rows.with(|rows| {
            let shown = if all.get() { rows.len() } else { SHOWN };
            let zone = zone.get();
            rows.iter()
                .take(shown)
                .map(|one| meeting(one, zone))
                .collect_view()
        })
    };
    let total = Signal::derive(move || rows.with(Vec::len));
    view! {
        <div data-testid="difference">
            {saver()}
            <div class="scroll" tabindex="0" role="region" aria-label="Changes of both">
                <table class="difference">
                    <thead>
                        <tr>
                            <th scope="col">"Value"</th>
                            <th scope="col">"When you began"</th>
                            <th scope="col">"Saved elsewhere"</th>
                            <th scope="col">"Here"</th>
                            <th scope="col">"Who"</th>
                        </tr>
                    </thead>
                    <tbody>{listed}</tbody>
                </table>
            </div>
            <More all total/>
        </div>
    }
}

fn meeting(row: &Meeting, zone: TimeZone) -> AnyView {
    let value = |side: Option<&Value>| value(&row.pointer, side, zone);
    let clash = row.side == Side::Clash;
    view! {
        <tr data-pointer=row.pointer.clone() class:clash=clash>
            <th scope="row" class="pointer">{words(&row.pointer)}</th>
            <td class="value">{value(row.base.as_ref())}</td>
            <td class="value">{value(row.theirs.as_ref())}</td>
            <td class="value">{value(row.mine.as_ref())}</td>
            <td>{row.side.label()}</td>
        </tr>
    }
    .into_any()
}

#[component]
fn More(all: RwSignal<bool>, total: Signal<usize>) -> impl IntoView {
    let more = move || {
        (total.get() > SHOWN && !all.get()).then(|| {
            let text = format!("Show all {}", crate::format::counted(total.get(), "value"));
            view! { <button type="button" on:click=move |_| all.set(true)>{text}</button> }
        })
    };
    view! { {more} }
}

/// A value: what is not there, and what has several parts, look different from what stands there.
fn value(pointer: &str, value: Option<&Value>, zone: TimeZone) -> AnyView {
    let text = shown_at(pointer, value, zone);
    match value {
        None | Some(Value::Null) => view! { <span class="muted">{text}</span> }.into_any(),
        Some(value) => match lines_at(pointer, value, zone) {
            Some(lines) => {
                let line = |text: String| view! { <li>{text}</li> };
                view! { <ul class="value-lines">{lines.into_iter().map(line).collect_view()}</ul> }
                    .into_any()
            }
            None => text.into_any(),
        },
    }
}
