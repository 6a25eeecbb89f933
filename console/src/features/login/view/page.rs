//! The login page.

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::hooks::use_location;

use crate::api::Client;
use crate::components::header::Mark;
use crate::context::{Console, use_goto};
use crate::features::login::view::login_form::LoginForm;
use crate::session::{LoginError, LoginRequest};

/// Takes a token and leads to the page that was asked for.
#[component]
pub fn LoginPage() -> impl IntoView {
    let console = expect_context::<Console>();
    let goto = use_goto();
    let heading = NodeRef::new();
    console.arrive("Log in".into(), heading);
    let request = LoginRequest::parse(&use_location().search.get_untracked());
    let error = RwSignal::new(None);
    let busy = RwSignal::new(false);
    let next = request.next.clone();
    let log_in = Callback::new(move |token: String| {
        let (goto, next) = (goto.clone(), next.clone());
        busy.set(true);
        error.set(None);
        spawn_local(async move {
            let answer = Client.log_in(&token).await;
            busy.try_set(false);
            match answer {
                Ok(session) => {
                    console.session.set(Some(session));
                    goto(&next);
                }
                Err(failure) => {
                    error.try_set(Some(LoginError::from(&failure)));
                }
            }
        });
    });
    view! {
        <main id="main" class="narrow" tabindex="-1" data-testid="page-login">
            <p class="brand"><Mark/>"Weir"</p>
            <h1 node_ref=heading tabindex="-1">"Log in to the operator console"</h1>
            <p class="muted">
                "Weir decides at the edge who may have how much. The console shows who got what and why, and changes the \
                 policy: with a preview of who gains and who loses, and a record of every change."
            </p>
            {request.reason.message().map(|message| view! {
                <p id="login-reason" class="notice info" data-testid="login-reason">{message}</p>
            })}
            <LoginForm log_in=log_in error=error busy=busy/>
        </main>
    }
}
