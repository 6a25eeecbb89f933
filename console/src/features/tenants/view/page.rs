//! The tenants: who there is, what each is guaranteed, and what it got.

use leptos::prelude::*;

use crate::components::shell::Shell;
use crate::features::tenants::view::TenantList;
use crate::lazy;
use crate::lazy::{fetch_part, shown_with};

/// The page.
#[component]
pub fn TenantsPage() -> impl IntoView {
    let part = fetch_part(fetch);
    view! { <Shell title="Tenants">{shown_with(part, content)}</Shell> }
}

lazy!(
    figures,
    fetch,
    fn content() {
        view! { <TenantList/> }
    }
);
