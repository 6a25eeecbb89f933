//! Dialogs, on the browser's own `<dialog>`: it keeps the focus inside, gives it back, and closes on Escape.

use leptos::html;
use leptos::prelude::*;

use super::field::{TextField, unique_id};

/// A dialog with a heading and a button that closes it. Its children are built each time it opens.
#[component]
pub fn Dialog(
    /// Whether it is open.
    open: RwSignal<bool>,
    /// Its heading.
    #[prop(into)]
    title: Signal<String>,
    /// Its name for scripted journeys.
    #[prop(default = "dialog")]
    testid: &'static str,
    /// Whether it may be as wide as a table needs.
    #[prop(optional)]
    wide: bool,
    /// What is in it.
    children: ChildrenFn,
) -> impl IntoView {
    let close = move |_| open.set(false);
    let content = move || {
        let inside = children.clone();
        view! {
            {inside()}
            // Last, so that the dialog opens with the focus on what it is for.
            <button type="button" class="dialog-close" aria-label="Close" data-testid="close" on:click=close>
                <span aria-hidden="true">"×"</span>
            </button>
        }
        .into_any()
    };
    modal(open, title, testid, wide, ViewFn::from(content))
}

/// Asks before something is done that cannot be undone, or not easily. It closes first, then calls `on_confirm`.
#[component]
pub fn Confirm(
    /// Whether it is open.
    open: RwSignal<bool>,
    /// The question.
    #[prop(into)]
    title: Signal<String>,
    /// What will happen, and what will not.
    #[prop(into)]
    detail: Signal<String>,
    /// What the button says: the verb, and what it is done to.
    #[prop(into)]
    confirm: Signal<String>,
    /// Whether something is lost by it.
    #[prop(optional)]
    danger: bool,
    /// The reason, for the audit log: there is a field for it if this is given.
    #[prop(optional)]
    why: Option<RwSignal<String>>,
    /// Does it.
    on_confirm: Callback<()>,
) -> impl IntoView {
    let agree = move || {
        open.set(false);
        on_confirm.run(());
    };
    let content = move || {
        let submit = move |event: leptos::ev::SubmitEvent| {
            event.prevent_default();
            agree();
        };
        view! {
            <form class="confirm" on:submit=submit>
                <p class="detail">{detail}</p>
                {why.map(|why| view! { <Why why/> })}
                <div class="actions">
                    <button type="button" data-testid="cancel" on:click=move |_| open.set(false)>"Cancel"</button>
                    <button type="submit" class=if danger { "danger" } else { "primary" } data-testid="confirm">
                        {confirm}
                    </button>
                </div>
            </form>
        }
        .into_any()
    };
    modal(open, title, "confirm-dialog", false, ViewFn::from(content))
}

/// The field for the reason of a change.
#[component]
pub fn Why(
    /// What is typed.
    why: RwSignal<String>,
) -> impl IntoView {
    view! { <TextField label="Reason" name="why" value=why hint="Optional. The audit log keeps it."/> }
}

fn modal(
    open: RwSignal<bool>,
    title: Signal<String>,
    testid: &'static str,
    wide: bool,
    content: ViewFn,
) -> AnyView {
    let node = NodeRef::<html::Dialog>::new();
    let heading = unique_id("dialog");
    let labelled_by = heading.clone();
    Effect::new(move |_| {
        let Some(dialog) = node.get() else {
            return;
        };
        if open.get() && !dialog.open() {
            let _ = dialog.show_modal();
        } else if !open.get() && dialog.open() {
            dialog.close();
        }
    });
    // The browser tells of a close later: by then the dialog may have been opened again.
    let closed = move |_| {
        if node.get_untracked().is_none_or(|dialog| !dialog.open()) {
            open.set(false);
        }
    };
    let is_open = Memo::new(move |_| open.get());
    let inside = move || is_open.get().then(|| content.run());
    view! {
        <dialog
            node_ref=node
            class:wide=wide
            aria-labelledby=labelled_by
            data-testid=testid
            on:close=closed
        >
            <h2 id=heading>{title}</h2>
            {inside}
        </dialog>
    }
    .into_any()
}
