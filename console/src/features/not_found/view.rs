//! An address of the console that no page has.

use leptos::prelude::*;

use crate::address::Page;
use crate::context::Console;

/// Says so, and leads to a page that exists.
#[component]
pub fn NotFoundPage() -> impl IntoView {
    let heading = NodeRef::new();
    expect_context::<Console>().arrive("Not found".into(), heading);
    view! {
        <main id="main" class="narrow" tabindex="-1" data-testid="page-not-found">
            <h1 node_ref=heading tabindex="-1">"Not found"</h1>
            <p>"The console has no page at this address. "<a href=Page::Overview.address()>"Go to the overview"</a></p>
        </main>
    }
}
