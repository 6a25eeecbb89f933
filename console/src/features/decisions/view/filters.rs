//! What narrows the tail down.

use leptos::prelude::*;
use weir_shared::limits::NAME_BYTES_MAX;
use weir_shared::wire::check::Reason;
use weir_shared::wire::operator::decisions::DecisionOutcome;

use super::AskDecisions;
use crate::components::choice::Choice;
use crate::components::search_box::SearchBox;
use crate::features::decisions::model::filter::{DecisionFilter, outcome_name};
use crate::features::decisions::model::watch::Choices;
use crate::reason;

/// Tenant, outcome, reason, what decided, and region.
#[component]
pub fn Filters(
    /// What is looked for.
    filter: Memo<DecisionFilter>,
    /// Looks for something else.
    ask: AskDecisions,
    /// The names to choose from.
    choices: Memo<Choices>,
) -> impl IntoView {
    let change = move |push: bool, edit: &dyn Fn(&mut DecisionFilter)| {
        let mut wanted = filter.get_untracked();
        edit(&mut wanted);
        ask.run((wanted, push));
    };
    let of = move |read: fn(&DecisionFilter) -> String| Signal::derive(move || filter.with(read));
    let outcomes = DecisionOutcome::ALL.map(|outcome| pair(outcome.name(), outcome_name(outcome)));
    let reasons = Reason::ALL.map(|reason| pair(reason.name(), reason::name(reason)));
    let names = move |read: fn(&Choices) -> Vec<String>| {
        Signal::derive(move || {
            let names = choices.with(read).into_iter();
            names.map(|name| pair(&name, &name)).collect::<Vec<_>>()
        })
    };
    let cleared = move || filter.with(DecisionFilter::is_default);
    view! {
        <form class="filters" role="search" on:submit=|event| event.prevent_default()>
            <SearchBox label="Tenant" chars_max=NAME_BYTES_MAX value=of(|filter| filter.tenant.clone())
                typed=Callback::new(move |text: String| change(false, &|filter| filter.tenant.clone_from(&text)))/>
            <Choice label="Outcome" testid="filter-outcome" all="Every outcome" options=Signal::stored(outcomes.to_vec())
                value=of(|filter| filter.outcome.map_or("", DecisionOutcome::name).to_owned())
                choose=Callback::new(move |slug: String| change(true, &|filter| filter.outcome = DecisionOutcome::named(&slug)))/>
            <Choice label="Reason" testid="filter-reason" all="Every reason" options=Signal::stored(reasons.to_vec())
                value=of(|filter| filter.reason.map_or("", Reason::name).to_owned())
                choose=Callback::new(move |slug: String| change(true, &|filter| filter.reason = Reason::named(&slug)))/>
            <Choice label="Decided by" testid="filter-binding" all="Everything"
                options=names(|choices| choices.bindings.iter().cloned().collect())
                value=of(|filter| filter.binding.clone())
                choose=Callback::new(move |name: String| change(true, &|filter| filter.binding.clone_from(&name)))/>
            <Choice label="Region" testid="filter-region" all="Every region"
                options=names(|choices| choices.regions.iter().cloned().collect())
                value=of(|filter| filter.region.clone())
                choose=Callback::new(move |name: String| change(true, &|filter| filter.region.clone_from(&name)))/>
            {move || (!cleared()).then(|| view! {
                <button type="button" data-testid="clear-filters" on:click=move |_| ask.run((DecisionFilter::default(), true))>
                    "Clear filters"
                </button>
            })}
        </form>
    }
}

fn pair(value: &str, name: &str) -> (String, String) {
    (value.to_owned(), name.to_owned())
}
