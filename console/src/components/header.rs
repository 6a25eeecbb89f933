//! The bar on top of every page that needs a session.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_shared::wire::operator::SessionReply;

use super::notice::{Notice, Severity};
use crate::api::Client;
use crate::api::error::ApiError;
use crate::app::{Console, use_leave};
use crate::format;
use crate::session::{BASE, LoginReason};

/// Where one is, who one is, and the way out.
#[component]
pub fn Header(
    /// Who is logged in.
    session: SessionReply,
) -> impl IntoView {
    let console = expect_context::<Console>();
    let leave = use_leave();
    let failure = RwSignal::new(None::<ApiError>);
    let log_out = move |_| {
        let leave = leave.clone();
        console.leaving.set(true);
        spawn_local(async move {
            match Client.log_out().await {
                Err(error) if !error.is_unauthenticated() => {
                    console.leaving.set(false);
                    failure.try_set(Some(error));
                }
                _ => leave(LoginReason::LoggedOut),
            }
        });
    };
    let role = session.role.name();
    let ends = format::utc_time(session.expires_at);
    view! {
        <header class="bar">
            <a class="brand" href=BASE>"Weir"</a>
            <nav aria-label="Pages">
                <ul><li><a href=BASE aria-current="page">"Overview"</a></li></ul>
            </nav>
            <span class="account">{role}" until "{ends}</span>
            <button id="logout" data-testid="logout" type="button" on:click=log_out>"Log out"</button>
        </header>
        {move || failure.get().map(|error| view! {
            <Notice severity=Severity::Error title=format!("Not logged out: {}.", error.title()) detail=error.detail()/>
        })}
    }
}
