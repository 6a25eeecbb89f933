//! What came of a simulation: in a sentence, and a line for each tenant at each rule.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::wire::replay::ReplayBody;

use crate::components::choice::Choice;
use crate::components::preview::LinesTable;
use crate::components::time::use_time_zone;
use crate::features::simulator::model::query::{SimulatorQuery, Source};
use crate::features::simulator::model::results::{bounds, lines, notes, rules, summary};

/// The answer.
#[component]
pub fn OutcomeView(
    /// What was answered.
    #[prop(into)]
    body: Signal<Option<Arc<ReplayBody>>>,
    /// Whether two different policies were played.
    differs: Signal<bool>,
    /// What the address asks.
    query: Memo<SimulatorQuery>,
    /// Goes to another question.
    ask: Callback<(SimulatorQuery, bool)>,
) -> impl IntoView {
    let zone = use_time_zone();
    let words = move || {
        let rule = query.with(|query| query.rule.clone());
        let body = body.get();
        body.map(|body| summary(&body, rule.as_deref(), differs.get(), zone.get()))
    };
    let noted = move || {
        let notes = body.with(|body| body.as_deref().map(notes).unwrap_or_default());
        let note = |note: String| view! { <p class="muted note">{note}</p> };
        notes.into_iter().map(note).collect_view()
    };
    let rule = Signal::derive(move || query.with(|query| query.rule.clone().unwrap_or_default()));
    let options =
        Signal::derive(move || body.with(|body| body.as_deref().map(rules).unwrap_or_default()));
    let choose = Callback::new(move |rule: String| {
        let query = SimulatorQuery {
            rule: (!rule.is_empty()).then_some(rule),
            ..query.get_untracked()
        };
        ask.run((query, true));
    });
    let listed = Memo::new(move |_| {
        let rule = query.with(|query| query.rule.clone());
        let of = |body: &ReplayBody| lines(body, rule.as_deref());
        body.with(|body| body.as_deref().map(of).unwrap_or_default())
    });
    let none = move || {
        let empty = listed.with(Vec::is_empty) && !options.with(Vec::is_empty);
        empty.then(|| {
            view! { <p class="state" data-testid="state-empty">"Nobody asked for anything at this rule."</p> }
        })
    };
    view! {
        <section class="block" aria-labelledby="simulator-outcome">
            <h2 id="simulator-outcome">"What each tenant gets"</h2>
            <p class="said" role="status" data-testid="simulation-words">{words}</p>
            {noted}
            <div class="filters">
                <Choice label="Rule" testid="rule" all="All rules" value=rule options choose/>
            </div>
            <div data-testid="preview-table"><LinesTable lines=listed compares=differs caption="What each tenant gets, in units"/></div>
            {none}
        </section>
    }
}

/// What a simulation does not know.
#[component]
pub fn BoundsView(
    /// What is played.
    over: Source,
) -> impl IntoView {
    let each = bounds(over).iter().map(|told| view! { <li>{*told}</li> });
    view! {
        <details class="more-figures" data-testid="bounds">
            <summary>"What a simulation leaves out"</summary>
            <ul class="bullets">{each.collect_view()}</ul>
        </details>
    }
}
