//! What the words of the console and of its policy mean, on one page.

use leptos::prelude::*;

use crate::components::shell::Shell;
use crate::glossary::Term;
use crate::lazy;
use crate::lazy::{fetch_part, shown_with};

/// The page.
#[component]
pub fn GlossaryPage() -> impl IntoView {
    let part = fetch_part(fetch);
    view! { <Shell title="Glossary">{shown_with(part, content)}</Shell> }
}

lazy!(
    figures,
    fetch,
    fn content() {
        view! {
            <dl class="glossary">
                {Term::sorted().into_iter().map(|term| view! {
                    <div><dt>{term.name()}</dt><dd>{term.meaning()}</dd></div>
                }).collect_view()}
            </dl>
        }
    }
);
