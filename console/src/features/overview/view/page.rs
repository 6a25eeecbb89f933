//! The overview: how the deployment is.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::wire::operator::FairnessReply;

use crate::address::Page;
use crate::announce::in_force_change;
use crate::api::Client;
use crate::api::ask::FairnessAsk;
use crate::components::notice::{Notice, Severity};
use crate::components::shell::Shell;
use crate::components::states::States;
use crate::context::Console;
use crate::features::budgets::view::table::BudgetTable;
use crate::features::overview::model::denials::{ASKED, Denials, DeniedRow};
use crate::features::overview::model::now::{Now, Read};
use crate::features::overview::model::verdict::{Verdict, VerdictKind};
use crate::features::overview::view::costs::Costs;
use crate::features::overview::view::denials::DeniedTenants;
use crate::features::overview::view::flow::Flow;
use crate::features::overview::view::health::HealthTables;
use crate::features::overview::view::rate_tiles::RateTiles;
use crate::features::overview::view::verdict::VerdictView;
use crate::fetched::{Follow, fetched};
use crate::in_force::InForce;

/// Budgets that are shown; the page of the budgets has all.
const BUDGETS_MAX: usize = 8;

/// What goes through, how full budgets are, who is denied, and whether everything answers.
#[component]
pub fn OverviewPage() -> impl IntoView {
    view! { <Shell title="Overview"><Sections/></Shell> }
}

#[component]
fn Sections() -> impl IntoView {
    let fairness = fetched(
        || {
            let ask = FairnessAsk {
                page: 1,
                page_size: ASKED,
                sort: Some("-denied_units".to_owned()),
                ..FairnessAsk::default()
            };
            async move { Client.fairness(&ask).await }
        },
        Follow::Pulse,
    );
    let budgets = fetched(|| Client.budgets(), Follow::Calm);
    let regions = fetched(|| Client.regions(), Follow::Calm);
    let costs = fetched(|| Client.costs(), Follow::Calm);
    let denials = StoredValue::new(Denials::default());
    let denied = Memo::new(move |_| {
        fairness.value.with(|reply| {
            let reply = reply.as_ref()?;
            denials.try_update_value(|denials| denials.read(reply))
        })
    });
    let among = Memo::new(move |_| {
        fairness
            .value
            .with(|reply| reply.as_ref().map_or(1, |reply| reply.regions.len()))
    });
    let live = expect_context::<Console>().live;
    let phase = Memo::new(move |_| live.state.get().phase);
    let now = Memo::new(move |_| {
        let rows: Option<Vec<DeniedRow>> = denied.get();
        let budgets = budgets.value.get();
        Now::of(&Read {
            rows: rows.as_deref(),
            failed: fairness.error.with(Option::is_some),
            budgets: budgets.as_deref(),
            regions: among.get(),
            live: live.rates.with(|rates| rates.total.per_s),
            phase: phase.get(),
        })
    });
    let verdict = Memo::new(move |_| now.with(|now| now.verdict.clone()));
    let tiles = Memo::new(move |_| now.with(|now| now.tiles));
    let announcer = expect_context::<Console>().announcer;
    Effect::new(move |before: Option<Option<VerdictKind>>| {
        let after = verdict.with(|verdict| verdict.as_ref().map(|verdict| verdict.kind));
        if before.is_some_and(|before| before.is_some_and(|before| Some(before) != after)) {
            announcer.say(
                verdict.with_untracked(|verdict| {
                    verdict.as_ref().map(Verdict::text).unwrap_or_default()
                }),
            );
        }
        after
    });
    let no_budget = Signal::derive(move || {
        let none = budgets
            .value
            .with(|reply| reply.as_ref().is_some_and(|reply| reply.budgets.is_empty()));
        none.then(|| "The policy has no budget.".to_owned())
    });
    let more = move || {
        let all = budgets
            .value
            .with(|reply| reply.as_ref().map_or(0, |reply| reply.budgets.len()));
        (all > BUDGETS_MAX).then(|| {
            view! {
                <a href=Page::Budgets.address()>{format!("All {all} budgets")}</a>
            }
        })
    };
    view! {
        <VerdictView verdict/>
        <Facts fairness=fairness.value/>
        <RateTiles tiles/>
        <Flow budgets=budgets.value regions=among/>
        <section class="block" aria-labelledby="budgets-heading">
            <div class="section-head"><h2 id="budgets-heading">"Budgets"</h2>{more}</div>
            <States ready=budgets.ready() error=budgets.error retry=budgets.retry() empty=no_budget>
                <BudgetTable budgets=budgets.value rows_max=BUDGETS_MAX/>
            </States>
        </section>
        <div class="pair">
            <section class="block" aria-labelledby="denied-heading">
                <div class="section-head"><h2 id="denied-heading">"Denied most"</h2></div>
                <States ready=fairness.ready() error=fairness.error retry=fairness.retry()>
                    <DeniedTenants told=denied/>
                </States>
            </section>
            <section class="block" aria-labelledby="health-heading">
                <div class="section-head">
                    <h2 id="health-heading">"Regions and coordinators"</h2>
                    <a href=Page::Regions.address()>"Where budgets are"</a>
                </div>
                <States ready=regions.ready() error=regions.error retry=regions.retry()>
                    <HealthTables regions=regions.value/>
                </States>
            </section>
        </div>
        <section class="block narrow-table" aria-labelledby="costs-heading">
            <div class="section-head"><h2 id="costs-heading">"What decisions cost"</h2></div>
            <States ready=costs.ready() error=costs.error retry=costs.retry()>
                <Costs costs=costs.value/>
            </States>
        </section>
    }
}

