//! A field of a form, bound to its value in the draft.

use leptos::prelude::*;
use serde_json::Value;

use super::editor::Editor;
use crate::components::field::{CheckField, NumberField, SelectField, TextField};
use crate::policy::fields::{Field, Kind, control, expected, typed, unit};
use crate::policy::limit_fields;
use crate::policy::validate::Flaw;

/// A field of the object at a pointer.
#[component]
pub fn DraftField(
    /// What it takes.
    field: Field,
    /// The object that it is a field of.
    parent: String,
) -> impl IntoView {
    let editor = expect_context::<Editor>();
    let pointer = format!("{parent}/{}", field.name);
    match field.kind {
        Kind::Flag(default) => flag(editor, field, pointer, default),
        kind => text(editor, field, parent, pointer, kind),
    }
}

fn flag(editor: Editor, field: Field, pointer: String, default: bool) -> AnyView {
    let now = {
        let pointer = pointer.clone();
        move || {
            let value = editor.at(&pointer);
            value.as_ref().and_then(Value::as_bool).unwrap_or(default)
        }
    };
    let value = RwSignal::new(untrack(&now));
    let shown = now.clone();
    Effect::new(move |_| {
        let shown = shown();
        if value.get_untracked() != shown {
            value.set(shown);
        }
    });
    Effect::new(move |before: Option<()>| {
        let flag = value.get();
        if before.is_some() && flag != untrack(&now) {
            editor.edit(|draft| draft.put_flag(&pointer, flag, default));
        }
    });
    view! { <CheckField label=field.label name=field.name value hint=field.hint/> }.into_any()
}

fn text(editor: Editor, field: Field, parent: String, pointer: String, kind: Kind) -> AnyView {
    let at = {
        let pointer = pointer.clone();
        move || editor.at(&pointer).filter(|value| !value.is_null())
    };
    let value = RwSignal::new(control(kind, untrack(&at).as_ref()));
    let (now, shown) = (at.clone(), at.clone());
    // What is being typed stays as it is typed while it means what the draft has.
    Effect::new(move |_| {
        let now = now();
        if value.with_untracked(|text| typed(kind, text)) != now {
            value.set(control(kind, now.as_ref()));
        }
    });
    let put_at = pointer.clone();
    // A form that is opened changes nothing, however the draft writes a value.
    Effect::new(move |before: Option<()>| {
        let text = value.get();
        let value = typed(kind, &text);
        if before.is_some() && value != untrack(&at) {
            put(editor, field, &parent, &put_at, value);
        }
    });
    let error = Signal::derive(move || {
        let flaw = editor.flaw()?;
        is_at(&flaw, &pointer).then(|| message(&flaw, kind))
    });
    match kind {
        Kind::Choice(options) => {
            let options: Vec<(String, String)> = options
                .iter()
                .map(|(value, label)| ((*value).to_owned(), (*label).to_owned()))
                .collect();
            let options = Signal::stored(options);
            view! { <SelectField label=field.label name=field.name value options error hint=field.hint/> }.into_any()
        }
        Kind::Text | Kind::Json | Kind::Parts => {
            view! { <TextField label=field.label name=field.name value error hint=field.hint/> }
                .into_any()
        }
        _ => {
            let unit_of = unit(kind, None);
            let spelled = move || {
                let text = unit(kind, shown().as_ref());
                let (_, spelled) = text.split_once(" = ")?;
                Some(view! { <span class="spelled">{format!("= {spelled}")}</span> })
            };
            view! {
                <div class="measured">
                    <NumberField label=field.label name=field.name value error hint=field.hint unit=unit_of/>
                    {spelled}
                </div>
            }
            .into_any()
        }
    }
}

/// A field that decides which others there are takes what no longer belongs with it.
fn put(editor: Editor, field: Field, parent: &str, pointer: &str, value: Option<Value>) {
    let decides = field.name == "cadence" && parent.starts_with("/limits/");
    match value.as_ref().and_then(Value::as_str) {
        Some(cadence) if decides => editor.edit(|draft| {
            let limit = draft.at(parent).cloned().unwrap_or(Value::Null);
            draft.put(
                parent,
                Some(limit_fields::changed(&limit, field.name, cadence)),
            );
        }),
        _ => editor.put(pointer, value),
    }
}

/// Whether a flaw is at a value or within it.
pub fn is_at(flaw: &Flaw, pointer: &str) -> bool {
    let rest = flaw.pointer.strip_prefix(pointer);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn message(flaw: &Flaw, kind: Kind) -> String {
    if flaw.form && !matches!(kind, Kind::Json | Kind::Parts) {
        expected(kind).to_owned()
    } else {
        flaw.message.clone()
    }
}
