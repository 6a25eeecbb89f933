//! The table of tenants.

use std::sync::Arc;

use leptos::prelude::*;

use super::tenant_row::TenantRow;
use crate::clock;
use crate::overview::Overview;
use crate::table::column::Column;
use crate::table::order::HeldOrder;
use crate::table::query::TableQuery;

/// Rows put on the page at once; more on demand. A page of thousands of rows that change each second is slow to no use.
pub const PAGE_ROWS: usize = 200;

/// After the pointer last moved in the table, its rows keep their places this long.
const POINTER_HOLD_MS: u64 = 10_000;

/// Headings that sort, one row a tenant.
#[component]
pub fn TenantTable(
    /// The figures.
    #[prop(into)]
    overview: Signal<Arc<Overview>>,
    /// What the operator asked for.
    query: RwSignal<TableQuery>,
    /// Rows on the page at most.
    #[prop(into)]
    rows_max: Signal<usize>,
    /// Whether the focus is in the table's body, which keeps the rows where they are.
    focused: RwSignal<bool>,
    /// Told how many rows match.
    found: RwSignal<usize>,
) -> impl IntoView {
    let held = StoredValue::new(HeldOrder::default());
    let pointer_at_ms = StoredValue::new(None::<u64>);
    let order = Memo::new(move |_| {
        let pointed = pointer_at_ms
            .get_value()
            .is_some_and(|at_ms| clock::now_ms() - at_ms < POINTER_HOLD_MS);
        let busy = pointed || focused.get_untracked();
        let (overview, query) = (overview.get(), query.get());
        held.try_update_value(|held| held.update(&overview, &query, busy).to_vec())
            .unwrap_or_default()
    });
    Effect::new(move |_| found.set(order.with(Vec::len)));
    let rows = move || {
        order.with(|order| {
            order
                .iter()
                .take(rows_max.get())
                .cloned()
                .collect::<Vec<_>>()
        })
    };
    view! {
        <table class="tenants" data-testid="tenants">
            <caption class="unseen">"Admitted and denied per tenant"</caption>
            <Headings query/>
            <tbody
                on:focusin=move |_| focused.set(true)
                on:focusout=move |_| focused.set(false)
                on:pointermove=move |_| pointer_at_ms.set_value(Some(clock::now_ms()))
            >
                <For each=rows key=String::clone let:tenant>
                    <TenantRow overview query tenant/>
                </For>
            </tbody>
        </table>
    }
}

#[component]
fn Headings(query: RwSignal<TableQuery>) -> impl IntoView {
    let tall = [Column::Tenant, Column::Tier, Column::Weight];
    let low = [
        Column::AdmittedCalls,
        Column::AdmittedUnits,
        Column::AdmittedRate,
        Column::DeniedCalls,
        Column::DeniedUnits,
        Column::DeniedRate,
    ];
    view! {
        <thead>
            <tr>
                {tall.map(|column| view! { <Heading query column rows=2/> }).collect_view()}
                <th scope="colgroup" colspan="3" class="group">"Admitted"</th>
                <th scope="colgroup" colspan="3" class="group">"Denied"</th>
                <Heading query column=Column::Share rows=2/>
            </tr>
            <tr>{low.map(|column| view! { <Heading query column rows=1/> }).collect_view()}</tr>
        </thead>
    }
}

#[component]
fn Heading(query: RwSignal<TableQuery>, column: Column, rows: u8) -> impl IntoView {
    let sorted = Memo::new(move |_| query.with(|query| query.aria_sort(column)));
    let class = match column {
        Column::Tenant => "name",
        Column::Tier => "",
        _ => "figure",
    };
    view! {
        <th scope="col" class=class rowspan=rows.to_string() aria-sort=move || sorted.get()>
            <button
                type="button"
                class="sort"
                data-testid=format!("sort-{}", column.slug())
                aria-label=column.name()
                on:click=move |_| query.update(|query| query.press(column))
            >
                {column.heading()}
                <span class="arrow" aria-hidden="true">
                    {move || match sorted.get() {
                        "ascending" => "▲",
                        "descending" => "▼",
                        _ => "",
                    }}
                </span>
            </button>
        </th>
    }
}
