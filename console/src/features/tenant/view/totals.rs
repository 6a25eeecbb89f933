//! What the tenant got, in the range of time and in all.

use leptos::prelude::*;

use super::tenant::Tenant;
use crate::api::error::ApiError;
use crate::components::explain::Explain;
use crate::components::states::States;
use crate::components::time::use_time_zone;
use crate::features::tenant::model::totals::{Total, of_range, totals};
use crate::format::{UNKNOWN, count};
use crate::glossary::Term;
use crate::what::{Kind, What};

/// Two tables: of the range that is looked at, and since counting began. A line shows its resource in the chart.
#[component]
pub fn Totals(
    /// The page.
    page: Tenant,
) -> impl IntoView {
    let of_range = Memo::new(move |_| {
        page.series
            .value
            .with(|view| view.as_ref().map(|view| of_range(view)))
    });
    let report = page.report;
    let in_all = Memo::new(move |_| {
        report.value.with(|report| {
            report
                .as_ref()
                .map(|report| report.as_ref().as_ref().map(totals).unwrap_or_default())
        })
    });
    let zone = use_time_zone();
    let period = Signal::derive(move || format!("In this range: {}", page.period(zone.get())));
    let ready = page.series.ready();
    view! {
        <Table page lines=of_range title=period ready error=page.series.error retry=page.series.retry()
            id="range-totals" nothing="Nothing was counted in this range."/>
        <Table page lines=in_all title=Signal::stored("Since counting began, whatever the range: all regions".to_owned())
            ready=report.ready() error=report.error retry=report.retry() id="totals" in_all=true
            nothing="It has not asked for anything yet. Its first check appears here within seconds."/>
    }
}

#[component]
fn Table(
    page: Tenant,
    lines: Memo<Option<Vec<Total>>>,
    title: Signal<String>,
    ready: Signal<bool>,
    error: Signal<Option<ApiError>>,
    retry: Callback<()>,
    id: &'static str,
    nothing: &'static str,
    /// Whether what is of this moment stands there, too.
    #[prop(optional)]
    in_all: bool,
) -> impl IntoView {
    let empty = Signal::derive(move || {
        let none = lines.with(|lines| lines.as_ref().is_some_and(Vec::is_empty));
        none.then(|| nothing.to_owned())
    });
    let heading = format!("{id}-heading");
    let labelled = heading.clone();
    view! {
        <section aria-labelledby=labelled data-testid=id>
            <h2 id=heading>{title}</h2>
            <States ready error retry empty>
                <div class="scroll" role="region" aria-label=title tabindex="0">
                    <table class="plain cards">
                        <thead>
                            <tr>
                                <th scope="col">"Resource"</th>
                                {in_all.then(|| view! { <th scope="col" class="figure">"Guarantee"<Explain term=Term::Guarantee/><small>"units/window"</small></th> })}
                                <th scope="col" class="figure">"Admitted"<small>"units"</small></th>
                                {in_all.then(|| view! { <th scope="col" class="figure">"Borrowed"<Explain term=Term::Borrowed/><small>"units"</small></th> })}
                                <th scope="col" class="figure">"Denied"<small>"calls"</small></th>
                                <th scope="col" class="figure">"Denied"<small>"units"</small></th>
                                <th scope="col" class="figure">"Would deny"<Explain term=Term::WouldDeny/><small>"calls"</small></th>
                                {in_all.then(|| view! { <th scope="col" class="figure">"Running"<small>"calls, now"</small></th> })}
                            </tr>
                        </thead>
                        <tbody>
                            {move || lines.get().unwrap_or_default().into_iter().map(|line| row(page, line, in_all)).collect_view()}
                        </tbody>
                    </table>
                </div>
            </States>
        </section>
    }
}

fn row(page: Tenant, line: Total, in_all: bool) -> impl IntoView {
    let figure = |value: Option<u128>| value.map_or_else(|| UNKNOWN.to_owned(), count);
    let budget = line.what.kind == Kind::Budget;
    let denied = line.denied_calls > 0;
    let what: What = line.what.clone();
    let show = move |_| page.ask(|query| query.what = Some(what.clone()));
    view! {
        <tr data-what=line.what.to_string()>
            <th scope="row">
                <button type="button" class="link" on:click=show>{line.what.words()}</button>
            </th>
            {in_all.then(|| view! {
                <td class="figure" data-label="Guarantee, units/window" data-testid=budget.then_some("guarantee") data-value=line.guarantee.map(|units| units.to_string())>
                    {figure(line.guarantee.map(u128::from))}
                </td>
            })}
            <td class="figure" data-label="Admitted, units">{count(line.admitted)}</td>
            {in_all.then(|| view! { <td class="figure" data-label="Borrowed, units">{figure(line.borrowed)}</td> })}
            <td class="figure" data-label="Denied, calls" class:denied=denied>{count(line.denied_calls)}</td>
            <td class="figure" data-label="Denied, units">{figure(line.denied_units)}</td>
            <td class="figure" data-label="Would deny, calls">{count(line.would_deny)}</td>
            {in_all.then(|| view! { <td class="figure" data-label="Running, calls">{figure(line.running.map(u128::from))}</td> })}
        </tr>
    }
}
