//! What the tenant got since counting began.

use leptos::prelude::*;

use super::view::Tenant;
use crate::api::Client;
use crate::api::ask::FairnessAsk;
use crate::components::states::States;
use crate::fetched::{Follow, fetched};
use crate::format::{UNKNOWN, count};
use crate::tenant::totals::{Total, totals};
use crate::tenant::what::{Kind, What};

/// Tenants that are looked through for the one by exactly this name.
const SEARCHED: u64 = 100;

/// The table of totals. A line shows that budget, limit, meter or guard in the chart.
#[component]
pub fn Totals(
    /// The page.
    page: Tenant,
) -> impl IntoView {
    let report = fetched(
        move || {
            let name = page.name.get_value();
            let ask = FairnessAsk {
                page: 1,
                page_size: SEARCHED,
                sort: Some("tenant".to_owned()),
                search: Some(name.clone()),
                effective: false,
            };
            async move {
                let reply = Client.fairness(&ask).await?;
                let own = reply.tenants.into_iter().find(|one| one.tenant == name);
                Ok(own.as_ref().map(totals).unwrap_or_default())
            }
        },
        Follow::Calm,
    );
    let lines = Memo::new(move |_| report.value.get().map(|lines| (*lines).clone()));
    let empty = Signal::derive(move || {
        let none = lines.with(|lines| lines.as_ref().is_some_and(Vec::is_empty));
        none.then(|| {
            "It has not asked for anything yet. Its first check appears here within seconds."
                .to_owned()
        })
    });
    view! {
        <section aria-labelledby="totals-heading">
            <h2 id="totals-heading">"Since counting began, all regions"</h2>
            <States ready=report.ready() error=report.error retry=report.retry() empty=empty>
                <div class="scroll" role="region" aria-labelledby="totals-heading" tabindex="0">
                    <table class="plain">
                        <thead>
                            <tr>
                                <th scope="col">"Of"</th>
                                <th scope="col" class="figure">"Guarantee"<small>"units/window"</small></th>
                                <th scope="col" class="figure">"Admitted"<small>"units"</small></th>
                                <th scope="col" class="figure">"Borrowed"<small>"units"</small></th>
                                <th scope="col" class="figure">"Denied"<small>"calls"</small></th>
                                <th scope="col" class="figure">"Denied"<small>"units"</small></th>
                                <th scope="col" class="figure">"Running"<small>"calls"</small></th>
                            </tr>
                        </thead>
                        <tbody>
                            {move || lines.get().unwrap_or_default().into_iter().map(|line| row(page, line)).collect_view()}
                        </tbody>
                    </table>
                </div>
            </States>
        </section>
    }
}

fn row(page: Tenant, line: Total) -> impl IntoView {
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
            <td class="figure" data-testid=budget.then_some("guarantee") data-value=line.guarantee.map(|units| units.to_string())>
                {figure(line.guarantee.map(u128::from))}
            </td>
            <td class="figure">{count(line.admitted)}</td>
            <td class="figure">{figure(line.borrowed)}</td>
            <td class="figure" class:denied=denied>{count(line.denied_calls)}</td>
            <td class="figure">{figure(line.denied_units)}</td>
            <td class="figure">{figure(line.running.map(u128::from))}</td>
        </tr>
    }
}
