//! Short messages of what happened.

use leptos::prelude::*;

use crate::context::toasts::Toasts;
use crate::toast::{Kind, Toast};

/// Where they stand. What failed interrupts a screen reader, what was done waits until it is idle.
#[component]
pub fn ToastsRegion(
    /// Whose.
    toasts: Toasts,
) -> impl IntoView {
    let list = move |kind: Kind| {
        let each = move || toasts.queue.with(|queue| queue.of(kind));
        view! { <For each=each key=|toast| toast.number let:toast><One toasts toast/></For> }
    };
    view! {
        <div
            class="toasts"
            on:pointerenter=move |_| toasts.hold()
            on:pointerleave=move |_| toasts.wait()
            on:focusin=move |_| toasts.hold()
            on:focusout=move |_| toasts.wait()
        >
            <div role="alert">{list(Kind::Failed)}</div>
            <div role="status">{list(Kind::Done)}</div>
        </div>
    }
}

#[component]
fn One(toasts: Toasts, toast: Toast) -> impl IntoView {
    let Toast {
        number, kind, text, ..
    } = toast;
    view! {
        <div class="toast" data-testid="toast" data-kind=kind.slug()>
            <p>{text}</p>
            <button type="button" data-testid="dismiss" on:click=move |_| toasts.dismiss(number)>"Dismiss"</button>
        </div>
    }
}
