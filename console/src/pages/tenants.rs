//! The tenants: who there is, what each is guaranteed, and what it got.

use leptos::prelude::*;

use crate::components::shell::Shell;
use crate::components::tenant_list::TenantList;

/// The page.
#[component]
pub fn TenantsPage() -> impl IntoView {
    view! {
        <Shell title="Tenants">
            <TenantList/>
        </Shell>
    }
}
