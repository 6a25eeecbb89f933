//! What goes through the deployment: calls admitted, denied and shed a second.

use leptos::prelude::*;

use crate::components::explain::Explain;
use crate::components::spark::Sparkline;
use crate::context::Console;
use crate::features::overview::model::now::Tiles;
use crate::format;
use crate::glossary::Term;
use crate::live::rates::{CallsPerS, RatePoint};

/// One figure each, over the last ten seconds, with the last two minutes beside it.
#[component]
pub fn RateTiles(
    /// What is known of this moment.
    tiles: Memo<Tiles>,
) -> impl IntoView {
    view! {
        <dl class="tiles">
            <Tile tiles label="Admitted" testid="rate-admitted" now=|per_s| per_s.admitted then=|point| point.admitted/>
            <Tile tiles label="Denied" testid="rate-denied" now=|per_s| per_s.denied then=|point| point.denied/>
            <Tile tiles label="Would deny" testid="rate-would-deny" explained=Term::WouldDeny now=|per_s| per_s.would_deny then=|point| point.would_deny/>
            <Tile tiles label="Shed" testid="rate-shed" explained=Term::Shed now=|per_s| per_s.shed then=|point| point.shed/>
        </dl>
    }
}

#[component]
fn Tile(
    tiles: Memo<Tiles>,
    label: &'static str,
    testid: &'static str,
    #[prop(optional)] explained: Option<Term>,
    now: fn(CallsPerS) -> f64,
    then: fn(&RatePoint) -> u64,
) -> impl IntoView {
    let rates = expect_context::<Console>().live.rates;
    let per_s = Memo::new(move |_| tiles.get().per_s().map(now));
    let measured = Memo::new(move |_| per_s.with(Option::is_some));
    let values = Signal::derive(move || {
        if !measured.get() {
            return Vec::new();
        }
        rates.with(|rates| {
            let history = rates.total.history.iter();
            history
                .map(|point| then(point) as f64)
                .collect::<Vec<f64>>()
        })
    });
    let amount = move || match tiles.get() {
        Tiles::Measuring => "measuring…".to_owned(),
        Tiles::Untold => format::UNKNOWN.to_owned(),
        Tiles::Rates(per_s) => format::rate(Some(now(per_s))),
    };
    view! {
        <div class="tile">
            <dt>{label}{explained.map(|term| view! { <Explain term/> })}</dt>
            <dd>
                <span
                    class="amount"
                    class:measuring=move || tiles.get() == Tiles::Measuring
                    data-testid=testid
                    data-value=move || per_s.get().map(|per_s| per_s.to_string())
                >
                    {amount}
                </span>
                {move || measured.get().then(|| view! { <span class="unit">"calls/s"</span> })}
                <Sparkline values/>
            </dd>
        </div>
    }
}
