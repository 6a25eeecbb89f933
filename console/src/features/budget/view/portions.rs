//! What each tenant has of a window, as a table: what the drawing above it shows.

use leptos::prelude::*;

use crate::chart::series::Tone;
use crate::components::explain::Explain;
use crate::components::rows::rows;
use crate::components::spark::Swatch;
use crate::components::tenant_link::TenantLink;
use crate::features::budget::model::water_fill::{Portion, WaterFill};
use crate::format;
use crate::glossary::Term;

/// The tones of what is used within the guarantee, borrowed, left of the guarantee, and denied.
pub const PORTION_TONES: [Tone; 4] = [Tone::ADMITTED, Tone::BORROWED, Tone::RESERVED, Tone::DENIED];

/// Rows that are shown before all are asked for.
const ROWS_MAX: usize = 30;

/// A row a tenant.
#[component]
pub fn Portions(
    /// What is told of.
    #[prop(into)]
    fill: Signal<WaterFill>,
    /// What is left of guarantees is called.
    #[prop(into)]
    reserved: Signal<&'static str>,
) -> impl IntoView {
    let all = RwSignal::new(false);
    let entries = Memo::new(move |_| {
        let shown = if all.get() { usize::MAX } else { ROWS_MAX };
        fill.with(|fill| {
            fill.portions
                .iter()
                .take(shown)
                .cloned()
                .collect::<Vec<Portion>>()
        })
    });
    let hidden = Memo::new(move |_| fill.with(|fill| fill.portions.len().saturating_sub(ROWS_MAX)));
    let [used, borrowed, left, denied] = PORTION_TONES;
    let head = |tone, name: &'static str| {
        view! { <th scope="col" class="figure"><Swatch tone/>" "{name}</th> }
    };
    let nested =
        Memo::new(move |_| fill.with(|fill| fill.portions.iter().any(|one| one.depth > 0)));
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label="What each tenant has of the window, in units">
            <table class="cards tree" data-testid="portions">
                <thead>
                    <tr>
                        <th scope="col">"Tenant"</th>
                        <th scope="col" class="figure">"Weight"<Explain term=Term::Weight/></th>
                        <th scope="col" class="figure">"Guarantee"<Explain term=Term::Guarantee/></th>
                        {head(used, "Used")}
                        <th scope="col" class="figure"><Swatch tone=borrowed/>" Borrowed"<Explain term=Term::Borrowed/></th>
                        <th scope="col" class="figure capital"><Swatch tone=left/>" "{reserved}</th>
                        {head(denied, "Denied")}
                    </tr>
                </thead>
                <tbody>{rows(entries, |portion| portion.tenant.clone(), row)}</tbody>
            </table>
        </div>
        {move || nested.get().then(|| view! {
            <p class="muted note">"A tenant's guarantee includes those of the tenants below it. Used, borrowed and denied units are its own."</p>
        })}
        {move || (hidden.get() > 0).then(|| view! {
            <p class="more">
                <button type="button" aria-expanded=move || all.get().to_string() on:click=move |_| all.update(|all| *all = !*all)>
                    {move || if all.get() { "Show fewer".to_owned() } else { format!("Show {} more", format::counted(hidden.get(), "tenant")) }}
                </button>
            </p>
        })}
    }
}

fn row(entry: Memo<Portion>) -> AnyView {
    let tenant = entry.with_untracked(|portion| portion.tenant.clone());
    let named = tenant.clone();
    let depth = Memo::new(move |_| entry.with(|portion| portion.depth.min(8)));
    let level = move || {
        let depth = depth.get();
        (depth > 0)
            .then(|| view! { <span class="unseen">{format!(" (level {})", depth + 1)}</span> })
    };
    view! {
        <tr data-testid="portion" data-tenant=named data-depth=move || depth.get().to_string()>
            <th scope="row" class=move || format!("depth-{}", depth.get())><TenantLink tenant/>{level}</th>
            {move || entry.with(cells)}
        </tr>
    }
    .into_any()
}

fn cells(portion: &Portion) -> impl IntoView + use<> {
    let units = |units: u64| format::count(units.into());
    view! {
        <td data-label="Weight" class="figure">{portion.weight_words()}</td>
        <td data-label="Guarantee" class="figure">{units(portion.guarantee)}</td>
        <td data-label="Used" class="figure">{units(portion.used)}</td>
        <td data-label="Borrowed" class="figure">{units(portion.borrowed)}</td>
        <td data-label="Guaranteed, not used" class="figure">{units(portion.reserved)}</td>
        <td data-label="Denied" class="figure" class:denying=portion.denied != 0>{units(portion.denied)}</td>
    }
}
