//! What counts for the tenant, value by value, with whose word it is.

use leptos::prelude::*;

use super::tenant::Tenant;
use crate::api::Client;
use crate::components::time::Time;
use crate::features::tenant::model::effective_rows::{EffectiveRow, by_key, origin_words, rows};
use crate::fetched::{Follow, fetched};

/// The table of the effective policy.
#[component]
pub fn EffectivePolicy(
    /// The page.
    page: Tenant,
) -> impl IntoView {
    let policy = fetched(|| Client.policy(), Follow::Once);
    let listed = Memo::new(move |_| {
        let told = page.told();
        let effective = told.as_ref().and_then(|told| told.body.effective.as_ref());
        let Some(effective) = effective else {
            return Vec::new();
        };
        let mut listed = rows(effective);
        if let Some(policy) = policy.value.get() {
            listed.extend(by_key(&policy.body, effective));
        }
        listed
    });
    view! {
        <section aria-labelledby="effective-heading">
            <h2 id="effective-heading">"Its effective policy now"</h2>
            <div class="scroll" role="region" aria-labelledby="effective-heading" tabindex="0">
                <table class="plain cards" data-testid="effective">
                    <thead>
                        <tr>
                            <th scope="col">"Resource"</th>
                            <th scope="col">"Field"</th>
                            <th scope="col" class="figure">"Value"</th>
                            <th scope="col">"Set by"</th>
                            <th scope="col">"In the policy at"</th>
                            <th scope="col">"Until"</th>
                        </tr>
                    </thead>
                    <tbody>{move || listed.get().into_iter().map(line).collect_view()}</tbody>
                </table>
            </div>
        </section>
    }
}

fn line(row: EffectiveRow) -> impl IntoView {
    let field = row.label();
    let what = row
        .what
        .map_or_else(|| "tenant".to_owned(), |what| what.words());
    let origin = origin_words(row.origin);
    view! {
        <tr>
            <th scope="row">{what}</th>
            <td data-label="Field">{field}</td>
            <td class="figure" data-label="Value">{row.value}</td>
            <td data-label="Set by"><span class=format!("tag origin-{origin}")>{origin}</span></td>
            <td data-label="In the policy at">{row.from.map(|from| view! { <code>{from}</code> })}</td>
            <td data-label="Until">{row.until_ms.map(|at| view! { <Time at=Signal::stored(at)/> })}</td>
        </tr>
    }
}
