//! What stands in the place of what is not there: it is on its way, it cannot be had, it is not permitted, or there is
//! nothing of it.

use leptos::prelude::*;

use super::notice::{Notice, Severity};
use crate::api::error::ApiError;

/// Shows the children once there is a value. An error beside a value says that what is shown is old.
///
/// The children stay the same elements for as long as there is a value: a form among them keeps the focus and the caret,
/// however often the value changes.
#[component]
pub fn States(
    /// Whether there is a value.
    #[prop(into)]
    ready: Signal<bool>,
    /// Why the last reading failed.
    #[prop(into)]
    error: Signal<Option<ApiError>>,
    /// Reads again.
    retry: Callback<()>,
    /// What to say when the value has nothing to show: what would fill it.
    #[prop(optional, into)]
    empty: Option<Signal<Option<String>>>,
    /// What is shown of a value.
    children: ChildrenFn,
) -> impl IntoView {
    // A signal that is worked out tells of each change of what it is worked out of, and not of its own alone.
    let ready = Memo::new(move |_| ready.get());
    let nothing = Memo::new(move |_| empty.and_then(|empty| empty.get()));
    let children = StoredValue::new(children);
    view! {
        {move || ready.get().then(|| error.get().map(|error| view! { <Old error retry/> }))}
        {move || if ready.get() {
            match nothing.get() {
                Some(text) => view! { <p class="state" data-testid="state-empty">{text}</p> }.into_any(),
                None => children.with_value(|children| children()),
            }
        } else {
            error.get().map_or_else(
                || view! { <Waiting/> }.into_any(),
                |error| view! { <Missing error retry/> }.into_any(),
            )
        }}
    }
}

/// It is on its way.
#[component]
pub fn Waiting() -> impl IntoView {
    view! {
        <p class="state waiting" role="status" data-testid="state-loading">"Loading…"</p>
    }
}

/// It cannot be had, and why.
#[component]
pub fn Missing(
    /// Why.
    error: ApiError,
    /// Reads again.
    retry: Callback<()>,
) -> impl IntoView {
    if error.is_forbidden() {
        return view! {
            <div class="state" role="status" data-testid="state-forbidden">
                <p><strong>"Your role does not permit this."</strong>" "{error.advice()}</p>
            </div>
        }
        .into_any();
    }
    let title = format!("{}.", error.title());
    let detail = format!("{} {}", error.detail(), error.advice());
    view! {
        <Notice severity=Severity::Error title detail testid="state-error">
            <button type="button" data-testid="retry" on:click=move |_| retry.run(())>"Try again"</button>
        </Notice>
    }
    .into_any()
}

/// What is shown is old, and why.
#[component]
fn Old(error: ApiError, retry: Callback<()>) -> impl IntoView {
    let detail = format!(
        "This shows the last successful read. {}: {}",
        error.title(),
        error.detail()
    );
    view! {
        <Notice severity=Severity::Warning title="Not up to date." detail testid="state-stale">
            <button type="button" data-testid="retry" on:click=move |_| retry.run(())>"Try again"</button>
        </Notice>
    }
}
