//! The regions: how they are, and where the units of each budget are now.

use leptos::prelude::*;

use crate::components::shell::Shell;
use crate::features::regions::view::list::RegionsView;
use crate::lazy;
use crate::lazy::{fetch_part, shown_with};

/// The page.
#[component]
pub fn RegionsPage() -> impl IntoView {
    let part = fetch_part(fetch);
    view! { <Shell title="Regions">{shown_with(part, content)}</Shell> }
}

lazy!(
    figures,
    fetch,
    fn content() {
        view! { <RegionsView/> }
    }
);
