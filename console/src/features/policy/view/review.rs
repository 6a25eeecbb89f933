//! The last look before a policy is saved: what it changes, who gains and who loses, and why.

use std::sync::Arc;

use leptos::ev;
use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_shared::wire::preview::PreviewBody;

use super::editor::Editor;
use crate::address::Page;
use crate::api::Client;
use crate::api::error::ApiError;
use crate::components::dialog::Why;
use crate::components::difference::DifferenceTable;
use crate::components::focus;
use crate::components::preview::PreviewTable;
use crate::context::{Console, leave_when_ended, use_leave};
use crate::features::policy::model::validate::Checked;
use crate::session::LoginReason;
use crate::situation::shadow::preview_note;

/// What has been worked out so far.
#[derive(Clone, Copy)]
struct Preview {
    body: RwSignal<Option<Arc<PreviewBody>>>,
    failed: RwSignal<Option<ApiError>>,
}

/// The review of the draft.
#[component]
pub fn Review() -> impl IntoView {
    let editor = expect_context::<Editor>();
    let shown = move || editor.reviewing.get().then(|| view! { <Open/> });
    view! { {shown} }
}

#[component]
fn Open() -> impl IntoView {
    let editor = expect_context::<Editor>();
    let preview = Preview {
        body: RwSignal::new(None),
        failed: RwSignal::new(None),
    };
    let checked = editor
        .verdict
        .with_untracked(|verdict| verdict.as_ref()?.checked.as_ref().ok().cloned());
    let shown = checked.clone();
    let note = move || {
        let note = preview
            .body
            .with(|body| preview_note(&shown.as_ref()?.document, body.as_ref()?));
        note.map(|note| view! { <p class="said" data-testid="preview-note">{note}</p> })
    };
    let etag = editor
        .draft
        .with_untracked(|draft| draft.as_ref().map(|draft| draft.etag().to_owned()));
    if let (Some(checked), Some(etag)) = (checked, etag) {
        spawn_local(work_out(editor, preview, checked, etag));
    }
    let rows = Signal::derive(move || {
        editor.verdict.with(|verdict| {
            verdict
                .as_ref()
                .map_or_else(Vec::new, |verdict| verdict.rows.clone())
        })
    });
    leave_when_ended(preview.failed);
    let simulator = Page::Simulator.address_with("over=recorded");
    let heading = NodeRef::<leptos::html::H2>::new();
    focus::goes_to(heading);
    view! {
        <section class="review" data-testid="preview-result" aria-labelledby="review-title">
            <h2 id="review-title" node_ref=heading tabindex="-1">"What the draft changes"</h2>
            <DifferenceTable rows/>
            <h3>"Who gains and who loses"</h3>
            <p class="muted">
                "Both policies over the same recorded demand, in units: windows of budgets, and the last hour of limits, meters, guards and overload resources. "
                <a href=simulator data-testid="simulate">"Play another span or a trace in the simulator"</a>"."
            </p>
            {waiting(preview)}
            {note}
            <PreviewTable body=preview.body caption="Who gains and who loses"/>
            <Save/>
        </section>
    }
}

fn waiting(preview: Preview) -> AnyView {
    let told = move || {
        match (preview.body.with(Option::is_some), preview.failed.get()) {
        (true, _) => None,
        (false, None) => Some(view! { <p class="muted" role="status" data-testid="state-loading">"Working it out…"</p> }.into_any()),
        (false, Some(error)) => {
            let text = format!("There is no preview. {}: {}", error.title(), error.detail());
            Some(view! { <p class="notice warning" data-testid="state-error">{text}</p> }.into_any())
        }
    }
    };
    (move || told()).into_any()
}

/// Looks whether the draft is still on top of the policy in force, and asks for the preview.
async fn work_out(editor: Editor, preview: Preview, checked: Arc<Checked>, etag: String) {
    match Client.policy().await {
        Ok(now) if now.etag != etag => {
            editor.theirs.try_set(Some(now));
            editor.reviewing.try_set(false);
            return;
        }
        Ok(_) => {}
        Err(error) => {
            preview.failed.try_set(Some(error));
            return;
        }
    }
    match Client.preview_policy(&checked.document).await {
        Ok(body) => {
            preview.body.try_set(Some(Arc::new(body)));
        }
        Err(error) => {
            preview.failed.try_set(Some(error));
        }
    }
}

/// The reason, and the button that saves.
#[component]
fn Save() -> impl IntoView {
    let editor = expect_context::<Editor>();
    let console = expect_context::<Console>();
    let leave = use_leave();
    let why = RwSignal::new(String::new());
    let busy = RwSignal::new(false);
    let refused = RwSignal::new(None::<String>);
    let submit = move |event: ev::SubmitEvent| {
        event.prevent_default();
        let checked = editor
            .verdict
            .with_untracked(|verdict| verdict.as_ref()?.checked.as_ref().ok().cloned());
        let etag = editor
            .draft
            .with_untracked(|draft| draft.as_ref().map(|draft| draft.etag().to_owned()));
        let (Some(checked), Some(etag), false) = (checked, etag, busy.get_untracked()) else {
            return;
        };
        busy.set(true);
        refused.set(None);
        let leave = leave.clone();
        spawn_local(async move {
            let reason = why.get_untracked();
            let reason = (!reason.trim().is_empty()).then(|| reason.trim().to_owned());
            let saved = Client
                .save_policy(&checked.document, &etag, reason.as_deref())
                .await;
            busy.try_set(false);
            match saved {
                Ok(saved) => {
                    let revision = saved.etag.trim_matches('"').to_owned();
                    editor.renew(&saved);
                    console
                        .toasts
                        .say(format!("Saved: the policy is at revision {revision}."));
                }
                Err(error) if error.is_unauthenticated() => leave(LoginReason::Expired),
                Err(error) if error.is_conflict() => match Client.policy().await {
                    Ok(now) => {
                        editor.theirs.try_set(Some(now));
                        editor.reviewing.try_set(false);
                    }
                    Err(error) => console.toasts.fail(&error),
                },
                Err(error) => {
                    refused.try_set(Some(format!(
                        "{}. {} {}",
                        error.title(),
                        error.detail(),
                        error.advice()
                    )));
                }
            }
        });
    };
    let told = move || {
        refused
            .get()
            .map(|text| view! { <p class="notice error" role="alert" data-testid="form-error">{text}</p> })
    };
    let label = move || {
        if busy.get() {
            "Saving…"
        } else {
            "Save the policy"
        }
    };
    view! {
        <form class="save" on:submit=submit>
            <Why why/>
            {told}
            <div class="actions">
                <button type="button" on:click=move |_| editor.reviewing.set(false)>"Back to the draft"</button>
                <button type="submit" class="primary" data-testid="save" aria-disabled=move || busy.get().to_string()>
                    {label}
                </button>
            </div>
        </form>
    }
}
