//! Whether the audit log is as it was written.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_shared::wire::audit::AuditVerdict;

use crate::api::Client;
use crate::api::error::ApiError;
use crate::context::use_leave;
use crate::features::activity::model::verdict;
use crate::session::LoginReason;

/// What is known of the chain.
#[derive(Clone)]
enum State {
    Unknown,
    Looking,
    Found(Box<AuditVerdict>),
    Failed(ApiError),
}

/// The button, and what it found.
#[component]
pub fn Verify() -> impl IntoView {
    let leave = use_leave();
    let state = RwSignal::new(State::Unknown);
    let look = move |_| {
        if state.with_untracked(|state| matches!(state, State::Looking)) {
            return;
        }
        state.set(State::Looking);
        let leave = leave.clone();
        spawn_local(async move {
            let found = match Client.verify_audit().await {
                Ok(verdict) => State::Found(Box::new(verdict)),
                Err(error) if error.is_unauthenticated() => return leave(LoginReason::Expired),
                Err(error) => State::Failed(error),
            };
            state.try_set(found);
        });
    };
    let told = move || match state.get() {
        State::Unknown => ().into_any(),
        State::Looking => view! { <p class="muted">"Verifying every record…"</p> }.into_any(),
        State::Found(found) => {
            let class = if found.intact {
                "notice fine"
            } else {
                "notice error"
            };
            let intact = found.intact.to_string();
            view! { <p class=class data-testid="verdict" data-intact=intact>{verdict::words(&found)}</p> }.into_any()
        }
        State::Failed(error) => {
            let text = format!(
                "The log was not verified. {}: {}",
                error.title(),
                error.detail()
            );
            view! { <p class="notice error" data-testid="form-error">{text}</p> }.into_any()
        }
    };
    view! {
        <button type="button" data-testid="verify" on:click=look>"Verify the chain"</button>
        <div class="verdict" role="status">{told}</div>
    }
}
