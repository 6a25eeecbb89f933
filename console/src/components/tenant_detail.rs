//! What one tenant got of each budget and each limit.

use leptos::prelude::*;
use weir_shared::wire::accounting::Tally;
use weir_shared::wire::count::Count;

use super::counts::{CountCell, RateCell};
use crate::format;
use crate::overview::{BudgetRow, LimitRow, TenantRow};

/// Two tables, as far as there is anything to put in them. Rows stay in place while figures move: they are by name.
#[component]
pub fn TenantDetail(
    /// The tenant.
    row: Memo<TenantRow>,
) -> impl IntoView {
    let has_budgets = Memo::new(move |_| row.with(|row| !row.budgets.is_empty()));
    let has_limits = Memo::new(move |_| row.with(|row| !row.limits.is_empty()));
    view! {
        <div class="detail-tables" role="region" aria-label="Budgets and limits" tabindex="0">
            {move || has_budgets.get().then(|| view! { <Budgets row/> })}
            {move || has_limits.get().then(|| view! { <Limits row/> })}
            {move || (!has_budgets.get() && !has_limits.get()).then(|| view! {
                <p class="muted">"Nothing was charged to a budget or a limit."</p>
            })}
        </div>
    }
}

#[component]
fn Budgets(row: Memo<TenantRow>) -> impl IntoView {
    let rows = Signal::derive(move || row.with(|row| row.budgets.clone()));
    view! {
        <table data-testid="tenant-budgets">
            <caption>"Budgets"</caption>
            <thead>
                <tr>
                    <th scope="col">"Budget"</th>
                    <th scope="col" class="figure">"Weight"</th>
                    <th scope="col" class="figure">"Guaranteed units per window"</th>
                    <th scope="col" class="figure">"Used units"</th>
                    <th scope="col" class="figure">"Borrowed units"</th>
                    <th scope="col" class="figure">"Units/s"</th>
                    <TallyHeadings/>
                </tr>
            </thead>
            <tbody>
                {move || rows.get().into_iter().map(|budget| view! { <Budget budget/> }).collect_view()}
            </tbody>
        </table>
    }
}

#[component]
fn Budget(budget: BudgetRow) -> impl IntoView {
    let BudgetRow { name, report, rate } = budget;
    let guarantee = match report.guarantee {
        0 => view! { <span class="muted">"none"</span> }.into_any(),
        units => format::count(units.into()).into_any(),
    };
    view! {
        <tr data-budget=name>
            <th scope="row">{name.clone()}</th>
            <td class="figure">{format::weight(report.weight.0)}</td>
            <td class="figure">{guarantee}</td>
            <Fixed count=report.used/>
            <Fixed count=report.borrowed/>
            <RateCell per_s=Signal::stored(rate.map(|rate| rate.admitted_units))/>
            <TallyCells total=report.total admitted_per_s=rate.map(|rate| rate.admitted_calls)
                denied_per_s=rate.map(|rate| rate.denied_calls)/>
        </tr>
    }
}

#[component]
fn Limits(row: Memo<TenantRow>) -> impl IntoView {
    let rows = Signal::derive(move || row.with(|row| row.limits.clone()));
    view! {
        <table data-testid="tenant-limits">
            <caption>"Limits"</caption>
            <thead>
                <tr><th scope="col">"Limit"</th><TallyHeadings/></tr>
            </thead>
            <tbody>
                {move || rows.get().into_iter().map(|limit| view! { <Limit limit/> }).collect_view()}
            </tbody>
        </table>
    }
}

#[component]
fn Limit(limit: LimitRow) -> impl IntoView {
    let LimitRow { name, total, rate } = limit;
    view! {
        <tr data-limit=name>
            <th scope="row">{name.clone()}</th>
            <TallyCells total admitted_per_s=rate.map(|rate| rate.admitted_calls)
                denied_per_s=rate.map(|rate| rate.denied_calls)/>
        </tr>
    }
}

#[component]
fn TallyHeadings() -> impl IntoView {
    view! {
        <th scope="col" class="figure">"Admitted calls"</th>
        <th scope="col" class="figure">"Admitted calls/s"</th>
        <th scope="col" class="figure">"Denied calls"</th>
        <th scope="col" class="figure">"Denied units"</th>
        <th scope="col" class="figure">"Denied calls/s"</th>
    }
}

#[component]
fn TallyCells(
    total: Tally,
    admitted_per_s: Option<f64>,
    denied_per_s: Option<f64>,
) -> impl IntoView {
    view! {
        <Fixed count=total.admitted_calls/>
        <RateCell per_s=Signal::stored(admitted_per_s)/>
        <Fixed count=total.denied_calls/>
        <Fixed count=total.denied_units/>
        <RateCell per_s=Signal::stored(denied_per_s) of_denials=true/>
    }
}

#[component]
fn Fixed(count: Count) -> impl IntoView {
    view! { <CountCell count=Signal::stored(Some(count))/> }
}
