//! How a budget is shared under either policy: two drawings side by side.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::policy::Policy;
use weir_shared::wire::replay::ReplayBody;

use crate::features::budget::view::water_fill::WaterFillDrawing;
use crate::features::simulator::model::against::Against;
use crate::features::simulator::model::query::SimulatorQuery;
use crate::features::simulator::model::share::{Shared, Side, budget_of, shared};
use crate::visible::visible;

/// The budget of the rule that is looked at; without one, that at which most was denied.
#[component]
pub fn SharesView(
    /// What was answered.
    #[prop(into)]
    body: Signal<Option<Arc<ReplayBody>>>,
    /// The policies that were played.
    #[prop(into)]
    against: Signal<Option<Arc<Against>>>,
    /// What the address asks.
    query: Memo<SimulatorQuery>,
) -> impl IntoView {
    let budget = Memo::new(move |_| {
        let asked = query.with(|query| (query.budget().map(str::to_owned), query.rule.is_some()));
        match asked {
            (Some(budget), _) => Some(budget),
            (None, true) => None,
            (None, false) => body.with(|body| budget_of(body.as_deref()?)),
        }
    });
    let of = move |side: Side| {
        Memo::new(move |_| {
            let told = body.with(|body| {
                let (body, against) = (body.as_deref()?, against.get()?);
                let policy: &Policy = match side {
                    Side::Present => &against.present,
                    Side::Candidate => &against.candidate.policy,
                };
                budget.with(|budget| Some(shared(body, budget.as_deref()?, side, policy)))
            });
            told.unwrap_or_default()
        })
    };
    let (present, candidate) = (of(Side::Present), of(Side::Candidate));
    let differs =
        Memo::new(move |_| against.with(|one| one.as_ref().is_some_and(|one| one.differs())));
    let section = move || {
        let budget = budget.get()?;
        let other = move || {
            differs.get().then(
                || view! { <One title="With the draft" testid="share-candidate" told=candidate/> },
            )
        };
        Some(view! {
            <section class="block" aria-labelledby="simulator-shares">
                <h2 id="simulator-shares">{format!("How budget {} is shared", visible(&budget))}</h2>
                <div class="side-by-side">
                    <One title="By the policy in force" testid="share-present" told=present/>
                    {other}
                </div>
            </section>
        })
    };
    view! { {section} }
}

#[component]
fn One(title: &'static str, testid: &'static str, told: Memo<Shared>) -> impl IntoView {
    let words = Signal::derive(move || told.with(|told| told.words.clone()));
    let fill = Signal::derive(move || told.with(|told| told.fill.clone()));
    let reserved = Signal::stored("not used");
    let drawn = Memo::new(move |_| told.with(|told| !told.fill.vessels.is_empty()));
    view! {
        <div data-testid=testid>
            <h3>{title}</h3>
            <p class="said">{words}</p>
            {move || drawn.get().then(|| view! { <WaterFillDrawing fill words reserved/> })}
        </div>
    }
}
