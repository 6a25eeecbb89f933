//! Tokens and roles.

use leptos::prelude::*;

use crate::components::shell::Shell;
use crate::features::access::view::Access;
use crate::lazy;
use crate::lazy::{fetch_part, shown_with};

/// The page.
#[component]
pub fn AccessPage() -> impl IntoView {
    let part = fetch_part(fetch);
    view! { <Shell title="Access">{shown_with(part, content)}</Shell> }
}

lazy!(
    access,
    fetch,
    fn content() {
        view! { <Access/> }
    }
);
