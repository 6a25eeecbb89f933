//! The field that takes the id of a denial and leads to its explanation.

use leptos::prelude::*;

use crate::address::Page;
use crate::context::use_goto;
use crate::features::tenant::model::denial::pasted;

/// The most characters that may be pasted: an id with the answer around it.
const PASTED_CHARS_MAX: u32 = 4_096;

/// The field, with its button.
#[component]
pub fn LookUp() -> impl IntoView {
    let text = RwSignal::new(String::new());
    let refused = RwSignal::new(false);
    let goto = use_goto();
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        match text.with_untracked(|text| pasted(text)) {
            Some(id) => goto(&Page::Decision(id).address()),
            None => refused.set(true),
        }
    };
    let said = move || {
        refused.get().then(|| view! {
            <p class="field-error" id="look-up-error" role="alert" data-testid="look-up-error">
                "There is no decision id in that. It is in the field decision of a denial, and in its header weir-decision."
            </p>
        })
    };
    view! {
        <form class="filters" on:submit=submit>
            <label class="filter search">
                <span>"Decision id of a denial"</span>
                <input
                    type="text"
                    data-testid="look-up"
                    autocomplete="off"
                    spellcheck="false"
                    maxlength=PASTED_CHARS_MAX.to_string()
                    aria-invalid=move || refused.get().to_string()
                    aria-describedby="look-up-error"
                    prop:value=move || text.get()
                    on:input=move |event| {
                        refused.set(false);
                        text.set(event_target_value(&event));
                    }
                />
            </label>
            <button type="submit" data-testid="look-up-go">"Why was it denied?"</button>
        </form>
        {said}
    }
}
