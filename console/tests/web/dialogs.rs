//! Dialogs.

use leptos::prelude::*;
use wasm_bindgen_test::wasm_bindgen_test;
use weir_console::components::dialog::{Confirm, Dialog};

use crate::support::{Mounted, owner, settle};

#[wasm_bindgen_test]
async fn what_cannot_be_undone_is_asked_for_and_done_once() {
    let _owner = owner();
    let (open, done) = (RwSignal::new(false), RwSignal::new(Vec::new()));
    let why = RwSignal::new(String::new());
    let on_confirm = Callback::new(move |()| done.update(|done| done.push(why.get_untracked())));
    let page = Mounted::new(move || {
        view! {
            <Confirm open title="Reset acme?" detail="Counters begin again. No units are refunded."
                confirm="Reset acme" danger=true why on_confirm/>
        }
    })
    .await;
    assert_eq!(page.count("dialog[open]"), 0);
    assert_eq!(
        page.count("[data-testid=confirm]"),
        0,
        "nothing to press by accident"
    );

    open.set(true);
    settle().await;
    assert_eq!(
        page.count("dialog[open]:modal"),
        1,
        "the rest of the page is out of reach"
    );
    assert_eq!(page.named_by("dialog", "aria-labelledby"), "Reset acme?");
    assert!(page.text("dialog").contains("No units are refunded."));
    page.press("[data-testid=cancel]").await;
    assert_eq!(
        (page.count("dialog[open]"), open.get_untracked()),
        (0, false)
    );
    assert!(
        done.get_untracked().is_empty(),
        "a cancelled reset was done"
    );

    open.set(true);
    settle().await;
    page.enter("[data-testid=field-why]", "asked by the tenant")
        .await;
    page.press("[data-testid=confirm]").await;
    assert_eq!(done.get_untracked(), ["asked by the tenant"]);
    assert_eq!(page.count("dialog[open]"), 0);
}

#[wasm_bindgen_test]
async fn a_dialog_gives_the_focus_back_and_is_built_anew() {
    let _owner = owner();
    let (open, builds) = (RwSignal::new(false), RwSignal::new(0));
    let page = Mounted::new(move || {
        view! {
            <button class="opener" on:click=move |_| open.set(true)>"Open"</button>
            <Dialog open title="Shortcuts" testid="panel">
                {builds.update(|builds| *builds += 1)}
                <input class="inside"/>
            </Dialog>
        }
    })
    .await;
    let focused = || {
        document()
            .active_element()
            .map(|element| element.class_name())
    };
    for opened in 1..=2 {
        page.one(".opener").focus().unwrap();
        page.press(".opener").await;
        assert_eq!(page.count("[data-testid=panel][open]"), 1);
        assert_eq!(focused().as_deref(), Some("inside"), "the focus goes in");
        page.press("[data-testid=close]").await;
        assert_eq!(page.count(".inside"), 0);
        assert_eq!(focused().as_deref(), Some("opener"), "the focus comes back");
        assert_eq!(builds.get_untracked(), opened);
    }
}
