//! What stands above every page while something is wrong with all of them: no connection, a wrong clock.

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use super::notice::{Notice, Severity};
use crate::clock;
use crate::context::Console;
use crate::live::skew;
use crate::session::{LoginReason, LoginRequest, ends_in_ms};

/// The warnings, none most of the time.
#[component]
pub fn Warnings() -> impl IntoView {
    let console = expect_context::<Console>();
    let hub = console.live;
    let lost = Memo::new(move |_| hub.state.get().lost());
    let wrong = Memo::new(move |_| hub.skew_ms.get().and_then(skew::notice));
    let ending = Memo::new(move |_| {
        hub.pulse.track();
        let expires_at = console
            .session
            .with(|session| Some(session.as_ref()?.expires_at))?;
        let left_ms = ends_in_ms(expires_at, clock::server_ms())?;
        // In whole minutes, so that the page does not move with each pulse.
        Some(left_ms / 60_000 + 1)
    });
    view! {
        {move || ending.get().map(|minutes| view! { <Ending minutes/> })}
        {move || lost.get().map(|(title, detail)| view! {
            <Notice severity=Severity::Warning title detail testid="reconnecting">
                <button type="button" data-testid="reconnect" on:click=move |_| hub.resume()>"Try now"</button>
            </Notice>
        })}
        {move || wrong.get().map(|detail| view! {
            <Notice severity=Severity::Warning title="This machine's clock is wrong." detail testid="clock-notice"/>
        })}
    }
}

/// The session is about to end.
#[component]
fn Ending(minutes: u64) -> impl IntoView {
    let location = use_location();
    let address = move || {
        let next = format!(
            "{}{}",
            location.pathname.get(),
            query(&location.search.get())
        );
        let reason = LoginReason::Fresh;
        LoginRequest { reason, next }.address()
    };
    let within = if minutes == 1 {
        "It ends within a minute.".to_owned()
    } else {
        format!("It ends within {minutes} minutes.")
    };
    let detail = format!(
        "{within} Save what you are changing, or log in again now to go on without a break."
    );
    view! {
        <Notice severity=Severity::Info title="Your session is about to end." detail testid="session-ending">
            <a class="button" href=address>"Log in again"</a>
        </Notice>
    }
}

/// A query string with its question mark; empty for none.
fn query(search: &str) -> String {
    match search.trim_start_matches('?') {
        "" => String::new(),
        search => format!("?{search}"),
    }
}
