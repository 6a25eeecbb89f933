//! What the policy says of a budget.

use leptos::prelude::*;
use weir_shared::wire::policy::BudgetBody;

use crate::components::explain::Explain;
use crate::features::policy::model::words;
use crate::glossary::Term;

/// Its limit and how it is shared.
#[component]
pub fn BudgetFacts(
    /// What the policy says.
    #[prop(into)]
    body: Signal<BudgetBody>,
) -> impl IntoView {
    let fact = |name: &'static str, value: fn(&BudgetBody) -> String| {
        view! { <div><dt>{name}</dt><dd>{move || body.with(value)}</dd></div> }
    };
    view! {
        {move || body.with(|body| body.description.clone()).map(|text| view! { <p class="muted">{text}</p> })}
        <dl class="facts">
            {fact("Limit", words::limit)}
            {fact("Shared", |body| words::sharing(body.sharing).to_owned())}
            {fact("Scope", |body| words::scope(body.scope).to_owned())}
            {move || body.with(|body| body.reserve).map(|reserve| view! {
                <div><dt>"Unused guarantees"<Explain term=Term::Guarantee/></dt><dd>{words::reserve(Some(reserve))}</dd></div>
            })}
            {move || body.with(|body| body.outage).map(|outage| view! {
                <div><dt>"In an outage"</dt><dd>{words::outage(Some(outage))}</dd></div>
            })}
            <div>
                <dt>"Leases"<Explain term=Term::Lease/></dt>
                <dd>{move || body.with(|body| words::lease(body.lease.as_ref()))}</dd>
            </div>
            {move || body.with(|body| body.shadow == Some(true)).then(|| view! {
                <div><dt class="unseen">"Shadow"</dt><dd><span class="tag warning">"shadow: never enforced"</span></dd></div>
            })}
        </dl>
    }
}
