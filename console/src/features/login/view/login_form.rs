//! The form that takes a token.

use leptos::ev::SubmitEvent;
use leptos::html::Input;
use leptos::prelude::*;

use crate::session::{LoginError, pasted_token};

/// One field, one button, and what went wrong.
#[component]
pub fn LoginForm(
    /// Called with the token.
    log_in: Callback<String>,
    /// What the last attempt said.
    error: RwSignal<Option<LoginError>>,
    /// Whether an attempt is under way.
    #[prop(into)]
    busy: Signal<bool>,
) -> impl IntoView {
    let field = NodeRef::<Input>::new();
    Effect::new(move |_| {
        error.track();
        if let Some(field) = field.get() {
            let _ = field.focus();
        }
    });
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        let text = field
            .get_untracked()
            .map(|field| field.value())
            .unwrap_or_default();
        match pasted_token(&text) {
            _ if busy.get_untracked() => {}
            Some(token) => log_in.run(token.to_owned()),
            None => error.set(Some(LoginError::empty())),
        }
    };
    view! {
        <form class="login" on:submit=submit novalidate>
            <label for="login-token">"Operator token"</label>
            <input
                id="login-token"
                data-testid="login-token"
                node_ref=field
                type="password"
                name="token"
                autocomplete="current-password"
                spellcheck="false"
                aria-describedby="login-reason login-error login-help"
                aria-invalid=move || error.with(Option::is_some).to_string()
            />
            <div id="login-error" role="alert" data-testid="login-error">
                {move || error.get().map(|error| view! {
                    <p class="notice error"><strong>{error.title}"."</strong>" "{error.detail}</p>
                })}
            </div>
            <button id="login-submit" data-testid="login-submit" type="submit" class="primary" aria-disabled=move || busy.get().to_string()>
                {move || if busy.get() { "Logging in…" } else { "Log in" }}
            </button>
            <p id="login-help" class="muted">
                "An admin creates tokens on the Access page. The first login of a deployment is with its "
                <code>"WEIR_BOOTSTRAP_TOKEN"</code>". The token is exchanged for a session cookie; the browser does not keep it."
            </p>
        </form>
    }
}
