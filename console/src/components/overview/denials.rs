//! The tenants that are denied most.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::wire::operator::FairnessReply;

use crate::components::rows::rows;
use crate::components::tenant_link::TenantLink;
use crate::format;
use crate::overview::denials::{Denials, DeniedRow, in_order_of};

/// A short list, each leading to the tenant.
#[component]
pub fn DeniedTenants(
    /// The tenants with the most denied units.
    fairness: Signal<Option<Arc<FairnessReply>>>,
) -> impl IntoView {
    let denials = StoredValue::new(Denials::default());
    let told = Memo::new(move |_| {
        fairness.with(|reply| {
            let reply = reply.as_ref()?;
            denials.try_update_value(|denials| denials.read(reply))
        })
    });
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
                <table>
                    <thead>
                        <tr>
                            <th scope="col">"Tenant"</th>
                            <th scope="col">"Tier"</th>
                            <th scope="col">"Most by"</th>
                            <th scope="col" class="figure">"Denied, calls/s"</th>
                            <th scope="col" class="figure">"Denied, calls"</th>
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
        <td>{row.tier.clone().unwrap_or_else(|| format::UNKNOWN.to_owned())}</td>
        <td>{row.by.clone().map(|(kind, name)| view! { <span class="muted">{kind}" "</span>{name} })}</td>
        <td class="figure" class:denying=denying>{format::rate(row.per_s)}</td>
        <td class="figure">{format::count(row.calls)}</td>
    }
}
