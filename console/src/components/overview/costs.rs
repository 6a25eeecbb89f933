//! What the deployment uses of the platform for what it decides.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::wire::operator::costs::CostsReply;

use crate::format;
use crate::overview::costs::{CostRow, rows};

/// Calls of objects and rows written, for a million decisions and in all.
#[component]
pub fn Costs(
    /// What was counted.
    costs: Signal<Option<Arc<CostsReply>>>,
) -> impl IntoView {
    let lost = move || {
        costs.with(|reply| {
            let regions = reply.iter().flat_map(|reply| &reply.regions);
            let lost = regions.filter(|region| !region.reachable);
            let lost: Vec<&str> = lost.map(|region| region.region.as_str()).collect();
            (!lost.is_empty()).then(|| format!(" Without {}.", lost.join(", ")))
        })
    };
    let decisions =
        move || costs.with(|reply| reply.as_ref().map(|reply| format::count(reply.decisions.0)));
    let rows = move || {
        costs.with(|reply| {
            reply
                .as_ref()
                .map(|reply| rows(reply).into_iter().map(row).collect_view())
        })
    };
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label="What decisions cost">
            <table>
                <thead>
                    <tr>
                        <th scope="col">"Used of the platform"</th>
                        <th scope="col" class="figure">"Per million decisions"</th>
                        <th scope="col" class="figure">"In all"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        <p class="muted note">"For "{decisions}" decisions since counting began."{lost}</p>
    }
}

fn row(row: CostRow) -> impl IntoView {
    view! {
        <tr class:part=row.part>
            <th scope="row">{row.name}</th>
            <td class="figure">{row.per_million}</td>
            <td class="figure">{row.total}</td>
        </tr>
    }
}
