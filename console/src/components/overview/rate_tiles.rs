//! What goes through the deployment: calls admitted, denied and shed a second.

use leptos::prelude::*;

use crate::app::Console;
use crate::components::spark::Sparkline;
use crate::format;
use crate::live::rates::{RatePoint, Rates};

/// One figure each, over the last ten seconds, with the last two minutes beside it.
#[component]
pub fn RateTiles() -> impl IntoView {
    view! {
        <dl class="tiles">
            <Tile label="Admitted" testid="rate-admitted" now=|rates| rates.admitted_per_s then=|point| point.admitted/>
            <Tile label="Denied" testid="rate-denied" now=|rates| rates.denied_per_s then=|point| point.denied/>
            <Tile label="Shed" testid="rate-shed" now=|rates| rates.shed_per_s then=|point| point.shed/>
        </dl>
    }
}

#[component]
fn Tile(
    label: &'static str,
    testid: &'static str,
    now: fn(&Rates) -> f64,
    then: fn(&RatePoint) -> u64,
) -> impl IntoView {
    let rates = expect_context::<Console>().live.rates;
    // Without a second of history nothing has been told yet.
    let per_s = Memo::new(move |_| {
        rates.with(|rates| (!rates.total.history.is_empty()).then(|| now(&rates.total)))
    });
    let values = Signal::derive(move || {
        rates.with(|rates| {
            let history = rates.total.history.iter();
            history
                .map(|point| then(point) as f64)
                .collect::<Vec<f64>>()
        })
    });
    view! {
        <div class="tile">
            <dt>{label}</dt>
            <dd>
                <span class="amount" data-testid=testid data-value=move || per_s.get().unwrap_or(0.0).to_string()>
                    {move || format::rate(per_s.get())}
                </span>
                <span class="unit">"calls/s"</span>
                <Sparkline values/>
            </dd>
        </div>
    }
}
