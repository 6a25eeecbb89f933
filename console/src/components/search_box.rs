//! The field by which a list is searched, as the first of its filters.

use leptos::prelude::*;

/// A field that tells what is typed as it is typed.
#[component]
pub fn SearchBox(
    /// What is searched by.
    label: &'static str,
    /// What is searched for.
    value: Signal<String>,
    /// Characters that can be typed: more are looked for nowhere.
    chars_max: usize,
    /// Told what is typed.
    typed: Callback<String>,
) -> impl IntoView {
    view! {
        <label class="filter search">
            <span>{label}</span>
            <input
                type="search"
                data-testid="search"
                autocomplete="off"
                spellcheck="false"
                maxlength=chars_max.to_string()
                prop:value=move || value.get()
                on:input=move |event| typed.run(event_target_value(&event))
            />
        </label>
    }
}
