//! What the id of a denial leads to.

use leptos::prelude::*;

use crate::address::Page;
use crate::components::decisions::explained::Explained;
use crate::components::shell::Shell;
use crate::context::use_page;

/// The page.
#[component]
pub fn DecisionPage() -> impl IntoView {
    let page = use_page();
    let id = Memo::new(move |before: Option<&String>| match page.get() {
        Some(Page::Decision(id)) => id,
        // The page is being left.
        _ => before.cloned().unwrap_or_default(),
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
