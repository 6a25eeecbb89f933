//! One tenant.

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use crate::address::Page;
use crate::components::shell::Shell;
use crate::context::{use_goto, use_named, use_page};
use crate::features::not_found::view::NotFoundPage;
use crate::features::tenant::model::query::TenantQuery;
use crate::features::tenant::view::TenantView;
use crate::lazy;
use crate::lazy::{fetch_part, shown_with};
use crate::visible::visible;

/// The page.
#[component]
pub fn TenantPage() -> impl IntoView {
    let name = use_named(|page| match page {
        Page::Tenant(name) => Some(name),
        _ => None,
    });
    let part = fetch_part(fetch);
    let named = Memo::new(move |_| name.with(|name| !name.is_empty()));
    move || {
        if !named.get() {
            return view! { <NotFoundPage/> }.into_any();
        }
        view! {
            <Shell title=Signal::derive(move || name.with(|name| visible(name)))>
                {shown_with(part, move || content(name))}
            </Shell>
        }
        .into_any()
    }
}

lazy!(
    figures,
    fetch,
    fn content(name: Memo<String>) {
        move || {
            let tenant = name.get();
            view! { <TenantView tenant/> }
        }
    }
);

/// An address with the tenant's name in its path leads to the one with the name in its query.
#[component]
pub fn MovedTenant() -> impl IntoView {
    let page = use_page();
    let search = use_location().search;
    let goto = use_goto();
    let found = page.get_untracked().is_some();
    Effect::new(move |_| {
        if let Some(page @ Page::Tenant(_)) = page.get_untracked() {
            let query = search.with_untracked(|search| TenantQuery::parse(search));
            goto(&page.address_with(&query.to_query_string()));
        }
    });
    (!found).then(|| view! { <NotFoundPage/> })
}
