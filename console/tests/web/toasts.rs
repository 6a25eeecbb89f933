//! Short messages of what happened.

use leptos::prelude::*;
use wasm_bindgen_test::wasm_bindgen_test;
use weir_console::api::error::ApiError;
use weir_console::components::toasts::ToastsRegion;
use weir_console::context::toasts::Toasts;

use crate::support::{Mounted, owner, settle};

#[wasm_bindgen_test]
async fn what_was_done_and_what_failed_are_announced_and_can_be_dismissed() {
    let _owner = owner();
    let toasts = Toasts::new();
    let page = Mounted::new(move || view! { <ToastsRegion toasts/> }).await;
    // The regions are there before what is said in them, else a screen reader does not notice.
    assert_eq!(
        (page.count("[role=status]"), page.count("[role=alert]")),
        (1, 1)
    );
    assert_eq!(page.count("[data-testid=toast]"), 0);
    toasts.say("Saved: the weight of acme is 3.");
    toasts.fail(&ApiError::Status { status: 503 });
    settle().await;
    assert!(
        page.text("[role=status]")
            .contains("the weight of acme is 3")
    );
    assert!(page.text("[role=alert]").contains("503"));
    assert_eq!(
        page.attributes("[role=alert] [data-testid=toast]", "data-kind"),
        ["failed"]
    );
    page.press("[role=status] [data-testid=dismiss]").await;
    assert_eq!(
        page.count("[data-testid=toast]"),
        1,
        "one is dismissed, and not both"
    );
    assert_eq!(page.count("[role=alert] [data-testid=toast]"), 1);
}

#[wasm_bindgen_test]
async fn many_messages_do_not_fill_the_page() {
    let _owner = owner();
    let toasts = Toasts::new();
    let page = Mounted::new(move || view! { <ToastsRegion toasts/> }).await;
    for number in 0..50 {
        toasts.say(format!("Message {number}"));
    }
    settle().await;
    let shown = page.count("[data-testid=toast]");
    assert!((1..=5).contains(&shown), "{shown} messages");
    assert!(
        page.text(".toasts").contains("Message 49"),
        "the newest is shown"
    );
}
