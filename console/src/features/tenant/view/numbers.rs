//! Numbers of a tenant that is being changed, or of one of its overrides: a line each, and a list to choose another from.

use leptos::prelude::*;
use weir_shared::invalid::Invalid;

use super::form::{Form, NumberForm, error};
use crate::components::field::NumberField;
use crate::features::tenant::model::numbers::NumberName;

/// The tenant's own.
#[component]
pub fn OwnNumbers(
    /// What is typed.
    form: Form,
    /// What is wrong with it.
    errors: Memo<Vec<Invalid>>,
    /// The numbers that a tenant may give.
    names: Signal<Vec<NumberName>>,
) -> impl IntoView {
    view! {
        <fieldset class="override" data-testid="own-numbers">
            <legend>"Its own numbers"</legend>
            <p class="muted">
                "A number here counts for this tenant in the place of its tier's and of the rule's: its ceiling and floor at a budget, its limits, meters and guards. What is not set here stays."
            </p>
            <Numbers form errors names numbers=form.numbers within=String::new()/>
        </fieldset>
    }
}

/// The lines, and one more.
#[component]
pub fn Numbers(
    /// What is typed.
    form: Form,
    /// What is wrong with it.
    errors: Memo<Vec<Invalid>>,
    /// The numbers that may be given.
    names: Signal<Vec<NumberName>>,
    /// Those that are given.
    numbers: RwSignal<Vec<NumberForm>>,
    /// The pointer to what they belong to.
    within: String,
) -> impl IntoView {
    let given = Memo::new(move |_| numbers.get());
    let line = move |number: NumberForm| {
        let pointer = format!("{within}{}", number.at.pointer());
        let key = number.key;
        let label = number.at.words();
        let remove = move |_| numbers.update(|numbers| numbers.retain(|other| other.key != key));
        let remove_label = format!("Remove {label}");
        let unit = number.at.unit();
        let placeholder = if number.at.is_length() { "1 min" } else { "" };
        view! {
            <div class="number-line">
                <NumberField label name="number" value=number.value error=error(errors, pointer) unit placeholder/>
                <button type="button" aria-label=remove_label data-testid="remove-number" on:click=remove>"Remove"</button>
            </div>
        }
    };
    let addable = move || {
        let given = given.get();
        let mut left = names.get();
        left.retain(|name| given.iter().all(|number| number.at != *name));
        left
    };
    let options = move || {
        let each = addable().into_iter().enumerate();
        each.map(|(place, name)| view! { <option value=place.to_string()>{name.words()}</option> })
            .collect_view()
    };
    let add = move |event| {
        let place: Option<usize> = event_target_value(&event).parse().ok();
        if let Some(name) = place.and_then(|place| addable().into_iter().nth(place)) {
            form.add_number(numbers, name);
        }
    };
    view! {
        <For each=move || given.get() key=|number| number.key children=line/>
        <label class="filter">
            <span>"Another number"</span>
            <select data-testid="add-number" prop:value="" on:change=add>
                <option value="">"Choose…"</option>
                {options}
            </select>
        </label>
    }
}
