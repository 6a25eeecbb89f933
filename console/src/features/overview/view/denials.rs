//! The tenants that are denied most.

use leptos::prelude::*;

use crate::components::rows::rows;
use crate::components::tenant_link::TenantLink;
use crate::features::overview::model::denials::{DeniedRow, in_order_of};
use crate::format;

/// A short list, each leading to the tenant.
#[component]
pub fn DeniedTenants(
    /// Who is denied most, the first at this moment; none before it is known.
    told: Memo<Option<Vec<DeniedRow>>>,
) -> impl IntoView {
    // Who is about to follow a link must not have it moved away.
    let held = RwSignal::new(false);
    let entries = Memo::new(move |before: Option<&Vec<DeniedRow>>| {
        let now = told.get().unwrap_or_default();
        match before {
            Some(before) if held.get() => in_order_of(before, now),
            _ => now,
        }
    });
    let none = Memo::new(move |_| entries.with(Vec::is_empty));
    move || {
        if none.get() {
            return view! {
                <p class="state" data-testid="state-empty">"No call has been denied since counting began."</p>
            }
            .into_any();
        }
        view! {
            <div
                class="scroll"
                tabindex="0"
                role="region"
                aria-label="Tenants denied most"
                on:pointerenter=move |_| held.set(true)
                on:pointerleave=move |_| held.set(false)
                on:focusin=move |_| held.set(true)
                on:focusout=move |_| held.set(false)
            >
                <table class="cards">
                    <thead>
                        <tr>
                            <th scope="col">"Tenant"</th>
                            <th scope="col">"Tier"</th>
                            <th scope="col">"Most by"</th>
                            <th scope="col" class="figure">"Denied, calls/s"</th>
                            <th scope="col" class="figure">"Denied in all, calls"</th>
                        </tr>
                    </thead>
                    <tbody>{rows(entries, |row| row.tenant.clone(), row)}</tbody>
                </table>
            </div>
        }
        .into_any()
    }
}

fn row(entry: Memo<DeniedRow>) -> AnyView {
    let tenant = entry.with_untracked(|row| row.tenant.clone());
    let named = tenant.clone();
    view! {
        <tr data-testid="denied-row" data-tenant=named>
            <th scope="row"><TenantLink tenant/></th>
            {move || entry.with(cells)}
        </tr>
    }
    .into_any()
}

fn cells(row: &DeniedRow) -> impl IntoView + use<> {
    let denying = row.per_s.is_some_and(|per_s| per_s > 0.0);
    view! {
        <td data-label="Tier">{row.tier.clone().unwrap_or_else(|| format::UNKNOWN.to_owned())}</td>
        <td data-label="Most by">{row.by.clone().map(|(kind, name)| view! { <span class="muted">{kind}" "</span>{name} })}</td>
        <td class="figure" data-label="Denied, calls/s" class:denying=denying>{format::rate(row.per_s)}</td>
        <td class="figure" data-label="Denied in all, calls">{format::count(row.calls)}</td>
    }
}
