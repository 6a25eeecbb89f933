//! One tenant.

use leptos::prelude::*;

use crate::address::Page;
use crate::app::use_page;
use crate::components::shell::Shell;
use crate::components::tenant_page::TenantView;

/// The page.
#[component]
pub fn TenantPage() -> impl IntoView {
    let page = use_page();
    let name = Memo::new(move |before: Option<&String>| match page.get() {
        Some(Page::Tenant(name)) => name,
        // On the way to another page it is still this one's.
        _ => before.cloned().unwrap_or_default(),
    });
    view! {
        <Shell title=name>
            {move || {
                let tenant = name.get();
                view! { <TenantView tenant/> }
            }}
        </Shell>
    }
}
