//! The form of one entry; for who may not change anything, what it says.

use leptos::prelude::*;
use serde_json::Value;

use super::draft_field::{DraftField, is_at};
use super::editor::Editor;
use crate::components::field::SelectField;
use crate::context::Console;
use crate::difference::shown;
use crate::features::policy::model::fields::{Field, Kind, control, fields, unit};
use crate::features::policy::model::limit_fields::{changed, rule, rules};
use crate::features::policy::model::section::Section;
use crate::features::policy::model::words::called;
use crate::features::policy::view::shadow_answer::ShadowAnswer;
use crate::visible::visible;
use crate::what::What;

/// The form of one entry of a section.
#[component]
pub fn EntryForm(
    /// The section.
    section: Section,
    /// The entry's name.
    name: String,
) -> impl IntoView {
    let console = expect_context::<Console>();
    let editor = expect_context::<Editor>();
    let parent = format!("{}/{name}", section.entries().unwrap_or_default());
    let exists = {
        let parent = parent.clone();
        Memo::new(move |_| {
            editor.draft.with(|draft| {
                draft
                    .as_ref()
                    .is_some_and(|draft| draft.at(&parent).is_some())
            })
        })
    };
    let in_force = {
        let parent = parent.clone();
        Memo::new(move |_| {
            editor
                .draft
                .with(|draft| draft.as_ref()?.base_at(&parent).cloned())
        })
    };
    let label = format!("{} {name}", section.noun());
    let shadowed = Memo::new(move |_| {
        in_force.with(|body| {
            let body = body.as_ref();
            body.and_then(|body| body.get("shadow")) == Some(&Value::Bool(true))
        })
    });
    let answered = section.rule().map(|kind| What::new(kind, &name));
    let body = move || {
        let parent = parent.clone();
        match (exists.get(), in_force.get()) {
            (true, _) if console.can_change() => view! { <Form section parent/> }.into_any(),
            (true, _) => view! { <Facts section parent/> }.into_any(),
            (false, Some(_)) => view! { <Removed section parent in_force/> }.into_any(),
            (false, None) => {
                let text = format!("The policy has no {} of that name.", section.noun());
                view! { <p class="state" data-testid="state-empty">{text}</p> }.into_any()
            }
        }
    };
    view! {
        <section class="entry" aria-label=label>
            <h3>{visible(&name)}</h3>
            {move || shadowed.get().then(|| answered.clone().map(|what| view! { <ShadowAnswer what/> }))}
            {body}
        </section>
    }
}

#[component]
fn Form(section: Section, parent: String) -> impl IntoView {
    let editor = expect_context::<Editor>();
    let named = {
        let parent = parent.clone();
        Memo::new(move |_| {
            let entry = editor.at(&parent).unwrap_or(Value::Null);
            fields(section, &entry)
        })
    };
    let remove = parent.clone();
    let head = (section == Section::Limits)
        .then(|| view! { <RuleField parent=parent.clone()/> })
        .into_any();
    let foot = view! {
        <button type="button" data-testid="remove-entry" on:click=move |_| editor.put(&remove, None)>
            {format!("Remove this {}", section.noun())}
        </button>
    };
    fields_form(parent, named, head, foot.into_any())
}

/// The fields of what a pointer leads to, with what is wrong with it and belongs to none of them.
pub fn fields_form(
    parent: String,
    named: Memo<Vec<Field>>,
    head: AnyView,
    foot: AnyView,
) -> AnyView {
    let editor = expect_context::<Editor>();
    let each = parent.clone();
    let foreign = move || {
        let flaw = editor.flaw().filter(|flaw| is_at(flaw, &parent))?;
        let seen = named.with(|fields| {
            let mut pointers = fields
                .iter()
                .map(|field| format!("{parent}/{}", field.name));
            pointers.any(|pointer| is_at(&flaw, &pointer))
        });
        let text = format!(
            "{}: {}",
            crate::difference::words(&flaw.pointer),
            flaw.message
        );
        (!seen).then(|| view! { <p class="notice error" data-testid="form-error">{text}</p> })
    };
    view! {
        <form on:submit=|event| event.prevent_default()>
            {foreign}
            <div class="fields">
                {head}
                <For each=move || named.get() key=|field: &Field| field.name let:field>
                    <DraftField field parent=each.clone()/>
                </For>
            </div>
            <div class="actions">{foot}</div>
        </form>
    }
    .into_any()
}

/// What decides a limit. With another rule go the fields that it does not have.
#[component]
fn RuleField(parent: String) -> impl IntoView {
    let editor = expect_context::<Editor>();
    let now = {
        let parent = parent.clone();
        move || {
            editor
                .at(&parent)
                .map_or_else(String::new, |limit| rule(&limit).to_owned())
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
    Effect::new(move |_| {
        let chosen = value.get();
        if chosen != untrack(&now) {
            editor.edit(|draft| {
                let limit = draft.at(&parent).cloned().unwrap_or(Value::Null);
                draft.put(&parent, Some(changed(&limit, "algorithm", &chosen)));
            });
        }
    });
    let rules = rules().into_iter();
    let rules = rules.map(|(name, label)| (name, label.to_owned()));
    let options = Signal::stored(rules.collect::<Vec<_>>());
    view! {
        <SelectField label="Algorithm" name="algorithm" value options hint="What decides. Fields of another algorithm go with it."/>
    }
}

#[component]
fn Facts(section: Section, parent: String) -> impl IntoView {
    let editor = expect_context::<Editor>();
    let rows = move || {
        let entry = editor.at(&parent).unwrap_or(Value::Null);
        let decided = (section == Section::Limits).then(|| {
            let found = rules().into_iter().find(|(name, _)| name == rule(&entry));
            fact(
                "Algorithm",
                found.map_or("none", |(_, label)| label).to_owned(),
            )
        });
        let fields = fields(section, &entry);
        let fields = fields.into_iter().filter_map(|field| {
            let value = entry.pointer(&format!("/{}", field.name));
            let value = value.filter(|value| !value.is_null())?;
            let text = match field.kind {
                Kind::Choice(all) => called(all, value),
                Kind::Duration => control(field.kind, Some(value)),
                _ => shown(Some(value)),
            };
            Some(fact(field.label, format!("{text} {}", unit(field.kind))))
        });
        decided.into_iter().chain(fields).collect_view()
    };
    view! { <dl class="entry-facts">{rows}</dl> }
}

fn fact(label: &'static str, text: String) -> AnyView {
    view! { <div><dt>{label}</dt><dd>{text}</dd></div> }.into_any()
}

#[component]
fn Removed(section: Section, parent: String, in_force: Memo<Option<Value>>) -> impl IntoView {
    let editor = expect_context::<Editor>();
    let restore = move |_| editor.put(&parent, in_force.get_untracked());
    view! {
        <p>{format!("The draft takes this {} out of the policy.", section.noun())}</p>
        <div class="actions">
            <button type="button" data-testid="restore-entry" on:click=restore>"Put it back"</button>
        </div>
    }
}
