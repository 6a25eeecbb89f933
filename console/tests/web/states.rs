//! What stands in the place of what is not there.

use leptos::prelude::*;
use wasm_bindgen_test::wasm_bindgen_test;
use weir_console::api::error::ApiError;
use weir_console::components::states::States;

use crate::support::{Mounted, owner, settle};

struct Shown {
    page: Mounted,
    ready: RwSignal<bool>,
    error: RwSignal<Option<ApiError>>,
    empty: RwSignal<Option<String>>,
    tries: RwSignal<u32>,
    // Dropped last: it owns the signals.
    _owner: Owner,
}

async fn shown() -> Shown {
    let owner = owner();
    let (ready, error) = (RwSignal::new(false), RwSignal::new(None));
    let (empty, tries) = (RwSignal::new(None), RwSignal::new(0));
    let retry = Callback::new(move |()| tries.update(|tries| *tries += 1));
    let page = Mounted::new(move || {
        view! { <States ready error retry empty><p class="value">"42 units"</p></States> }
    })
    .await;
    Shown {
        page,
        ready,
        error,
        empty,
        tries,
        _owner: owner,
    }
}

impl Shown {
    /// Which states stand on the page.
    fn states(&self) -> Vec<String> {
        self.page.attributes("[data-testid^=state-]", "data-testid")
    }

    fn values(&self) -> usize {
        self.page.count(".value")
    }
}

#[wasm_bindgen_test]
async fn it_is_waited_for_shown_and_empty() {
    let shown = shown().await;
    assert_eq!(shown.states(), ["state-loading"]);
    assert_eq!(shown.page.count("[role=status]"), 1, "it is read aloud");
    shown.ready.set(true);
    settle().await;
    assert_eq!((shown.states().len(), shown.values()), (0, 1));
    shown
        .empty
        .set(Some("No budget yet. Add one to the policy.".to_owned()));
    settle().await;
    assert_eq!(
        (shown.states(), shown.values()),
        (vec!["state-empty".to_owned()], 0)
    );
    assert!(
        shown
            .page
            .text("[data-testid=state-empty]")
            .contains("Add one")
    );
}

#[wasm_bindgen_test]
async fn a_failure_without_a_value_says_why_and_can_be_tried_again() {
    let shown = shown().await;
    shown
        .error
        .set(Some(ApiError::Timeout { after_ms: 10_000 }));
    settle().await;
    assert_eq!(shown.states(), ["state-error"]);
    assert_eq!(
        shown.page.count("[role=alert]"),
        1,
        "it is read aloud at once"
    );
    shown.page.press("[data-testid=retry]").await;
    assert_eq!(shown.tries.get_untracked(), 1);
    let newer = ApiError::Malformed {
        reason: "regions".to_owned(),
    };
    shown.error.set(Some(newer));
    settle().await;
    assert!(
        shown
            .page
            .text("[data-testid=state-error]")
            .contains("Reload")
    );
}

#[wasm_bindgen_test]
async fn a_failure_beside_a_value_leaves_the_value() {
    let shown = shown().await;
    shown.ready.set(true);
    shown.error.set(Some(ApiError::Status { status: 503 }));
    settle().await;
    assert_eq!(
        (shown.states(), shown.values()),
        (vec!["state-stale".to_owned()], 1)
    );
    shown.error.set(None);
    settle().await;
    assert_eq!((shown.states().len(), shown.values()), (0, 1));
}

#[wasm_bindgen_test]
async fn what_the_role_does_not_permit_is_no_error_to_try_again() {
    let shown = shown().await;
    shown.error.set(Some(ApiError::Status { status: 403 }));
    settle().await;
    assert_eq!(shown.states(), ["state-forbidden"]);
    assert_eq!(shown.page.count("[data-testid=retry]"), 0);
}

#[wasm_bindgen_test]
async fn what_is_shown_stays_while_the_value_changes() {
    let _owner = owner();
    let value = RwSignal::new(None::<String>);
    // A signal that is worked out tells of each change of what it is worked out of.
    let ready = Signal::derive(move || value.with(Option::is_some));
    let error = RwSignal::new(None::<ApiError>);
    let page = Mounted::new(move || {
        let text = RwSignal::new(String::new());
        let typed = move |event| {
            text.set(event_target_value(&event));
            value.set(Some(text.get_untracked()));
        };
        view! {
            <States ready error retry=Callback::new(|()| ())>
                <input data-testid="typed" prop:value=move || text.get() on:input=typed/>
            </States>
        }
    })
    .await;
    value.set(Some(String::new()));
    settle().await;
    let field = page.one("[data-testid=typed]");
    field.focus().unwrap();
    for text in ["2", "25", "250"] {
        page.enter("[data-testid=typed]", text).await;
        let focused = document().active_element();
        assert_eq!(focused.as_deref(), Some(&**field), "after {text}");
        assert_eq!(value.get_untracked().as_deref(), Some(text));
    }
    error.set(Some(ApiError::Status { status: 503 }));
    settle().await;
    assert_eq!(document().active_element().as_deref(), Some(&**field));
}
