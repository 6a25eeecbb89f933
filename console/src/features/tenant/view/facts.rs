//! What is known of the tenant at a glance.

use leptos::prelude::*;
use weir_shared::wire::operator::tenants::TenantReply;

use super::tenant::Tenant;
use crate::address::Page;
use crate::components::notice::{Notice, Severity};
use crate::components::time::Time;
use crate::features::tenant::model::bounded_weight::counted_as;
use crate::features::tenant::model::effective_rows::origin_words;
use crate::format;
use crate::visible::visible;

/// Tier, weight, the tenant above, overrides.
#[component]
pub fn Facts(
    /// The page.
    page: Tenant,
) -> impl IntoView {
    let of = move |of: fn(&TenantReply) -> Option<String>| {
        Memo::new(move |_| page.told().and_then(|told| of(&told.body)))
    };
    let tier = of(|told| Some(told.effective.as_ref()?.tier.value.clone()));
    let tier_origin = of(|told| {
        let origin = told.effective.as_ref()?.tier.origin;
        Some(origin_words(origin).to_owned())
    });
    let weight = of(|told| Some(format::weight(told.effective.as_ref()?.weight.value.0)));
    let weight_origin = of(|told| {
        let origin = told.effective.as_ref()?.weight.origin;
        Some(origin_words(origin).to_owned())
    });
    let counted = Memo::new(move |_| {
        let bound = page.told()?.body.unknown_weight_max?;
        let report = page.report.value.get()?;
        Some(format!(
            ", {}",
            counted_as(Option::as_ref(&report)?, bound.0)?
        ))
    });
    let parent = of(|told| told.body.parent.clone());
    let refused = Memo::new(move |_| {
        page.told()
            .is_some_and(|told| told.body.effective.is_none())
    });
    let named = Memo::new(move |_| page.told().is_some_and(|told| told.body.named));
    let overrides =
        Memo::new(move |_| page.told().map_or(0, |told| told.body.body.overrides.len()));
    let turn = Memo::new(move |_| {
        let told = page.told()?;
        told.body.effective.as_ref()?.next_change_at.map(|at| at.0)
    });
    view! {
        {move || refused.get().then(|| view! {
            <Notice severity=Severity::Warning title="The policy refuses this tenant."
                detail="No tier of its own, no rule that fits its name, and no default tier: every request of it is denied."
                testid="refused"/>
        })}
        <dl class="facts">
            <div>
                <dt>"Tier"</dt>
                <dd>{move || tier.get().unwrap_or_else(|| format::UNKNOWN.to_owned())}
                    <small class="muted">{move || tier_origin.get().map(|origin| format!(" by {origin}"))}</small></dd>
            </div>
            <div>
                <dt>"Weight"</dt>
                <dd>
                    <span class="figure" data-testid="weight" data-value=weight>
                        {move || weight.get().unwrap_or_else(|| format::UNKNOWN.to_owned())}
                    </span>
                    <small class="muted">{move || weight_origin.get().map(|origin| format!(" by {origin}"))}{counted}</small>
                </dd>
            </div>
            {move || parent.get().map(|parent| {
                let address = Page::Tenant(parent.clone()).address();
                view! { <div><dt>"Below"</dt><dd><a href=address>{visible(&parent)}</a></dd></div> }
            })}
            <div><dt>"In the policy"</dt><dd>{move || if named.get() { "yes" } else { "not by name" }}</dd></div>
            {move || (overrides.get() > 0).then(|| view! {
                <div><dt>"Overrides"</dt><dd class="figure">{overrides.get()}</dd></div>
            })}
            {move || turn.get().map(|at| view! {
                <div><dt>"Changes next"</dt><dd><Time at=Signal::stored(at)/></dd></div>
            })}
        </dl>
    }
}
