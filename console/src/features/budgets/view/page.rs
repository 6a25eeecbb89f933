//! The budgets: how each is shared, and how full it is.

use leptos::prelude::*;

use crate::address::Page;
use crate::api::Client;
use crate::components::notice::{Notice, Severity};
use crate::components::shell::Shell;
use crate::components::states::States;
use crate::features::budgets::view::table::BudgetTable;
use crate::fetched::{Follow, fetched};
use crate::lazy;
use crate::lazy::{fetch_part, shown_with};

/// Budgets that are shown: each asks for its windows.
const BUDGETS_MAX: usize = 64;

/// Every budget of the policy.
#[component]
pub fn BudgetsPage() -> impl IntoView {
    let part = fetch_part(fetch);
    view! { <Shell title="Budgets">{shown_with(part, content)}</Shell> }
}

lazy!(
    figures,
    fetch,
    fn content() {
        view! { <Sections/> }
    }
);

#[component]
fn Sections() -> impl IntoView {
    let budgets = fetched(|| Client.budgets(), Follow::Calm);
    let lost = Memo::new(move |_| {
        budgets.value.with(|reply| {
            reply
                .as_ref()
                .map(|reply| reply.unreachable.join(", "))
                .unwrap_or_default()
        })
    });
    let all = Memo::new(move |_| {
        budgets
            .value
            .with(|reply| reply.as_ref().map(|reply| reply.budgets.len()))
    });
    let empty = Signal::derive(move || {
        (all.get() == Some(0))
            .then(|| "The policy has no budget. An editor adds one on the Policy page.".to_owned())
    });
    view! {
        {move || (!lost.with(String::is_empty)).then(|| view! {
            <Notice
                severity=Severity::Warning
                title=format!("Out of reach: {}.", lost.get())
                detail="The ledger there does not answer. Totals lack it; what it counts is not lost."
                testid="out-of-reach"
            />
        })}
        <States ready=budgets.ready() error=budgets.error retry=budgets.retry() empty=empty>
            <BudgetTable budgets=budgets.value full=true rows_max=BUDGETS_MAX/>
            {move || all.get().filter(|all| *all > BUDGETS_MAX).map(|all| view! {
                <p class="muted note">
                    {format!("The first {BUDGETS_MAX} of {all} by name. The others are on the ")}
                    <a href=format!("{}?section=budgets", Page::Policy.address())>"Policy page"</a>"."
                </p>
            })}
        </States>
    }
}
