//! Cells with figures.

use leptos::prelude::*;
use weir_shared::wire::count::Count;

use crate::format;

/// A table cell with a count. `data-value` holds it without separators.
#[component]
pub fn CountCell(
    /// The count; none when it is not known.
    #[prop(into)]
    count: Signal<Option<Count>>,
    /// The name for scripted journeys.
    #[prop(optional)]
    testid: Option<&'static str>,
) -> impl IntoView {
    view! {
        <td class="figure" data-testid=testid data-value=move || count.get().map(|count| count.to_string())>
            {move || match count.get() {
                Some(count) => format::count(count.0).into_any(),
                None => view! { <Unknown/> }.into_any(),
            }}
        </td>
    }
}

/// A table cell with a rate per second.
#[component]
pub fn RateCell(
    /// The rate; none while it is not known.
    #[prop(into)]
    per_s: Signal<Option<f64>>,
    /// Whether the rate is of denials, which stand out while there are any.
    #[prop(optional)]
    of_denials: bool,
) -> impl IntoView {
    view! {
        <td class="figure" class:denying=move || of_denials && per_s.get().is_some_and(|per_s| per_s > 0.0)>
            {move || match per_s.get() {
                Some(per_s) => format::rate(Some(per_s)).into_any(),
                None => view! { <Unknown/> }.into_any(),
            }}
        </td>
    }
}

/// A figure that is not known.
#[component]
pub fn Unknown() -> impl IntoView {
    view! { <span aria-hidden="true">{format::UNKNOWN}</span><span class="unseen">"not known"</span> }
}
