//! What the id of a denial says, and the explanation of the rule that denied.

use leptos::prelude::*;
use weir_shared::wire::operator::explained::ExplainedDecision;

use crate::api::Client;
use crate::components::states::States;
use crate::components::tenant_link::TenantLink;
use crate::components::time::Time;
use crate::features::tenant::model::denial::borne_out;
use crate::features::tenant::view::DenialView;
use crate::fetched::{Follow, fetched};
use crate::reason;
use crate::tenant_name::TenantName;
use crate::time_range::TimeRange;
use crate::what::What;

/// The denial of an id.
#[component]
pub fn Explained(
    /// The id.
    id: String,
) -> impl IntoView {
    let id = StoredValue::new(id);
    let told = fetched(
        move || {
            let id = id.get_value();
            async move { Client.explained(&id).await }
        },
        Follow::Once,
    );
    view! {
        <p class="muted" data-testid="decision-id">{id.get_value()}</p>
        <States ready=told.ready() error=told.error retry=told.retry()>
            {move || told.value.get().map(|told| view! { <Facts told=ExplainedDecision::clone(&told)/> })}
        </States>
    }
}

#[component]
fn Facts(told: ExplainedDecision) -> impl IntoView {
    let what = What::new(told.kind, &told.rule);
    let range = TimeRange::between(told.from.0, told.to.0);
    // What stands for nobody in particular has no page.
    let tenant = told.tenant.clone();
    let tenant = tenant.filter(|name| TenantName::of(name).is_named());
    let explanation = tenant.zip(range).map(|(tenant, range)| {
        let what = what.clone();
        view! { <DenialView tenant what range/> }
    });
    let whose = match told.tenant.clone() {
        Some(tenant) => view! { <TenantLink tenant/> }.into_any(),
        None => "None that the policy or the region's ledger knows by name.".into_any(),
    };
    let gone = (!told.in_force).then_some(" The policy in force does not have it any more.");
    view! {
        <dl class="facts" data-testid="decision-facts">
            <div><dt>"When"</dt><dd><Time at=Signal::stored(told.at.0)/></dd></div>
            <div><dt>"Tenant"</dt><dd data-testid="decision-tenant">{whose}</dd></div>
            <div><dt>"Decided by"</dt><dd data-testid="decision-rule">{what.words()}{gone}</dd></div>
            <div><dt>"Reason"</dt><dd data-testid="decision-reason"><strong>{reason::name(told.reason)}</strong>" – "{reason::meaning(told.reason)}</dd></div>
            <div><dt>"Region"</dt><dd>{told.region.clone()}</dd></div>
            <div><dt>"On record"</dt><dd data-testid="decision-record">{borne_out(&told)}</dd></div>
        </dl>
        {explanation}
    }
}
