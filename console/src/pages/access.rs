//! Tokens and roles.

use leptos::prelude::*;

use crate::components::access::Access;
use crate::components::shell::Shell;

/// The page.
#[component]
pub fn AccessPage() -> impl IntoView {
    view! {
        <Shell title="Access">
            <Access/>
        </Shell>
    }
}
