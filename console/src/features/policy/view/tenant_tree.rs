//! Named tenants, each below its parent.

use leptos::prelude::*;
use serde_json::Value;

use super::draft_field::is_at;
use super::editor::Editor;
use crate::address::Page;
use crate::components::field::unique_id;
use crate::difference::words;
use crate::features::policy::model::tenant_tree::{Branch, tree};
use crate::format;
use crate::visible::visible;

/// Rows that are shown at first, and so many more at a time.
const ROWS: usize = 100;

/// The tree, with a search.
#[component]
pub fn TenantTree() -> impl IntoView {
    let editor = expect_context::<Editor>();
    let search = RwSignal::new(String::new());
    let rows_max = RwSignal::new(ROWS);
    let found = Memo::new(move |_| {
        editor.draft.with(|draft| {
            let tenants = draft.as_ref().and_then(|draft| draft.at("/tenants"));
            let tenants = tenants.unwrap_or(&Value::Null);
            search.with(|search| tree(tenants, search, rows_max.get()))
        })
    });
    let counted = move || {
        found.with(|tree| match (tree.named, tree.found) {
            (0, _) => "The policy names no tenant. Any tenant is in a tier by rule, and is named by its first change.".to_owned(),
            (named, found) if named == found => format::counted(named, "tenant"),
            (named, found) => format!("{} of {}", format::count(found as u128), format::counted(named, "tenant")),
        })
    };
    let flaw = move || {
        let flaw = editor.flaw().filter(|flaw| is_at(flaw, "/tenants"))?;
        let text = format!("{}: {}", words(&flaw.pointer), flaw.message);
        Some(view! { <p class="notice error" data-testid="form-error">{text}</p> })
    };
    let rows = move || found.with(|tree| tree.rows.iter().map(row).collect_view());
    let table =
        move || {
            (!found.with(|tree| tree.rows.is_empty())).then(|| view! {
            <div class="scroll" tabindex="0" role="region" aria-label="Tenants of the policy">
                <table class="tree cards">
                    <thead>
                        <tr>
                            <th scope="col">"Tenant"</th>
                            <th scope="col">"Tier"</th>
                            <th scope="col" class="figure">"Weight"</th>
                            <th scope="col" class="figure">"Below it"</th>
                            <th scope="col" class="figure">"Overrides"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        })
        };
    let more = move || {
        let shown = found.with(|tree| tree.rows.len());
        (shown >= rows_max.get()).then(|| {
            let add = move |_| rows_max.update(|rows| *rows += ROWS * 5);
            view! { <button type="button" data-testid="more" on:click=add>"Show more"</button> }
        })
    };
    let id = unique_id("search-tenants");
    view! {
        {flaw}
        <div class="section-head">
            <div class="search">
                <label for=id.clone()>"Search"</label>
                <input
                    id=id
                    type="search"
                    data-testid="search"
                    autocomplete="off"
                    spellcheck="false"
                    prop:value=move || search.get()
                    on:input=move |event| search.set(event_target_value(&event))
                />
            </div>
            <p class="muted" role="status" data-testid="found">{counted}</p>
        </div>
        {table}
        {more}
    }
}

fn row(branch: &Branch) -> AnyView {
    let depth = branch.depth.min(8);
    let by_rule = |value: &Option<String>, otherwise: &'static str| match value {
        Some(value) => value.clone().into_any(),
        None => view! { <span class="muted">{otherwise}</span> }.into_any(),
    };
    view! {
        <tr data-testid="tree-row" data-tenant=branch.tenant.clone() data-depth=depth.to_string()>
            <th scope="row" class=format!("branch depth-{depth}")>
                <a href=Page::Tenant(branch.tenant.clone()).address()>{visible(&branch.tenant)}</a>
                {(depth > 0).then(|| view! { <span class="unseen">{format!(" (level {})", depth + 1)}</span> })}
            </th>
            <td data-label="Tier">{by_rule(&branch.tier, "by rule")}</td>
            <td class="figure" data-label="Weight">{by_rule(&branch.weight, "its tier's")}</td>
            <td class="figure" data-label="Below it">{format::count(branch.children as u128)}</td>
            <td class="figure" data-label="Overrides">{format::count(branch.overrides as u128)}</td>
        </tr>
    }
    .into_any()
}
