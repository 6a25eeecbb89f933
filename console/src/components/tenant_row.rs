//! One tenant's row, and its detail beneath while it is open.

use std::sync::Arc;

use leptos::prelude::*;

use super::counts::{CountCell, RateCell};
use super::tenant_detail::TenantDetail;
use crate::format;
use crate::overview::{Overview, TenantRow as Row};
use crate::table::column::Column;
use crate::table::query::TableQuery;
use crate::tenant_name::TenantName;

/// The row of the tenant that is counted under `tenant`.
#[component]
pub fn TenantRow(
    /// The figures.
    overview: Signal<Arc<Overview>>,
    /// Which rows are open.
    query: RwSignal<TableQuery>,
    /// The name that is counted under.
    tenant: String,
) -> impl IntoView {
    let key = tenant.clone();
    let row = Memo::new(move |_| {
        overview
            .with(|overview| overview.tenants.get(&key).cloned())
            .unwrap_or_default()
    });
    let key = tenant.clone();
    let open = Memo::new(move |_| query.with(|query| query.open.contains(&key)));
    let total = Signal::derive(move || row.with(|row| row.total));
    let rate = Signal::derive(move || row.with(|row| row.rate));
    let kind = TenantName::of(&tenant).kind();
    view! {
        <tr data-testid="tenant-row" data-tenant=tenant data-kind=kind>
            <NameCell query tenant=tenant.clone() open/>
            <td>{move || tier(&row.get())}</td>
            <td class="figure">{move || row.with(|row| format::weight(row.weight))}</td>
            <CountCell testid="admitted-calls" count=Signal::derive(move || Some(total.get().admitted_calls))/>
            <CountCell testid="admitted-units" count=Signal::derive(move || Some(total.get().admitted_units))/>
            <RateCell per_s=Signal::derive(move || rate.get().map(|rate| rate.admitted_calls))/>
            <CountCell testid="denied-calls" count=Signal::derive(move || Some(total.get().denied_calls))/>
            <CountCell testid="denied-units" count=Signal::derive(move || Some(total.get().denied_units))/>
            <RateCell per_s=Signal::derive(move || rate.get().map(|rate| rate.denied_calls)) of_denials=true/>
            <ShareCell share=Signal::derive(move || row.with(|row| row.share))/>
        </tr>
        {move || open.get().then(|| view! {
            <tr class="detail" data-testid="tenant-detail">
                <td colspan=Column::ALL.len().to_string()><TenantDetail row/></td>
            </tr>
        })}
    }
}

fn tier(row: &Row) -> impl IntoView + use<> {
    match row.tier.clone() {
        Some(tier) => tier.into_any(),
        None => view! { <span class="muted">"none"</span> }.into_any(),
    }
}

#[component]
fn NameCell(query: RwSignal<TableQuery>, tenant: String, open: Memo<bool>) -> impl IntoView {
    let name = TenantName::of(&tenant);
    let label = name.label().to_owned();
    let note = name.note();
    let class = if note.is_some() {
        "open together"
    } else {
        "open"
    };
    let toggle = move |_| query.update(|query| query.toggle(&tenant));
    view! {
        <th scope="row" class="name">
            <button type="button" class=class aria-expanded=move || open.get().to_string() on:click=toggle>
                <svg class="chevron" viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
                    <path d="M3 1 L7 5 L3 9" fill="none" stroke="currentColor" stroke-width="1.5"></path>
                </svg>
                <span class="label">{label}</span>
            </button>
            {note.map(|note| view! { <span class="together-note">{note}</span> })}
        </th>
    }
}

/// The bar's width is an attribute: the page's Content-Security-Policy refuses inline styles.
#[component]
fn ShareCell(share: Signal<f64>) -> impl IntoView {
    view! {
        <td class="figure share">
            <svg class="share-bar" viewBox="0 0 100 8" preserveAspectRatio="none" width="72" height="8" aria-hidden="true">
                <rect class="track" x="0" y="0" width="100" height="8"></rect>
                <rect class="part" x="0" y="0" width=move || format!("{:.2}", share.get() * 100.0) height="8"></rect>
            </svg>
            <span class="percent">{move || format::percent(share.get())}</span>
        </td>
    }
}
