//! What is played: recorded demand of a span, or a trace.

use leptos::prelude::*;

use super::trace_field::TraceField;
use crate::address::Page;
use crate::components::range_picker::RangePicker;
use crate::features::simulator::model::query::{PRESETS, SimulatorQuery, Source};
use crate::features::simulator::model::question::QuestionFault;
use crate::query_address::use_range;
use crate::time_range::TimeRange;

/// The choice, and what belongs to what is chosen.
#[component]
pub fn SourceView(
    /// What the address asks.
    query: Memo<SimulatorQuery>,
    /// Goes to another question.
    ask: Callback<(SimulatorQuery, bool)>,
    /// Why nothing is played.
    fault: Memo<Option<QuestionFault>>,
    /// Plays it again.
    again: Callback<()>,
) -> impl IntoView {
    let over = Memo::new(move |_| query.with(|query| query.over));
    let choice = move |one: Source| {
        let address = move || {
            let chosen = SimulatorQuery {
                over: Some(one),
                ..query.get()
            };
            Page::Simulator.address_with(&chosen.text())
        };
        let current = move || (over.get() == Some(one)).then_some("true");
        view! {
            <a class="button" href=address aria-current=current data-testid=format!("over-{}", one.name())>{one.label()}</a>
        }
    };
    let form = move || {
        match over.get() {
        None => view! {
            <p class="state" data-testid="state-empty">
                "Nothing is played yet. Choose recorded demand to play what this deployment was asked for, or a trace to play a file of requests. A simulation changes nothing, and nobody is denied by it."
            </p>
        }
        .into_any(),
        Some(Source::Recorded) => view! { <Recorded query ask fault again/> }.into_any(),
        Some(Source::Trace) => {
            let unplayable = Signal::derive(move || match fault.get() {
                Some(QuestionFault::Trace(fault)) => Some(fault),
                _ => None,
            });
            view! { <TraceField unplayable/> }.into_any()
        }
    }
    };
    view! {
        <section class="block" aria-labelledby="simulator-source">
            <h2 id="simulator-source">"What is played"</h2>
            <div class="page-tools choices">{Source::ALL.map(choice).collect_view()}</div>
            {form}
        </section>
    }
}

#[component]
fn Recorded(
    query: Memo<SimulatorQuery>,
    ask: Callback<(SimulatorQuery, bool)>,
    fault: Memo<Option<QuestionFault>>,
    again: Callback<()>,
) -> impl IntoView {
    let asked = Memo::new(move |_| query.with(|query| query.range));
    let go = Callback::new(move |range: TimeRange| {
        let query = SimulatorQuery {
            range,
            ..query.get_untracked()
        };
        ask.run((query, true));
    });
    let range = use_range(asked, go);
    let told = move || {
        let fault = fault.get()?.to_string();
        Some(view! { <p class="notice error" role="alert" data-testid="error-span">{fault}</p> })
    };
    view! {
        <div class="page-tools">
            <RangePicker range presets=&PRESETS/>
            <button type="button" data-testid="play-again" on:click=move |_| again.run(())>"Play again"</button>
        </div>
        {told}
    }
}
