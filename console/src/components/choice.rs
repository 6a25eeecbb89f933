//! One of several, or all of them: a filter of a list.

use leptos::prelude::*;

use super::field::options as options_of;

/// A labelled list to choose from. What is chosen is listed even where the options do not have it.
#[component]
pub fn Choice(
    /// What it chooses by.
    label: &'static str,
    /// The name for scripted journeys.
    testid: &'static str,
    /// What choosing nothing is called.
    all: &'static str,
    /// The value chosen; empty for all.
    value: Signal<String>,
    /// Values and what they are called.
    options: Signal<Vec<(String, String)>>,
    /// Chooses a value.
    choose: Callback<String>,
) -> impl IntoView {
    let listed = Signal::derive(move || {
        let chosen = value.get();
        let mut listed = options.get();
        if !chosen.is_empty() && listed.iter().all(|(value, _)| *value != chosen) {
            listed.push((chosen.clone(), chosen));
        }
        listed
    });
    view! {
        <label class="filter">
            <span>{label}</span>
            <select data-testid=testid on:change=move |event| choose.run(event_target_value(&event))>
                <option value="" prop:selected=move || value.with(String::is_empty)>{all}</option>
                {options_of(value, listed)}
            </select>
        </label>
    }
}
