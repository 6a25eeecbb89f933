//! A field of a form, bound to its value in the draft.

use leptos::prelude::*;
use serde_json::Value;

use super::editor::Editor;
use crate::components::field::{CheckField, NumberField, SelectField, TextField};
use crate::difference::shown_at;
use crate::features::policy::model::fields::{
    Field, Kind, control, expected, flag_word, means, offered, shared_by, stays_empty, typed, unit,
};
use crate::features::policy::model::limit_fields;
use crate::features::policy::model::routes::is_same;
use crate::features::policy::model::section::Section;
use crate::features::policy::model::validate::Flaw;
use crate::instant::TimeZone;

/// A field of the object at a pointer.
#[component]
pub fn DraftField(
    /// What it takes.
    field: Field,
    /// The object that it is a field of.
    parent: String,
    /// Where its value stands, if not at its name.
    #[prop(optional)]
    at: Option<String>,
) -> impl IntoView {
    let editor = expect_context::<Editor>();
    let pointer = at.unwrap_or_else(|| format!("{parent}/{}", field.name));
    let undone = pointer.clone();
    // Of an entry that the draft adds there is nothing to go back to, nor of a field that decides which form this is and that
    // was not there.
    let of_entry = parent.clone();
    let changed = Memo::new({
        let pointer = pointer.clone();
        move |_| {
            editor.draft.with(|draft| {
                let draft = draft.as_ref();
                draft.is_some_and(|draft| {
                    let was = !stays_empty(field.kind) || draft.base_at(&pointer).is_some();
                    was && is_same(draft, &of_entry) && draft.is_changed_at(&pointer)
                })
            })
        }
    });
    let undo = move || {
        let pointer = undone.clone();
        changed.get().then(|| {
            let before = editor.draft.with_untracked(|draft| draft.as_ref().and_then(|draft| draft.base_at(&pointer).cloned()));
            let shown = match field.kind {
                Kind::Flag(default) => flag_word(before.as_ref(), default).to_owned(),
                _ => shown_at(&pointer, before.as_ref(), TimeZone::UTC),
            };
            let text = format!("Undo: back to {shown}");
            let testid = format!("undo-{}", field.name);
            view! { <button type="button" class="link undo" data-testid=testid on:click=move |_| editor.undo_value(&pointer)>{text}</button> }
        })
    };
    let control = match field.kind {
        Kind::Flag(default) => flag(editor, field, pointer, default),
        kind => text(editor, field, parent, pointer, kind),
    };
    view! { <div class="drafted">{control}{undo}</div> }
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
        // An empty list of names is shown as nothing, which is typed as no list.
        let said = move |value: &Value| match value {
            Value::Null => false,
            Value::Array(all) => kind != Kind::Names || !all.is_empty(),
            _ => true,
        };
        move || editor.at(&pointer).filter(said)
    };
    let value = RwSignal::new(control(kind, untrack(&at).as_ref()));
    let now = at.clone();
    let options_of = parent.clone();
    // What is being typed stays as it is typed while it means what the draft has.
    Effect::new(move |_| {
        let now = now();
        if !value.with_untracked(|text| means(kind, text, now.as_ref())) {
            value.set(control(kind, now.as_ref()));
        }
    });
    let put_at = pointer.clone();
    // A form that is opened changes nothing, however the draft writes a value.
    Effect::new(move |before: Option<()>| {
        let text = value.get();
        if before.is_some() && !means(kind, &text, untrack(&at).as_ref()) {
            put(editor, field, &parent, &put_at, typed(kind, &text));
        }
    });
    let error = Signal::derive(move || {
        let flaw = editor.flaw()?;
        is_at(&flaw, &pointer).then(|| message(&flaw, kind))
    });
    match kind {
        Kind::Choice(_) => {
            let of = options_of;
            let options = Signal::derive(move || {
                let entry = editor.at(&of).unwrap_or(Value::Null);
                let section = Section::of(&of);
                let offered = offered(section, &field, &entry).into_iter();
                let pair = |(value, label): (&str, &str)| (value.to_owned(), label.to_owned());
                offered.map(pair).collect::<Vec<_>>()
            });
            view! { <SelectField label=field.label name=field.name value options error hint=field.hint/> }.into_any()
        }
        Kind::OneOf(known) => {
            let options = Memo::new(move |_| {
                editor.draft.with(|draft| {
                    let chosen = value.get();
                    let draft = draft.as_ref();
                    draft.map_or_else(Vec::new, |draft| known.options(draft.value(), &chosen))
                })
            });
            view! { <SelectField label=field.label name=field.name value options error hint=field.hint/> }.into_any()
        }
        Kind::Text | Kind::DecidingText | Kind::Names | Kind::Dimensions | Kind::Entries => {
            view! { <TextField label=field.label name=field.name value error hint=field.hint/> }
                .into_any()
        }
        _ => {
            let unit = unit(kind);
            view! { <NumberField label=field.label name=field.name value error hint=field.hint unit/> }.into_any()
        }
    }
}

/// A field that decides which others there are takes what no longer belongs with it.
fn put(editor: Editor, field: Field, parent: &str, pointer: &str, value: Option<Value>) {
    let decides = field.name == "cadence" && parent.starts_with("/limits/");
    if let Some((part, _)) = field.name.rsplit_once('/') {
        return editor.edit(|draft| {
            draft.put(pointer, value);
            // What held this field alone goes with it.
            let empty = |part: &Value| part.as_object().is_some_and(serde_json::Map::is_empty);
            let mut above = Some(part);
            while let Some(part) = above {
                let at = format!("{parent}/{part}");
                if draft.at(&at).is_some_and(empty) {
                    draft.put(&at, None);
                }
                above = part.rsplit_once('/').map(|(above, _)| above);
            }
        });
    }
    let shares = field.name == "sharing" && parent.starts_with("/budgets/");
    match value.as_ref().and_then(Value::as_str) {
        Some(sharing) if shares => editor.edit(|draft| {
            let budget = draft.at(parent).cloned().unwrap_or(Value::Null);
            draft.put(parent, Some(shared_by(&budget, sharing)));
        }),
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
    if flaw.form {
        expected(kind).to_owned()
    } else {
        flaw.message.clone()
    }
}
