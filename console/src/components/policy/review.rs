//! The last look before a policy is saved: what it changes, who gains and who loses, and why.

use std::sync::Arc;

use leptos::ev;
use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_shared::wire::preview::PreviewBody;
use weir_shared::wire::windows::WindowRecord;

use super::editor::Editor;
use crate::api::Client;
use crate::api::ask::WindowsAsk;
use crate::api::error::ApiError;
use crate::clock;
use crate::components::dialog::Why;
use crate::components::difference::DifferenceTable;
use crate::components::preview::PreviewTable;
use crate::context::{Console, leave_when_ended, use_leave};
use crate::format;
use crate::policy::draft::PolicyDraft;
use crate::policy::recorded_windows::{Agreement, WINDOWS_OF_EACH, over_windows};
use crate::policy::validate::{Checked, check};
use crate::session::LoginReason;

/// Budgets whose windows the browser reads, at most.
const BUDGETS_MAX: usize = 12;

/// What has been worked out so far.
#[derive(Clone, Copy)]
struct Previews {
    browser: RwSignal<Option<Arc<PreviewBody>>>,
    server: RwSignal<Option<Arc<PreviewBody>>>,
    failed: RwSignal<Option<ApiError>>,
    left_out: RwSignal<usize>,
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
    let previews = Previews {
        browser: RwSignal::new(None),
        server: RwSignal::new(None),
        failed: RwSignal::new(None),
        left_out: RwSignal::new(0),
    };
    let checked = editor
        .verdict
        .with_untracked(|verdict| verdict.as_ref()?.checked.as_ref().ok().cloned());
    let etag = editor
        .draft
        .with_untracked(|draft| draft.as_ref().map(|draft| draft.etag().to_owned()));
    if let (Some(checked), Some(etag)) = (checked, etag) {
        spawn_local(work_out(editor, previews, checked, etag));
    }
    let rows = Signal::derive(move || {
        editor.verdict.with(|verdict| {
            verdict
                .as_ref()
                .map_or_else(Vec::new, |verdict| verdict.rows.clone())
        })
    });
    leave_when_ended(previews.failed);
    let heading = NodeRef::<leptos::html::H2>::new();
    Effect::new(move |_| {
        if let Some(heading) = heading.get() {
            let _ = heading.focus();
            heading.scroll_into_view();
        }
    });
    let agreement = move || {
        let (browser, server) = (previews.browser.get()?, previews.server.get()?);
        Some(Agreement::of(&browser, &server).words())
    };
    let left_out = move || match previews.left_out.get() {
        0 => None,
        number => Some(format!(
            " The windows of {} were left out.",
            format::counted(number, "budget")
        )),
    };
    view! {
        <section class="review" data-testid="preview-result" aria-labelledby="review-title">
            <h2 id="review-title" node_ref=heading tabindex="-1">"What the draft changes"</h2>
            <DifferenceTable rows/>
            <h3>"Who gains and who loses"</h3>
            <p class="muted">"Both policies over the same recorded demand, in units. "{agreement}{left_out}</p>
            <div class="previews">
                <div>
                    <h4>"Budgets, worked out in this browser"</h4>
                    {waiting(previews.browser, previews.failed)}
                    <PreviewTable body=previews.browser caption="Preview by this browser"/>
                </div>
                <div>
                    <h4>"Budgets, meters and guards, worked out by the server"</h4>
                    {waiting(previews.server, previews.failed)}
                    <PreviewTable body=previews.server caption="Preview by the server"/>
                </div>
            </div>
            <Save/>
        </section>
    }
}

fn waiting(
    body: RwSignal<Option<Arc<PreviewBody>>>,
    failed: RwSignal<Option<ApiError>>,
) -> AnyView {
    let told = move || {
        match (body.with(Option::is_some), failed.get()) {
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

/// Looks whether the draft is still on top of the policy in force, and works both previews out.
async fn work_out(editor: Editor, previews: Previews, checked: Arc<Checked>, etag: String) {
    match Client.policy().await {
        Ok(now) if now.etag != etag => {
            editor.theirs.try_set(Some(now));
            editor.reviewing.try_set(false);
            return;
        }
        Ok(_) => {}
        Err(error) => {
            previews.failed.try_set(Some(error));
            return;
        }
    }
    let base = editor
        .draft
        .try_with_untracked(|draft| draft.as_ref().map(PolicyDraft::base).cloned())
        .flatten();
    let base = base.and_then(|base| check(&base).ok());
    match Client.preview_policy(&checked.document).await {
        Ok(body) => {
            previews.server.try_set(Some(Arc::new(body)));
        }
        Err(error) => {
            previews.failed.try_set(Some(error));
        }
    }
    let Some(base) = base else {
        return;
    };
    match windows_of(&base).await {
        Ok(windows) => {
            let body = over_windows(&base.policy, &checked.policy, windows, clock::epoch_ms());
            let left_out = base.policy.budgets.len().saturating_sub(BUDGETS_MAX);
            previews.left_out.try_set(left_out);
            previews.browser.try_set(Some(Arc::new(body)));
        }
        Err(error) => {
            previews.failed.try_set(Some(error));
        }
    }
}

async fn windows_of(base: &Checked) -> Result<Vec<WindowRecord>, ApiError> {
    let ask = WindowsAsk {
        page: 1,
        page_size: WINDOWS_OF_EACH,
        ..WindowsAsk::default()
    };
    let mut windows = Vec::new();
    for budget in base.policy.budgets.keys().take(BUDGETS_MAX) {
        windows.extend(Client.windows(budget, &ask).await?.windows);
    }
    Ok(windows)
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
