//! The live tail: what narrows it down, and the list, which stands still while somebody is at it.

mod filters;
mod list;
mod look_up;
pub mod page;

use leptos::prelude::*;
use weir_shared::wire::operator::decisions::DecisionOutcome;

use crate::address::Page;
use crate::context::Console;
use crate::features::decisions::model::filter::DecisionFilter;
use crate::features::decisions::model::watch::{Choices, Empty, Watch};
use crate::features::policy::view::shadow_answer::ShadowRules;
use crate::live::Phase;
use crate::query_address::{use_ask, use_asked};
use filters::Filters;
use list::List;
use look_up::LookUp;

/// Takes a filter into the address: pushed as a new entry, or in the place of the one before.
pub type AskDecisions = Callback<(DecisionFilter, bool)>;

/// The tail.
#[component]
pub fn Tail(
    /// Whether the list was told to stand still.
    paused: RwSignal<bool>,
) -> impl IntoView {
    let console = expect_context::<Console>();
    let filter = use_asked(DecisionFilter::parse);
    let ask = use_ask(&Page::Decisions, DecisionFilter::to_query_string);
    let watch = StoredValue::new(Watch::default());
    let at_it = RwSignal::new(false);
    let phase = Memo::new(move |_| console.live.state.get().phase);
    let stands = Memo::new(move |_| paused.get() || at_it.get() || phase.get() == Phase::Paused);
    let look = Memo::new(move |_| {
        console.live.decisions.track();
        let (stands, filter) = (stands.get(), filter.get());
        console.live.with_tail(|tail| {
            let look = watch.try_update_value(|watch| {
                if stands {
                    watch.hold(tail);
                } else {
                    watch.release();
                }
                watch.look(tail, &filter)
            });
            look.unwrap_or_default()
        })
    });
    let choices = Memo::new(move |_| {
        console.live.decisions.track();
        filter.with(|filter| console.live.with_tail(|tail| Choices::of(tail, filter)))
    });
    let shadows = Memo::new(move |_| {
        filter.with(|filter| filter.outcome == Some(DecisionOutcome::WouldDeny))
    });
    let summary = move || look.with(|look| look.summary(filter.with(DecisionFilter::is_default)));
    let waiting = move || {
        let text = look.with(|look| look.waiting_words(paused.get()))?;
        Some(view! { <strong class="waiting" data-testid="tail-waiting">{text}</strong> })
    };
    let empty = Memo::new(move |_| {
        let state = console.live.state.get();
        look.with(|look| Empty::of(look, state))
    });
    view! {
        <LookUp/>
        <Filters filter ask choices/>
        {move || shadows.get().then(|| view! { <ShadowRules/> })}
        <p class="tail-line"><span>{summary}</span>{waiting}</p>
        {move || match empty.get() {
            Some(empty) => view! {
                <div class="empty" data-testid="state-empty"><p>{empty.words()}</p></div>
            }
            .into_any(),
            None => view! { <List look at_it/> }.into_any(),
        }}
        <p class="hint">
            "Some of the decisions of each region, as they are made: a busy region tells a sample. "
            "Every decision is counted in the figures of its tenant. "
            <a href=move || filter.with(DecisionFilter::csv_address) rel="external" download data-testid="decisions-csv">
                "Download the last ones as CSV"
            </a>
        </p>
    }
}
