//! What the id of a denial leads to.

use leptos::prelude::*;

use crate::address::Page;
use crate::components::decisions::explained::Explained;
use crate::components::shell::Shell;
use crate::context::use_named;

/// The page.
#[component]
pub fn DecisionPage() -> impl IntoView {
    let id = use_named(|page| match page {
        Page::Decision(id) => Some(id),
        _ => None,
    });
    view! {
        <Shell title="Why was it denied?">
            {move || {
                let id = id.get();
                view! { <Explained id/> }
            }}
        </Shell>
    }
}