/// The policy in force, and what is missing from the figures.
#[component]
fn Facts(fairness: Signal<Option<Arc<FairnessReply>>>) -> impl IntoView {
    let console = expect_context::<Console>();
    let told = Memo::new(move |_| fairness.with(|reply| reply.as_deref().map(InForce::of)));
    Effect::new(move |before: Option<Option<InForce>>| {
        let after = told.get();
        if let (Some(Some(before)), Some(after)) = (&before, &after)
            && let Some(said) = in_force_change(before, after)
        {
            console.announcer.say(said);
        }
        after
    });
    let revision =
        Memo::new(move |_| told.with(|told| told.as_ref().map(|told| told.policy_revision)));
    let enforcing =
        Memo::new(move |_| told.with(|told| told.as_ref().is_none_or(|told| told.enforcing)));
    let lost = Memo::new(move |_| {
        told.with(|told| {
            told.as_ref()
                .map(|told| told.out_of_reach.clone())
                .unwrap_or_default()
        })
    });
    view! {
        {move || (!enforcing.get()).then(|| view! {
            <Notice
                severity=Severity::Warning
                title="Limits are not enforced."
                detail="Everything is decided and counted, but nothing is denied: the policy says enforcing: false."
                testid="not-enforced"
            />
        })}
        {move || (!lost.with(Vec::is_empty)).then(|| view! {
            <Notice
                severity=Severity::Warning
                title=format!("Out of reach: {}.", lost.get().join(", "))
                detail="The ledger there does not answer. Figures lack it; what it counts is not lost."
                testid="out-of-reach"
            />
        })}
        <dl class="facts">
            <div>
                <dt>"Policy revision"</dt>
                <dd data-testid="policy-revision">{move || revision.get().map(|revision| view! {
                    <a href=Page::Policy.address()>{revision}</a>
                })}</dd>
            </div>
            <div>
                <dt>"Limits"</dt>
                <dd data-testid="enforcing" data-enforcing=move || enforcing.get().to_string()>
                    {move || if enforcing.get() { "enforced" } else { "not enforced" }}
                </dd>
            </div>
        </dl>
    }
}
