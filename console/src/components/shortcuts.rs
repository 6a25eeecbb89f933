//! Single keys that do something, and the panel that lists them and switches them off.

use leptos::ev;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use web_sys::wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, KeyboardEvent};

use super::dialog::Dialog;
use crate::address::Page;
use crate::clock;
use crate::context::Console;
use crate::live::Phase;
use crate::shortcut::{Action, HELD, Keys, Press, listed};

/// Listens to them, unless they are switched off or nobody is logged in.
#[component]
pub fn Shortcuts() -> impl IntoView {
    let console = expect_context::<Console>();
    let keys = StoredValue::new(Keys::default());
    let act = StoredValue::new(acting(console));
    let handle = window_event_listener(ev::keydown, move |event| {
        let wanted = console.preferences.shortcuts.get_untracked();
        if !wanted || console.session.with_untracked(Option::is_none) {
            return;
        }
        let key = event.key();
        let press = pressed(&event, &key);
        let action = keys.try_update_value(|keys| keys.press(press)).flatten();
        if let Some(action) = action {
            // `/` opens a search of its own in some browsers.
            event.prevent_default();
            act.with_value(|act| act(action));
        }
    });
    on_cleanup(move || handle.remove());
    view! {
        <Dialog open=console.shortcuts_open title="Keyboard shortcuts" testid="shortcuts-panel">
            <Panel/>
        </Dialog>
    }
}

/// Does what a shortcut says.
fn acting(console: Console) -> impl Fn(Action) + Send + Sync + 'static {
    let navigate = use_navigate();
    move |action| match action {
        Action::Panel => console.shortcuts_open.set(true),
        Action::Search => focus_search(),
        Action::Live => match console.live.state.get_untracked().phase {
            Phase::Paused => console.live.resume(),
            _ => console.live.pause(),
        },
        Action::Go(page) => {
            let role = console.session.with_untracked(|session| {
                let session = session.as_ref()?;
                Some(session.role)
            });
            if role.is_some_and(|role| Page::nav(role).contains(&page)) {
                let options = NavigateOptions {
                    resolve: false,
                    ..NavigateOptions::default()
                };
                navigate(&page.address(), options);
            }
        }
    }
}

fn focus_search() {
    let found = document().query_selector("main input[type=\"search\"]");
    if let Ok(Some(search)) = found
        && let Some(search) = search.dyn_ref::<HtmlElement>()
    {
        let _ = search.focus();
    }
}

fn pressed<'a>(event: &KeyboardEvent, key: &'a str) -> Press<'a> {
    let target = event.target();
    let target = target.and_then(|target| target.dyn_into::<Element>().ok());
    let within = |selector: &str| {
        let found = target.as_ref().map(|target| target.closest(selector));
        matches!(found, Some(Ok(Some(_))))
    };
    Press {
        key,
        modified: event.ctrl_key() || event.alt_key() || event.meta_key(),
        typing: event.is_composing()
            || within(
                "textarea, select, input:not([type=\"checkbox\"], [type=\"radio\"]), [contenteditable]",
            ),
        in_dialog: matches!(document().query_selector("dialog[open]"), Ok(Some(_))),
        at_ms: clock::now_ms(),
    }
}

/// The list, and the switch.
#[component]
fn Panel() -> impl IntoView {
    let console = expect_context::<Console>();
    let enabled = console.preferences.shortcuts;
    let pages = untrack(|| console.role())
        .map(Page::nav)
        .unwrap_or_default();
    let row = |keys: &[&'static str], does: String| {
        let keys = keys.iter().map(|key| view! { <kbd>{*key}</kbd>" " });
        view! { <tr><th scope="row">{keys.collect_view()}</th><td>{does}</td></tr> }
    };
    let single = listed(&pages).into_iter();
    let single = single.map(|(keys, action)| row(&keys, action.name()));
    let held = HELD
        .iter()
        .map(|(keys, does)| row(keys, (*does).to_owned()));
    let head = || {
        view! { <thead class="unseen"><tr><th scope="col">"Keys"</th><th scope="col">"What they do"</th></tr></thead> }
    };
    view! {
        <label class="switch">
            <input
                type="checkbox"
                data-testid="shortcuts-enabled"
                prop:checked=move || enabled.get()
                on:change=move |event| enabled.set(event_target_checked(&event))
            />
            "Use single keys as shortcuts"
        </label>
        <p class="hint">
            "Switch them off if you use speech input, or if keys do things that you did not intend. "
            "They never act while you type in a field."
        </p>
        <table class="shortcuts" class:off=move || !enabled.get()>
            <caption class="unseen">"Single keys"</caption>
            {head()}
            <tbody>{single.collect_view()}</tbody>
        </table>
        <p class="hint">"These act always; on a Mac hold ⌘ in the place of Ctrl."</p>
        <table class="shortcuts" data-testid="shortcuts-held">
            <caption class="unseen">"Keys with Ctrl"</caption>
            {head()}
            <tbody>{held.collect_view()}</tbody>
        </table>
    }
}
