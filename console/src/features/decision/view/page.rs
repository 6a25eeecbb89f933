//! What the id of a denial leads to.

use leptos::prelude::*;

use crate::address::Page;
use crate::components::shell::Shell;
use crate::context::use_named;
use crate::features::decision::view::explained::Explained;
use crate::lazy;
use crate::lazy::{fetch_part, shown_with};

/// The page.
#[component]
pub fn DecisionPage() -> impl IntoView {
    let id = use_named(|page| match page {
        Page::Decision(id) => Some(id),
        _ => None,
    });
    let part = fetch_part(fetch);
    view! { <Shell title="Why was it denied?">{shown_with(part, move || content(id))}</Shell> }
}

lazy!(
    figures,
    fetch,
    fn content(id: Memo<String>) {
        move || {
            let id = id.get();
            view! { <Explained id/> }
        }
    }
);
