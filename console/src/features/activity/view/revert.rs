//! Takes a change of the policy back, after a look at what that changes.

use std::sync::Arc;

use leptos::ev;
use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_shared::wire::audit::{AuditEntry, AuditRecord};
use weir_shared::wire::policy::PolicyDocument;
use weir_shared::wire::preview::PreviewBody;

use crate::api::Client;
use crate::api::error::ApiError;
use crate::components::dialog::{Dialog, Why};
use crate::components::difference::DifferenceTable;
use crate::components::preview::PreviewTable;
use crate::context::{Console, use_leave};
use crate::difference::words;
use crate::features::activity::model::revert::{Revert, reason, revert};
use crate::features::policy::model::draft::as_value;
use crate::features::policy::model::validate::check;
use crate::format;
use crate::session::LoginReason;
use crate::situation::shadow::preview_note;

/// What is known of a change that is to be taken back.
#[derive(Clone)]
enum Plan {
    /// The policy is being read.
    Reading,
    /// It cannot be taken back.
    Impossible(String),
    /// It can.
    Ready(Arc<Ready>),
}

/// A policy in which a change is taken back, as it would be sent.
struct Ready {
    revert: Revert,
    document: PolicyDocument,
    etag: String,
}

/// The button, and the dialog behind it.
#[component]
pub fn RevertButton(
    /// The record.
    entry: Arc<AuditEntry>,
    /// Reads the list again.
    refresh: Callback<()>,
) -> impl IntoView {
    let open = RwSignal::new(false);
    let sequence = entry.record.sequence;
    let title = format!("Revert record {}", format::count(sequence.into()));
    view! {
        <div class="actions">
            <button type="button" data-testid="revert" on:click=move |_| open.set(true)>"Revert this change…"</button>
        </div>
        <Dialog open title=title testid="revert-dialog" wide=true>
            <Plans entry=entry.clone() open refresh/>
        </Dialog>
    }
}

#[component]
fn Plans(entry: Arc<AuditEntry>, open: RwSignal<bool>, refresh: Callback<()>) -> impl IntoView {
    let plan = RwSignal::new(Plan::Reading);
    let preview = RwSignal::new(None::<Arc<PreviewBody>>);
    let sequence = entry.record.sequence;
    spawn_local(async move {
        let found = planned(&entry.record).await;
        let document = match &found {
            Plan::Ready(ready) => Some(ready.document.clone()),
            _ => None,
        };
        plan.try_set(found);
        if let Some(document) = document
            && let Ok(body) = Client.preview_policy(&document).await
        {
            preview.try_set(Some(Arc::new(body)));
        }
    });
    move || {
        match plan.get() {
        Plan::Reading => {
            view! { <p class="state waiting" role="status" data-testid="state-loading">"Reading the policy…"</p> }.into_any()
        }
        Plan::Impossible(text) => {
            view! { <p class="notice warning" role="alert" data-testid="form-error">{text}</p> }.into_any()
        }
        Plan::Ready(ready) => {
            view! { <Ask ready preview plan open refresh sequence/> }.into_any()
        }
    }
    }
}

async fn planned(record: &AuditRecord) -> Plan {
    let now = match Client.policy().await {
        Ok(now) => now,
        Err(error) => return Plan::Impossible(told(&error)),
    };
    let revert = match revert(record, &as_value(&now.body)) {
        Ok(revert) => revert,
        Err(why) => return Plan::Impossible(why.to_owned()),
    };
    match check(&revert.candidate) {
        Ok(checked) => Plan::Ready(Arc::new(Ready {
            revert,
            document: checked.document,
            etag: now.etag,
        })),
        Err(flaw) => Plan::Impossible(format!(
            "Without this change the policy of now would not be valid. {}: {}.",
            words(&flaw.pointer),
            flaw.message
        )),
    }
}

fn told(error: &ApiError) -> String {
    format!("{}. {} {}", error.title(), error.detail(), error.advice())
}

#[component]
fn Ask(
    ready: Arc<Ready>,
    preview: RwSignal<Option<Arc<PreviewBody>>>,
    plan: RwSignal<Plan>,
    open: RwSignal<bool>,
    refresh: Callback<()>,
    sequence: u64,
) -> impl IntoView {
    let console = expect_context::<Console>();
    let leave = use_leave();
    let why = RwSignal::new(String::new());
    let busy = RwSignal::new(false);
    let refused = RwSignal::new(None::<String>);
    let rows = Signal::stored(ready.revert.rows.clone());
    let shown = Arc::clone(&ready);
    let note = move || {
        let note = preview.with(|body| preview_note(&shown.document, body.as_ref()?));
        note.map(|note| view! { <p class="said" data-testid="preview-note">{note}</p> })
    };
    let since = (!ready.revert.since.is_empty()).then(|| {
        let names: Vec<String> = ready
            .revert
            .since
            .iter()
            .map(|pointer| words(pointer))
            .collect();
        let text = format!(
            "Changed again since, and put back too: {}.",
            names.join(", ")
        );
        view! { <p class="notice warning" data-testid="changed-since">{text}</p> }
    });
    let submit = move |event: ev::SubmitEvent| {
        event.prevent_default();
        if busy.get_untracked() {
            return;
        }
        busy.set(true);
        refused.set(None);
        let (ready, leave) = (ready.clone(), leave.clone());
        let reason = reason(sequence, &why.get_untracked());
        spawn_local(async move {
            let saved = Client
                .save_policy(&ready.document, &ready.etag, Some(&reason))
                .await;
            busy.try_set(false);
            match saved {
                Ok(saved) => {
                    let revision = saved.etag.trim_matches('"');
                    console.toasts.say(format!(
                        "Record {sequence} is reverted: the policy is at revision {revision}."
                    ));
                    open.try_set(false);
                    refresh.run(());
                }
                Err(error) if error.is_unauthenticated() => {
                    open.try_set(false);
                    leave(LoginReason::Expired);
                }
                Err(error) if error.is_conflict() => {
                    let text = "The policy was changed while you looked. Nothing was saved: close this and revert again.";
                    plan.try_set(Plan::Impossible(text.to_owned()));
                }
                Err(error) => {
                    refused.try_set(Some(told(&error)));
                }
            }
        });
    };
    let error = move || {
        refused
            .get()
            .map(|text| view! { <p class="notice error" role="alert" data-testid="form-error">{text}</p> })
    };
    let label = move || {
        if busy.get() { "Saving…" } else { "Revert" }
    };
    let waits = move || {
        preview.with(Option::is_none).then(
            || view! { <p class="muted" role="status">"Working out who gains and who loses…"</p> },
        )
    };
    view! {
        <form class="confirm" on:submit=submit>
            <p>"What this changes of the policy of now. What others changed since stays."</p>
            <DifferenceTable rows/>
            {since}
            <h3>"Who gains and who loses"</h3>
            {waits}
            {note}
            <PreviewTable body=preview caption="Preview by the server"/>
            <Why why/>
            <p class="hint">"The log names the record that is reverted, before your reason."</p>
            {error}
            <div class="actions">
                <button type="button" data-testid="cancel" on:click=move |_| open.set(false)>"Cancel"</button>
                <button type="submit" class="primary" data-testid="confirm" aria-disabled=move || busy.get().to_string()>{label}</button>
            </div>
        </form>
    }
}
