//! Differences: of two documents, and of three.

use leptos::prelude::*;
use serde_json::Value;

use crate::difference::{Row, shown, words};
use crate::rebase::{Meeting, Side};
use crate::visible::visible_lines;

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
    let listed = move || {
        rows.with(|rows| {
            let shown = if all.get() { rows.len() } else { SHOWN };
            rows.iter().take(shown).map(row).collect_view()
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

fn row(row: &Row) -> AnyView {
    view! {
        <tr data-pointer=row.pointer.clone() data-kind=row.kind()>
            <th scope="row" class="pointer">{words(&row.pointer)}</th>
            <td class="value before">{value(row.before.as_ref())}</td>
            <td class="value after">{value(row.after.as_ref())}</td>
        </tr>
    }
    .into_any()
}

/// What two people made of one document at once.
#[component]
pub fn MeetingTable(
    /// The values that either changed.
    #[prop(into)]
    rows: Signal<Vec<Meeting>>,
) -> impl IntoView {
    let all = RwSignal::new(false);
    let listed = move || {
        rows.with(|rows| {
            let shown = if all.get() { rows.len() } else { SHOWN };
            rows.iter().take(shown).map(meeting).collect_view()
        })
    };
    let total = Signal::derive(move || rows.with(Vec::len));
    view! {
        <div data-testid="difference">
            <div class="scroll" tabindex="0" role="region" aria-label="Changes of both">
                <table class="difference">
                    <thead>
                        <tr>
                            <th scope="col">"Value"</th>
                            <th scope="col">"When you began"</th>
                            <th scope="col">"Theirs, saved"</th>
                            <th scope="col">"Yours"</th>
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

fn meeting(row: &Meeting) -> AnyView {
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

/// A value: what is not there, and what is long, look different from what stands there.
fn value(value: Option<&Value>) -> AnyView {
    let text = shown(value);
    match value {
        None | Some(Value::Null) => view! { <span class="muted">{text}</span> }.into_any(),
        Some(Value::Object(_) | Value::Array(_)) => {
            let text = value
                .and_then(|value| serde_json::to_string_pretty(value).ok())
                .map(|pretty| visible_lines(&pretty))
                .unwrap_or(text);
            view! { <pre>{text}</pre> }.into_any()
        }
        Some(_) => text.into_any(),
    }
}
