//! Records of the audit log, each opened in its place.

use std::sync::Arc;

use leptos::prelude::*;
use leptos_router::hooks::use_navigate;
use weir_shared::wire::audit::{AuditEntry, Outcome};
use weir_shared::wire::operator::audit::AuditReply;

use super::record::RecordDetail;
use crate::activity::actions::{label, summary, target};
use crate::activity::query::ActivityQuery;
use crate::components::time::Time;
use crate::format;
use crate::query_address::within_page;
use crate::visible::visible;

/// The records of one page, newest first.
#[component]
pub fn Records(
    /// The page.
    #[prop(into)]
    reply: Signal<Option<Arc<AuditReply>>>,
    /// What the address asks for.
    query: Memo<ActivityQuery>,
    /// Reads the page again.
    refresh: Callback<()>,
) -> impl IntoView {
    let listed = move || {
        reply.with(|reply| {
            reply
                .as_ref()
                .map_or_else(Vec::new, |reply| reply.records.clone())
        })
    };
    let key = |entry: &AuditEntry| entry.record.sequence;
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label="Audit log">
            <table class="records">
                <thead>
                    <tr>
                        <th scope="col">"Record"</th>
                        <th scope="col">"Time"</th>
                        <th scope="col">"Who"</th>
                        <th scope="col">"Action"</th>
                        <th scope="col">"To what"</th>
                        <th scope="col">"Change"</th>
                        <th scope="col">"Outcome"</th>
                    </tr>
                </thead>
                <tbody>
                    <For each=listed key=key let:entry>
                        <OneRecord entry query refresh/>
                    </For>
                </tbody>
            </table>
        </div>
    }
}

#[component]
fn OneRecord(
    entry: AuditEntry,
    query: Memo<ActivityQuery>,
    refresh: Callback<()>,
) -> impl IntoView {
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
    let outcome = match record.outcome {
        Outcome::Done => view! { <span class="tag good">"done"</span> }.into_any(),
        Outcome::Refused => view! { <span class="tag warning">"refused"</span> }.into_any(),
    };
    let at = Signal::stored(record.at);
    let entry = StoredValue::new(Arc::new(entry));
    let detail = move || {
        open.get().then(|| {
            view! {
                <tr class="detail">
                    <td colspan="7"><RecordDetail entry=entry.get_value() refresh/></td>
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
            <td class="when"><Time at/></td>
            <td class="actor">{visible(&record.actor)}{role}</td>
            <td class="action">{label(&record.action)}</td>
            <td class="target">{target(&record)}</td>
            <td class="change">{summary(&record)}</td>
            <td>{outcome}</td>
        </tr>
        {detail}
    }
}
