//! Who holds units of a budget's open window: a row each.

use leptos::prelude::*;
use weir_shared::wire::operator::regions::TenantLent;

use crate::chart::scale::place as share_of;
use crate::components::explain::Explain;
use crate::components::spark::SplitBar;
use crate::components::tenant_link::TenantLink;
use crate::components::time::Age;
use crate::features::regions::model::place::{Holder, Place, Who};
use crate::format;
use crate::glossary::Term;
use crate::region_name::in_full;

/// The regions, the coordinator, and what nobody knows of.
#[component]
pub fn Holders(
    /// Where the budget is.
    place: Place,
) -> impl IntoView {
    let limit = place.limit;
    let label = format!("Who holds units of {}", place.name);
    let held: u64 = place.holders.iter().map(|holder| holder.held).sum();
    let own = place.own;
    let rows = place.holders.into_iter().map(|holder| row(holder, limit));
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label=label>
            <table class="holders cards">
                <thead>
                    <tr>
                        <th scope="col">"Held by"<Explain term=Term::Holder/></th>
                        <th scope="col" class="figure">"Held, units"</th>
                        <th scope="col" class="figure">{if own { "Of all regions" } else { "Of the window" }}</th>
                        <th scope="col" class="wide">"Share"</th>
                        <th scope="col" class="figure">"Leased to isolates, units"<Explain term=Term::Leased/></th>
                        <th scope="col" class="figure">"In escrow, units"<Explain term=Term::Escrow/></th>
                        <th scope="col" class="figure">"Isolates"<Explain term=Term::Isolate/></th>
                        <th scope="col">"Last contact"</th>
                    </tr>
                </thead>
                <tbody>{rows.collect_view()}</tbody>
                <tfoot>
                    <tr>
                        <th scope="row">"Total"</th>
                        <td class="figure">{format::count(held.into())}</td>
                        <td class="figure">{format::percent(share_of(held as f64, limit as f64))}</td>
                        <td colspan="5" class="muted">{format!("of {} units", format::count(limit.into()))}</td>
                    </tr>
                </tfoot>
            </table>
        </div>
    }
}

fn row(holder: Holder, limit: u64) -> impl IntoView {
    let share = share_of(holder.held as f64, limit as f64);
    let name = holder.name().to_owned();
    let called = in_full(&name);
    let label = format!("{called}: {} of the window", format::percent(share));
    let parts = holder.parts();
    let figure = |testid: &'static str, label: &'static str, units: Option<u64>| {
        let text = units.map_or_else(
            || format::UNKNOWN.to_owned(),
            |units| format::count(units.into()),
        );
        view! { <td class="figure" data-label=label data-testid=testid data-value=units.map(|units| units.to_string())>{text}</td> }
    };
    let region = matches!(holder.who, Who::Region(_));
    view! {
        <tr data-testid="holder-row" data-holder=name.clone()>
            <th scope="row" class:muted=!region>
                {called}
                {holder.trouble.map(|trouble| view! { <span class="tag warning">{trouble}</span> })}
            </th>
            {figure("held", "Held, units", Some(holder.held))}
            <td class="figure" data-label="Of the window">{format::percent(share)}</td>
            <td class="wide" data-label="Share">
                <SplitBar parts=Signal::stored(parts) whole=Signal::stored(limit as f64) label=Signal::stored(label)/>
            </td>
            {figure("leased", "Leased to isolates, units", holder.leased)}
            {figure("escrow", "In escrow, units", holder.escrow)}
            {figure("isolates", "Isolates", holder.isolates)}
            <td data-label="Last contact">{match holder.last_contact_at {
                Some(at) => view! { <Age at=Signal::stored(at)/> }.into_any(),
                None => view! { <span class="muted">{format::UNKNOWN}</span> }.into_any(),
            }}</td>
        </tr>
    }
}

/// For whom regions were lent how much: of the budget that is looked at alone.
#[component]
pub fn Tenants(
    /// Where the budget is.
    place: Place,
) -> impl IntoView {
    let limit = place.limit as f64;
    let row = |one: TenantLent| {
        view! {
            <tr>
                <th scope="row"><TenantLink tenant=one.tenant/></th>
                <td class="figure">{format::count(one.lent.into())}</td>
                <td class="figure">{format::percent(share_of(one.lent as f64, limit))}</td>
            </tr>
        }
    };
    view! {
        <h4>"Lent for tenants"<Explain term=Term::Lent/></h4>
        <p class="muted">"What is lent and not listed is unassigned"<Explain term=Term::Unassigned/>", or of tenants beyond those listed."</p>
        <div class="scroll chart-rows" tabindex="0" role="region" aria-label="Lent for tenants">
            <table>
                <thead>
                    <tr>
                        <th scope="col">"Tenant"</th>
                        <th scope="col" class="figure">"Units"</th>
                        <th scope="col" class="figure">"Of the window"</th>
                    </tr>
                </thead>
                <tbody>{place.tenants.into_iter().map(row).collect_view()}</tbody>
            </table>
        </div>
    }
}
