//! The regions: how they are, and where the units of each budget are now.

use leptos::prelude::*;

use crate::components::region_page::view::RegionsView;
use crate::components::shell::Shell;

/// The page.
#[component]
pub fn RegionsPage() -> impl IntoView {
    view! {
        <Shell title="Regions">
            <RegionsView/>
        </Shell>
    }
}
