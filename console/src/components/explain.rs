//! A `?` that explains the word beside it.

use leptos::prelude::*;

use super::field::unique_id;
use crate::glossary::Term;

/// A button that shows what the word means, above everything else until Escape or a press elsewhere.
#[component]
pub fn Explain(
    /// The word.
    term: Term,
) -> impl IntoView {
    let id = unique_id("explain");
    let target = id.clone();
    let label = format!("What is meant by “{}”?", term.name());
    view! {
        <button type="button" class="explain" aria-label=label popovertarget=target data-testid="explain">"?"</button>
        <span class="explained" id=id popover="auto"><strong>{term.name()}</strong>" "{term.meaning()}</span>
    }
}
