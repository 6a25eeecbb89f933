//! A part of the document as JSON.

use leptos::prelude::*;

use super::draft_field::is_at;
use super::editor::Editor;
use crate::components::field::unique_id;
use crate::context::Console;
use crate::difference::words;

/// A part of the document as text; for who may not change anything, to read.
#[component]
pub fn JsonPart(
    /// Where it stands.
    #[prop(into)]
    pointer: String,
    /// What it is called.
    label: &'static str,
    /// What it is.
    hint: &'static str,
) -> impl IntoView {
    let part = StoredValue::new(pointer);
    let console = expect_context::<Console>();
    let editor = expect_context::<Editor>();
    let read = move || {
        editor.draft.with(|draft| {
            draft.as_ref().map_or_else(String::new, |draft| {
                part.with_value(|part| draft.text(part))
            })
        })
    };
    let typed = RwSignal::new(untrack(read));
    let error = Memo::new(move |_| {
        let part = part.get_value();
        let flaw = editor.flaw().filter(|flaw| is_at(flaw, &part))?;
        Some(if flaw.pointer == part {
            flaw.message
        } else {
            format!("{}: {}", words(&flaw.pointer), flaw.message)
        })
    });
    // What is being typed stays as it is typed while it means what the draft has.
    Effect::new(move |_| {
        let other = editor.draft.with(|draft| {
            let draft = draft.as_ref()?;
            part.with_value(|part| {
                let same = typed.with_untracked(|typed| draft.holds_text(part, typed));
                (!same).then(|| draft.text(part))
            })
        });
        if let Some(other) = other {
            typed.set(other);
        }
    });
    let input = move |event| {
        let text = event_target_value(&event);
        typed.set(text.clone());
        editor.edit(|draft| part.with_value(|part| draft.put_text(part, &text)));
    };
    let editable = move || {
        let id = unique_id("json");
        let (hint_id, error_id) = (format!("{id}-hint"), format!("{id}-error"));
        let described = format!("{hint_id} {error_id}");
        let least = if part.with_value(String::is_empty) {
            24
        } else {
            3
        };
        let rows = move || {
            typed
                .with(|text| text.lines().count().clamp(least, 40))
                .to_string()
        };
        let told = move || {
            error
                .get()
                .map(|error| view! { <p class="field-error" data-testid="error-json">{error}</p> })
        };
        view! {
            <div class="field json">
                <label for=id.clone()>{label}</label>
                <textarea
                    id=id
                    data-testid=part.with_value(|part| testid(part))
                    rows=rows
                    spellcheck="false"
                    autocomplete="off"
                    aria-describedby=described
                    aria-invalid=move || error.with(Option::is_some).then_some("true")
                    prop:value=move || typed.get()
                    on:input=input
                ></textarea>
                <p class="hint" id=hint_id>{hint}</p>
                <div id=error_id>{told}</div>
            </div>
        }
        .into_any()
    };
    let readable = move || {
        view! {
            <div class="field json">
                <h3>{label}</h3>
                <pre class="document" tabindex="0" role="region" aria-label=label data-testid=part.with_value(|part| testid(part))>
                    {read}
                </pre>
            </div>
        }
        .into_any()
    };
    move || {
        if console.can_change() {
            editable()
        } else {
            readable()
        }
    }
}

fn testid(pointer: &str) -> String {
    match pointer.strip_prefix('/') {
        None => "document".to_owned(),
        Some(name) => format!("json-{name}"),
    }
}
