//! What went through over time: one chart, by outcome.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::wire::operator::budgets::BudgetsReply;
use weir_shared::wire::operator::series::SeriesView;
use weir_shared::wire::policy::PolicyDocument;

use crate::address::Page;
use crate::api::Client;
use crate::clock;
use crate::components::chart::{Kind as Drawn, SeriesChart, intervals};
use crate::components::choice::Choice;
use crate::components::range_picker::RangePicker;
use crate::components::states::States;
use crate::fetched::{Fetched, Follow, fetched};
use crate::query_address::{use_ask, use_asked, use_range};
use crate::situation::flow::{calls, limit_per_s, units};
use crate::situation::query::SituationQuery;
use crate::what::{Kind, What, choices, title};

/// Calls of everything or units of one thing, in the range that the address says.
#[component]
pub fn Flow(
    /// The budgets, for the line of the limit.
    budgets: Signal<Option<Arc<BudgetsReply>>>,
    /// How many regions there are.
    regions: Memo<usize>,
) -> impl IntoView {
    let query = use_asked(SituationQuery::parse);
    let ask = use_ask(&Page::Overview, SituationQuery::to_query_string);
    let range = use_range(
        Memo::new(move |_| query.with(|query| query.range)),
        Callback::new(move |range| {
            let query = query.get_untracked();
            ask.run((SituationQuery { range, ..query }, true));
        }),
    );
    let what = Memo::new(move |_| query.with(|query| query.what.clone()));
    let policy = fetched(|| Client.policy(), Follow::Once);
    let options = Signal::derive(move || {
        let policy = policy.value.get();
        let document = policy.as_ref().map(|policy| &policy.body);
        document.map(options_of).unwrap_or_default()
    });
    let choose = Callback::new(move |name: String| {
        let what = What::parse(&name);
        let query = query.get_untracked();
        ask.run((SituationQuery { what, ..query }, true));
    });
    let value = Signal::derive(move || {
        what.with(|what| what.as_ref().map(What::to_string).unwrap_or_default())
    });
    let series = fetched(
        move || {
            let all = range.get().series_ask(clock::server_ms());
            let ask = match what.get() {
                Some(what) => what.of(all),
                None => all,
            };
            async move { Client.series(&ask).await }
        },
        Follow::Calm,
    );
    view! {
        <section class="block" aria-labelledby="flow-heading">
            <div class="section-head">
                <h2 id="flow-heading">"Over time"</h2>
                <div class="filters">
                    <Choice label="Resource" testid="flow-what" all="All, in calls" options value choose/>
                    <RangePicker range/>
                </div>
            </div>
            <States ready=series.ready() error=series.error retry=series.retry()>
                {move || {
                    let what = what.get();
                    view! { <Chart series what budgets regions/> }
                }}
            </States>
        </section>
    }
}

fn options_of(document: &PolicyDocument) -> Vec<(String, String)> {
    let all = choices(document).into_iter();
    all.map(|what| (what.to_string(), what.words())).collect()
}

#[component]
fn Chart(
    series: Fetched<SeriesView>,
    what: Option<What>,
    budgets: Signal<Option<Arc<BudgetsReply>>>,
    regions: Memo<usize>,
) -> impl IntoView {
    let of_budget = what
        .clone()
        .filter(|what| what.kind == Kind::Budget)
        .map(|what| what.name);
    let title = what.as_ref().map_or_else(
        || "All calls".to_owned(),
        |what| format!("{} {}", title(what.kind), what.name),
    );
    let in_calls = what.as_ref().is_none_or(|what| what.kind == Kind::Guard);
    let lines = Signal::derive(move || {
        let Some(view) = series.value.get() else {
            return Vec::new();
        };
        let now_ms = clock::server_ms();
        match &what {
            None => calls(&view, now_ms),
            Some(what) => units(&view, what, now_ms),
        }
    });
    let (span, step_ms) = intervals(series.value);
    let limit = Signal::derive(move || {
        let name = of_budget.as_ref()?;
        budgets.with(|reply| {
            let row = reply
                .as_ref()?
                .budgets
                .iter()
                .find(|row| row.name == *name)?;
            limit_per_s(&row.body, regions.get())
        })
    });
    let unit = if in_calls { "calls/s" } else { "units/s" };
    view! { <SeriesChart title unit kind=Drawn::Bars series=lines span step_ms limit/> }
}
