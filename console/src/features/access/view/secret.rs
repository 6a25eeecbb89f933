//! A token that was just made: its text is shown this once.

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen_futures::JsFuture;
use weir_shared::wire::access::TokenReply;
use weir_shared::wire::role::Role;

use crate::context::{Console, use_leave};
use crate::features::access::model::row::is_bootstrap;
use crate::session::LoginReason;

/// The token, until it is put away.
#[component]
pub fn Secret(
    /// What was made.
    made: RwSignal<Option<TokenReply>>,
) -> impl IntoView {
    move || made.get().map(|reply| view! { <Shown reply made/> })
}

#[component]
fn Shown(reply: TokenReply, made: RwSignal<Option<TokenReply>>) -> impl IntoView {
    let console = expect_context::<Console>();
    let leave = use_leave();
    let heading = NodeRef::<leptos::html::H2>::new();
    Effect::new(move |_| {
        if let Some(heading) = heading.get() {
            let _ = heading.focus();
        }
    });
    let was_bootstrap = console
        .session
        .with_untracked(|session| is_bootstrap(session.as_ref()));
    let ends = was_bootstrap && reply.view.role == Role::Admin;
    let text = StoredValue::new(reply.token.clone());
    let title = format!("Token “{}” was created", reply.view.name);
    let put_away = move |_| made.set(None);
    view! {
        <section class="secret" aria-labelledby="new-token" data-testid="made">
            <h2 id="new-token" tabindex="-1" node_ref=heading>{title}</h2>
            <p>"Copy it now. Weir keeps only its hash, so this is the one time that it is shown."</p>
            <p class="secret-text">
                <code data-testid="new-token">{reply.token}</code>
                <button type="button" class="primary" data-testid="copy" on:click=move |_| copy(console, text.get_value())>
                    "Copy"
                </button>
            </p>
            {if ends {
                view! {
                    <p><strong>"The bootstrap token is refused from now on: this session has ended."</strong></p>
                    <button type="button" data-testid="log-in-with-it" on:click=move |_| leave(LoginReason::LoggedOut)>
                        "I have copied it: log in with it"
                    </button>
                }
                .into_any()
            } else {
                view! {
                    <button type="button" data-testid="put-away" on:click=put_away>"I have copied it"</button>
                }
                .into_any()
            }}
        </section>
    }
}

/// Puts the text on the clipboard, which the browser may refuse, and has only where the connection is secure.
fn copy(console: Console, text: String) {
    let by_hand = "The browser does not allow copying: select the text and copy it yourself.";
    if !window().is_secure_context() {
        console.toasts.say(by_hand);
        return;
    }
    let written = window().navigator().clipboard().write_text(&text);
    spawn_local(async move {
        let copied = JsFuture::from(written).await.is_ok();
        console.toasts.say(if copied {
            "The token is copied."
        } else {
            by_hand
        });
    });
}
