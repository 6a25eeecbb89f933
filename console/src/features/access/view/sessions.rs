//! The end of every session at once, for when nobody knows who has one.

use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::api::Client;
use crate::components::dialog::Confirm;
use crate::context::{Console, use_leave};
use crate::session::LoginReason;

const DETAIL: &str = "Everybody who uses this console is logged out everywhere within a second, you too. \
    Whoever has a token logs in again with it. Tokens and limits stay as they are.";

/// What ends them, and what it does.
#[component]
pub fn Sessions() -> impl IntoView {
    let console = expect_context::<Console>();
    let leave = use_leave();
    let (open, why) = (RwSignal::new(false), RwSignal::new(String::new()));
    let ask = move |_| {
        why.set(String::new());
        open.set(true);
    };
    let on_confirm = Callback::new(move |()| {
        let leave = leave.clone();
        let why = Some(why.get_untracked().trim().to_owned()).filter(|why| !why.is_empty());
        console.leaving.set(true);
        spawn_local(async move {
            match Client.end_sessions(why.as_deref()).await {
                Err(error) if !error.is_unauthenticated() => {
                    console.leaving.set(false);
                    console.toasts.fail(&error);
                }
                _ => leave(LoginReason::LoggedOut),
            }
        });
    });
    view! {
        <section aria-labelledby="sessions">
            <div class="section-head">
                <h2 id="sessions">"Sessions"</h2>
            </div>
            <p class="hint">"A login lasts for some hours, or until its token is revoked. End them all if you do not know whose login is misused."</p>
            <button type="button" data-testid="end-sessions" on:click=ask>"End all sessions"</button>
        </section>
        <Confirm
            open
            title="End all sessions?"
            detail=DETAIL
            confirm="End all sessions"
            danger=true
            why
            on_confirm
        />
    }
}
