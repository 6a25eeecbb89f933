//! Pages of the whole application. The server of these tests has no operator API, which is one more error that the
//! pages must show.

use leptos::prelude::*;
use wasm_bindgen_test::wasm_bindgen_test;
use weir_console::app::App;
use weir_console::features::login::view::login_form::LoginForm;
use weir_console::session::LoginError;

use crate::support::{Mounted, owner, settle};

#[wasm_bindgen_test]
async fn a_login_error_is_announced() {
    let _owner = owner();
    let (error, busy, tokens) = (
        RwSignal::new(None),
        RwSignal::new(false),
        RwSignal::new(Vec::new()),
    );
    let log_in =
        Callback::new(move |token| tokens.update(|tokens: &mut Vec<String>| tokens.push(token)));
    let page = Mounted::new(move || view! { <LoginForm log_in error busy/> }).await;
    page.press("[data-testid=login-submit]").await;
    assert_eq!(
        page.text("[role=alert]"),
        "No token. Paste a token to log in."
    );
    assert_eq!(
        page.attributes("[data-testid=login-token]", "aria-invalid"),
        ["true"]
    );
    error.set(Some(LoginError {
        title: "This token is not accepted".into(),
        detail: "It was revoked.".into(),
    }));
    settle().await;
    assert_eq!(
        page.text("[role=alert]"),
        "This token is not accepted. It was revoked."
    );
    page.enter("[data-testid=login-token]", " secret\n").await;
    page.press("[data-testid=login-submit]").await;
    busy.set(true);
    page.press("[data-testid=login-submit]").await;
    assert_eq!(
        tokens.get_untracked(),
        ["secret"],
        "once, trimmed, and not while an attempt is under way"
    );
}

#[wasm_bindgen_test]
async fn pages_show_why_they_cannot_go_on() {
    let history = window().history().unwrap();
    let before = window().location().href().unwrap();
    let goto = |address: &str| {
        history
            .push_state_with_url(&wasm_bindgen::JsValue::NULL, "", Some(address))
            .unwrap()
    };
    {
        goto("/console/login?reason=expired");
        let page = Mounted::new(App).await;
        assert_eq!(document().title(), "Log in · Weir");
        assert!(
            page.text("[data-testid=login-reason]")
                .contains("session has ended")
        );
        page.enter("[data-testid=login-token]", "some token").await;
        page.press("[data-testid=login-submit]").await;
        assert!(
            page.said("[data-testid=login-error]")
                .await
                .contains("Status 4")
        );
    }
    {
        goto("/console/");
        let page = Mounted::new(App).await;
        let failure = page
            .said("[role=alert] strong, [data-testid=failure]")
            .await;
        assert!(failure.contains("Status 4"), "{failure}");
    }
    {
        goto("/console/elsewhere");
        let page = Mounted::new(App).await;
        assert_eq!(page.text("h1"), "Not found");
    }
    goto(&before);
}
