//! Records of the audit log, each opened in its place.

use std::sync::Arc;

use leptos::prelude::*;
use leptos_router::hooks::use_navigate;
use weir_shared::wire::audit::{AuditEntry, AuditOutcome};
use weir_shared::wire::operator::audit::AuditReply;

use super::log::Log;
use super::record::RecordDetail;
use crate::components::time::Time;
use crate::features::activity::model::actions::{label, summary, target};
use crate::features::activity::model::noise::{Line, lines, words};
use crate::features::activity::model::query::ActivityQuery;
use crate::features::activity::model::revert::reverts;
use crate::format;
use crate::query_address::within_page;
use crate::visible::visible;

/// The records of one page, newest first.
#[component]
pub fn Records(
    /// The page.
    #[prop(into)]
    reply: Signal<Option<Arc<AuditReply>>>,
    /// The log.
    log: Log,
) -> impl IntoView {
    let query = log.query;
    let open = Memo::new(move |_| query.with(|query| query.record));
    // Who asks for logins wants to see them.
    let folds = Memo::new(move |_| query.with(|query| query.action.is_empty()));
    let listed = move || {
        reply.with(|reply| {
            let records = reply.as_ref().map_or(&[][..], |reply| &reply.records);
            if folds.get() {
                lines(records, open.get())
            } else {
                records
                    .iter()
                    .cloned()
                    .map(Box::new)
                    .map(Line::One)
                    .collect()
            }
        })
    };
    let key = |line: &Line| match line {
        Line::One(entry) => (entry.record.sequence, 0),
        Line::Routine(entries) => (line.number(), entries.len()),
    };
    let build = move |line: Line| match line {
        Line::One(entry) => view! { <OneRecord entry=*entry log/> }.into_any(),
        Line::Routine(entries) => view! { <Routine entries log/> }.into_any(),
    };
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label="Audit log">
            <table class="records cards">
                <thead>
                    <tr>
                        <th scope="col">"Record"</th>
                        <th scope="col">"Time"</th>
                        <th scope="col">"Who"</th>
                        <th scope="col">"Action"</th>
                        <th scope="col">"Target"</th>
                        <th scope="col">"Change"</th>
                        <th scope="col">"Outcome"</th>
                    </tr>
                </thead>
                <tbody>
                    <For each=listed key=key children=build/>
                </tbody>
            </table>
        </div>
    }
}

/// Records of routine in one line, which opens them.
#[component]
fn Routine(entries: Vec<AuditEntry>, log: Log) -> impl IntoView {
    let open = RwSignal::new(false);
    let text = words(&entries);
    let entries = StoredValue::new(entries);
    let all = move || {
        open.get().then(|| {
            let one = |entry| view! { <OneRecord entry log/> };
            entries.get_value().into_iter().map(one).collect_view()
        })
    };
    view! {
        <tr class="routine" data-testid="routine">
            <td colspan="7">
                <button
                    type="button"
                    class="open"
                    data-testid="open-routine"
                    aria-expanded=move || open.get().to_string()
                    on:click=move |_| open.update(|open| *open = !*open)
                >
                    <span class="chevron" aria-hidden="true">"›"</span>{text}
                </button>
            </td>
        </tr>
        {all}
    }
}

#[component]
fn OneRecord(entry: AuditEntry, log: Log) -> impl IntoView {
    let query = log.query;
    let navigate = use_navigate();
    let record = entry.record.clone();
    let sequence = record.sequence;
    let open = Memo::new(move |_| query.with(|query| query.record == Some(sequence)));
    let toggle = move |_| {
        let record = (!open.get_untracked()).then_some(sequence);
        let next = ActivityQuery {
            record,
            ..query.get_untracked()
        };
        navigate(&next.address(), within_page(true));
    };
    let role = record
        .role
        .map(|role| view! { <span class="muted">" "{role.name()}</span> });
    let token = record
        .token
        .clone()
        .map(|token| view! { <code class="under" title="The id of the token that it was done with">{visible(&token)}</code> });
    let outcome = match record.outcome {
        AuditOutcome::Done => view! { <span class="tag good">"done"</span> }.into_any(),
        AuditOutcome::Refused => view! { <span class="tag warning">"refused"</span> }.into_any(),
    };
    let of = reverts(&record).map(|record| log.to_reverted(record));
    let revert = log.revert_of(sequence);
    let undone = move || {
        let revert = revert.get()?;
        let text = format!("reverted by {}", visible(&revert.by));
        Some(log.link(revert.sequence, text, "reverted"))
    };
    let at = Signal::stored(record.at);
    let entry = StoredValue::new(Arc::new(entry));
    let detail = move || {
        open.get().then(|| {
            view! {
                <tr class="detail">
                    <td colspan="7"><RecordDetail entry=entry.get_value() log/></td>
                </tr>
            }
        })
    };
    view! {
        <tr data-testid="record" data-sequence=sequence.to_string() data-action=record.action.clone()>
            <th scope="row">
                <button
                    type="button"
                    class="open"
                    data-testid="open-record"
                    aria-expanded=move || open.get().to_string()
                    on:click=toggle
                >
                    <span class="chevron" aria-hidden="true">"›"</span>
                    <span class="figure">{format::count(sequence.into())}</span>
                </button>
            </th>
            <td class="when" data-label="Time"><Time at/></td>
            <td class="actor" data-label="Who">{visible(&record.actor)}{role}{token}</td>
            <td class="action" data-label="Action">{label(&record.action)}{of}</td>
            <td class="target" data-label="Target">{target(&record)}</td>
            <td class="change" data-label="Change">{summary(&record)}</td>
            <td data-label="Outcome">{outcome}{undone}</td>
        </tr>
        {detail}
    }
}
