//! The headings of the list, which sort it.

use leptos::prelude::*;

use super::filters::AskTenants;
use crate::components::explain::Explain;
use crate::features::tenants::model::column::Column;
use crate::features::tenants::model::query::TenantsQuery;

/// The row of headings.
#[component]
pub fn Head(
    /// What is asked for.
    query: Memo<TenantsQuery>,
    /// Asks for something else.
    ask: AskTenants,
) -> impl IntoView {
    let heading = move |column: Column| {
        let sorted = Memo::new(move |_| query.with(|query| query.aria_sort(column)));
        let unit = column.unit().unwrap_or_default();
        let Some(key) = column.key() else {
            return view! {
                <th scope="col" class=column.class()>
                    <span class="heading">{column.heading()}<small>{unit}</small></span>
                </th>
            }
            .into_any();
        };
        let press = move |_| {
            let mut wanted = query.get_untracked();
            wanted.press(column);
            ask.run((wanted, true));
        };
        view! {
            <th scope="col" class=column.class() aria-sort=move || sorted.get()>
                <button type="button" class="sort" data-testid=format!("sort-{key}") on:click=press>
                    <span class="heading">{column.heading()}<small>{unit}</small></span>
                    <span class="arrow" aria-hidden="true">
                        {move || match sorted.get() {
                            "ascending" => "▲",
                            "descending" => "▼",
                            _ => "",
                        }}
                    </span>
                </button>
                {column.term().map(|term| view! { <Explain term/> })}
            </th>
        }
        .into_any()
    };
    view! {
        <thead>
            <tr aria-rowindex="1">{Column::ALL.map(heading).into_iter().collect_view()}</tr>
        </thead>
    }
}
