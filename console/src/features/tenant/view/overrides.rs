//! The overrides of a tenant that is being changed.

use leptos::prelude::*;
use weir_shared::invalid::Invalid;

use super::form::{Form, OverrideForm, error};
use super::numbers::Numbers;
use crate::clock;
use crate::components::field::{NumberField, TextField};
use crate::features::tenant::model::numbers::NumberName;
use crate::features::tenant::model::override_draft::OverrideDraft;
use crate::features::tenant::model::when;

/// How long a new override is proposed to last.
const PROPOSED_MS: u64 = 24 * 3_600_000;

/// The list, and one more.
#[component]
pub fn Overrides(
    /// What is typed.
    form: Form,
    /// What is wrong with it.
    errors: Memo<Vec<Invalid>>,
    /// The numbers that an override may give.
    names: Signal<Vec<NumberName>>,
) -> impl IntoView {
    let list = Memo::new(move |_| form.overrides.get());
    let add = move |_| {
        let minute = clock::server_ms() / 60_000 * 60_000;
        form.add_override(&OverrideDraft {
            expires_at: when::write(minute + PROPOSED_MS),
            ..OverrideDraft::default()
        });
    };
    let each = move || list.get().into_iter().enumerate().collect::<Vec<_>>();
    view! {
        <h3>"Overrides"</h3>
        <p class="muted">
            "Other values for a time, such as a day from now. Anything not set here keeps its usual value. When an override ends, \
             the usual values apply again. Times are UTC."
        </p>
        <For each=each key=|(index, one)| (*index, one.key) let:one>
            <OneOverride form errors names index=one.0 one=one.1/>
        </For>
        <button type="button" data-testid="add-override" on:click=add>"Add an override"</button>
    }
}

#[component]
fn OneOverride(
    form: Form,
    errors: Memo<Vec<Invalid>>,
    names: Signal<Vec<NumberName>>,
    index: usize,
    one: OverrideForm,
) -> impl IntoView {
    let at = move |field: &str| error(errors, format!("/overrides/{index}/{field}"));
    let remove = move |_| {
        form.overrides
            .update(|overrides| overrides.retain(|other| other.key != one.key));
    };
    view! {
        <fieldset class="override" data-testid=format!("override-{index}")>
            <legend>{format!("Override {}", index + 1)}</legend>
            <div class="form-grid">
                <TextField label="From" name="starts-at" value=one.starts_at error=at("starts_at")
                    hint="Such as 2026-11-22 08:30. Empty: at once."/>
                <TextField label="Until" name="expires-at" value=one.expires_at error=at("expires_at")
                    hint="Such as 2026-11-23 08:30. Empty: for good."/>
                <NumberField label="Weight" name="override-weight" value=one.weight error=at("weight")
                    hint="Empty: its usual weight."/>
            </div>
            <Numbers form errors names numbers=one.numbers within=format!("/overrides/{index}")/>
            <div class="actions">
                <button type="button" data-testid="remove-override" on:click=remove>"Remove the override"</button>
            </div>
        </fieldset>
    }
}
