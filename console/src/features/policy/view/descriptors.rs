//! What Envoy's descriptors charge: the rules of each domain, a row each.

use leptos::ev;
use leptos::prelude::*;

use super::draft_field::{DraftField, is_at};
use super::editor::Editor;
use super::json_part::JsonPart;
use crate::components::field::TextField;
use crate::context::Console;
use crate::difference::{shown, words};
use crate::features::policy::model::descriptors::{
    DESCRIPTORS, Domain, FIELDS, added, domains, earlier, has_field, new_name, removed,
};
use crate::visible::visible;

/// All domains; for who may not change anything, to read.
#[component]
pub fn Descriptors() -> impl IntoView {
    let console = expect_context::<Console>();
    let editor = expect_context::<Editor>();
    let all = Memo::new(move |_| domains(editor.at(DESCRIPTORS).as_ref()));
    let none = Memo::new(move |_| all.with(Vec::is_empty));
    // What is wrong and has no field of its own.
    let error = move || {
        let flaw = editor.flaw().filter(|flaw| is_at(flaw, DESCRIPTORS))?;
        let text = format!("{}: {}", words(&flaw.pointer), flaw.message);
        (!has_field(&flaw.pointer))
            .then(|| view! { <p class="field-error" data-testid="error-descriptors">{text}</p> })
    };
    view! {
        <section class="checks" aria-labelledby="descriptors-heading">
            <h3 id="descriptors-heading">"Descriptors"</h3>
            <p class="hint">"What Envoy's descriptors charge, by domain. The first rule that fits counts; without one nothing is charged."</p>
            {move || none.get().then(|| view! { <p class="state">"The policy has no descriptor."</p> })}
            <For each=move || all.get() key=|domain| (domain.name.clone(), domain.rules) let:domain>
                <Rules domain/>
            </For>
            {error}
            {move || console.can_change().then(|| view! { <AddDomain/> })}
            <JsonPart pointer=DESCRIPTORS label="All descriptors, as JSON"
                hint="Also what no field above can say: entries whose values have a comma."/>
        </section>
    }
}

#[component]
fn Rules(domain: Domain) -> impl IntoView {
    let console = expect_context::<Console>();
    let editor = expect_context::<Editor>();
    let name = StoredValue::new(domain.name.clone());
    let label = format!("Domain {}", visible(&domain.name));
    let at = domain.pointer();
    let row = move |place: usize| {
        let parent = format!("{at}/{place}");
        let remove = move |_| {
            editor.edit(|draft| {
                let rest = name.with_value(|name| removed(draft.at(DESCRIPTORS), name, place));
                draft.put(DESCRIPTORS, Some(rest));
            });
        };
        let sooner = move |_| {
            editor.edit(|draft| {
                let all = name.with_value(|name| earlier(draft.at(DESCRIPTORS), name, place));
                draft.put(DESCRIPTORS, Some(all));
            });
        };
        let sooner = (place > 0).then(|| {
            let label = format!("Try it earlier: rule {}", place + 1);
            view! { <button type="button" data-testid="descriptor-earlier" aria-label=label on:click=sooner>"Try it earlier"</button> }
        });
        let form = match console.can_change() {
            true => {
                let each = FIELDS.into_iter();
                let each = each.map(|field| {
                    view! { <DraftField field parent=parent.clone()/> }
                });
                let each = each.collect_view();
                let label = format!("Remove rule {}", place + 1);
                view! {
                    <div class="fields">{each}</div>
                    <div class="actions">
                        {sooner}
                        <button type="button" data-testid="remove-descriptor" aria-label=label on:click=remove>"Remove"</button>
                    </div>
                }
                .into_any()
            }
            false => {
                let text = move || shown(editor.at(&parent).as_ref());
                view! { <p>{text}</p> }.into_any()
            }
        };
        view! { <li class="check-row" data-testid="descriptor-row">{form}</li> }
    };
    let add = move |_| {
        editor.edit(|draft| {
            let all = name.with_value(|name| added(draft.at(DESCRIPTORS), name, draft.value()));
            draft.put(DESCRIPTORS, Some(all));
        });
    };
    view! {
        <h4>{label}</h4>
        <ol class="check-list">{(0..domain.rules).map(row).collect_view()}</ol>
        {move || console.can_change().then(|| view! {
            <button type="button" data-testid="add-descriptor" on:click=add>"Add a rule"</button>
        })}
    }
}

#[component]
fn AddDomain() -> impl IntoView {
    let editor = expect_context::<Editor>();
    let name = RwSignal::new(String::new());
    let refused = move || {
        let all = editor.at(DESCRIPTORS);
        name.with(|name| new_name(all.as_ref(), name.trim()).err())
    };
    let error = Signal::derive(move || {
        let untouched = name.with(String::is_empty);
        (!untouched).then(refused).flatten()
    });
    let submit = move |event: ev::SubmitEvent| {
        event.prevent_default();
        if untrack(refused).is_some() {
            return;
        }
        let text = name.get_untracked().trim().to_owned();
        editor.edit(|draft| {
            let all = added(draft.at(DESCRIPTORS), &text, draft.value());
            draft.put(DESCRIPTORS, Some(all));
        });
        name.set(String::new());
    };
    view! {
        <form class="add-entry" on:submit=submit>
            <TextField label="New domain" name="new-domain" value=name error placeholder="name"/>
            <button type="submit" data-testid="add-domain">"Add"</button>
        </form>
    }
}
