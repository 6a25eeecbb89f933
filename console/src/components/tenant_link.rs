//! A tenant's name, leading to its page.

use leptos::prelude::*;

use crate::address::Page;
use crate::tenant_name::TenantName;

/// The name. What stands for several tenants, or none, leads nowhere.
#[component]
pub fn TenantLink(
    /// The name that is counted under.
    tenant: String,
) -> impl IntoView {
    let name = TenantName::of(&tenant);
    match name {
        TenantName::Named(_) => {
            let address = Page::Tenant(tenant.clone()).address();
            view! { <a class="tenant-name" href=address data-testid="tenant-link">{name.label()}</a> }
                .into_any()
        }
        TenantName::Others | TenantName::Anonymous => view! {
            <em class="tenant-name" title=name.note()>{name.label()}</em>
        }
        .into_any(),
    }
}
