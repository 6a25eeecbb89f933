//! The tenants: the search, the table, and what stands there when there is nothing to show.

use std::sync::Arc;

use leptos::prelude::*;

use super::announcer::Announcer;
use super::tenant_table::{PAGE_ROWS, TenantTable};
use crate::overview::Overview;
use crate::table::query::{SEARCH_CHARS_MAX, TableQuery};
use crate::{announce, format};

/// The section of the overview that holds the table.
#[component]
pub fn Tenants(
    /// The figures.
    #[prop(into)]
    overview: Signal<Arc<Overview>>,
    /// What the operator asked for.
    query: RwSignal<TableQuery>,
    /// Says what a search or a sort did.
    announcer: Announcer,
) -> impl IntoView {
    let found = RwSignal::new(0);
    let focused = RwSignal::new(false);
    let rows_max = RwSignal::new(PAGE_ROWS);
    let seen = Memo::new(move |_| overview.with(|overview| overview.tenants.len()));
    let any_seen = Memo::new(move |_| seen.get() > 0);
    speak(query, found, announcer);
    let more = move || found.get().saturating_sub(rows_max.get());
    view! {
        <section aria-labelledby="tenants-heading">
            <div class="section-head">
                <h2 id="tenants-heading">"Tenants"</h2>
                {move || any_seen.get().then(|| view! {
                    <Search query/>
                    <span class="muted" data-testid="found">{move || count_line(found.get(), seen.get())}</span>
                    {move || focused.get().then(|| view! { <span class="muted">"Order held while you are in the table"</span> })}
                })}
            </div>
            {move || if any_seen.get() {
                view! {
                    <div class="scroll" role="region" aria-labelledby="tenants-heading" tabindex="0">
                        <TenantTable overview query rows_max focused found/>
                    </div>
                    {move || (found.get() == 0).then(|| view! { <NoMatch query/> })}
                    {move || (more() > 0).then(|| view! {
                        <p class="more">
                            <button type="button" on:click=move |_| rows_max.update(|rows| *rows += PAGE_ROWS)>
                                "Show more"
                            </button>
                            <span class="muted">{move || format::counted(more(), "row")}" not shown"</span>
                        </p>
                    })}
                }.into_any()
            } else {
                view! { <NobodyYet/> }.into_any()
            }}
        </section>
    }
}

fn count_line(found: usize, seen: usize) -> String {
    if found == seen {
        format::counted(seen, "row")
    } else {
        format!(
            "{} of {}",
            format::count(found as u128),
            format::counted(seen, "row")
        )
    }
}

fn speak(query: RwSignal<TableQuery>, found: RwSignal<usize>, announcer: Announcer) {
    Effect::new(move |before: Option<TableQuery>| {
        let after = query.get();
        let said = before
            .and_then(|before| announce::query_change(&before, &after, found.get_untracked()));
        if let Some(said) = said {
            announcer.say(said);
        }
        after
    });
}

#[component]
fn Search(query: RwSignal<TableQuery>) -> impl IntoView {
    view! {
        <label class="search">
            <span>"Search"</span>
            <input
                type="search"
                data-testid="search"
                placeholder="tenant or tier"
                maxlength=SEARCH_CHARS_MAX.to_string()
                prop:value=move || query.with(|query| query.search.clone())
                on:input=move |event| query.update(|query| query.search_for(&event_target_value(&event)))
            />
        </label>
    }
}

#[component]
fn NoMatch(query: RwSignal<TableQuery>) -> impl IntoView {
    view! {
        <p class="empty" data-testid="no-match">
            {move || query.with(|query| format!("No tenant or tier contains “{}”. ", query.search.trim()))}
            <button type="button" on:click=move |_| query.update(|query| query.search.clear())>"Clear the search"</button>
        </p>
    }
}

/// Says how to make the first figure appear.
#[component]
fn NobodyYet() -> impl IntoView {
    let origin = window().location().origin().unwrap_or_default();
    view! {
        <div class="empty" data-testid="empty">
            <p>
                "No request has been decided yet. Send one; its tenant appears here within seconds. "
                <code>"tokens"</code>" is the budget of the policy that Weir ships: name one of yours if you changed it."
            </p>
            <pre tabindex="0"><code>
                {format!(
                    "curl {origin}/v1/check \\\n  -H 'authorization: Bearer TOKEN' \\\n  -H 'content-type: application/json' \\\n  \
                     -d '{{\"tenant\":\"acme\",\"budget\":\"tokens\",\"cost\":1}}'"
                )}
            </code></pre>
        </div>
    }
}
