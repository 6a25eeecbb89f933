//! One region: how it is, what goes through it, and what it holds.

use leptos::prelude::*;

use crate::address::Page;
use crate::api::ask::segment;
use crate::components::shell::Shell;
use crate::context::use_named;
use crate::features::region::view::one::OneRegion;
use crate::lazy;
use crate::lazy::{fetch_part, shown_with};
use crate::region_name::in_full;

/// The region that the address names.
#[component]
pub fn RegionPage() -> impl IntoView {
    let name = use_named(|page| match page {
        Page::Region(name) => Some(name),
        _ => None,
    });
    let title = Signal::derive(move || in_full(&name.get()));
    let actions = move || {
        let decisions =
            move || Page::Decisions.address_with(&format!("region={}", segment(&name.get())));
        view! {
            <p class="links">
                <a href=Page::Regions.address()>"All regions"</a>
                <a href=decisions>"Its decisions"</a>
            </p>
        }
    };
    let part = fetch_part(fetch);
    view! { <Shell title=title actions=actions>{shown_with(part, move || content(name))}</Shell> }
}

lazy!(
    figures,
    fetch,
    fn content(name: Memo<String>) {
        move || view! { <OneRegion name=name.get()/> }
    }
);
