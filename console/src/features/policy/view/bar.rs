//! What the draft comes to: whether it changes anything, whether it could be saved, and what can be done with it.

use leptos::prelude::*;

use super::editor::Editor;
use crate::components::dialog::Confirm;
use crate::difference::words;
use crate::features::policy::model::draft::PolicyDraft;
use crate::features::policy::model::section::address_of;
use crate::format;

/// The draft in a line. It is there while the draft changes something.
#[component]
pub fn DraftBar() -> impl IntoView {
    let editor = expect_context::<Editor>();
    let asking = RwSignal::new(false);
    let changed = Memo::new(move |_| {
        editor
            .verdict
            .with(|verdict| verdict.as_ref().is_some_and(|verdict| verdict.changed))
    });
    let told = move || {
        let changes = editor
            .verdict
            .with(|verdict| verdict.as_ref().map_or(0, |verdict| verdict.rows.len()));
        format!(
            "Draft: {} changed, not saved.",
            format::counted(changes, "value")
        )
    };
    let flaw = move || match editor.flaw() {
        None => view! { <span class="fine">"It is valid."</span> }.into_any(),
        Some(flaw) => {
            let text = format!("{}: {}", words(&flaw.pointer), flaw.message);
            view! { <a class="flaw" href=address_of(&flaw.pointer) data-testid="flaw">{text}</a> }
                .into_any()
        }
    };
    let buttons = move || {
        let valid = editor.flaw().is_none();
        let met = editor.theirs.with(Option::is_some);
        let preview = (valid && !met && !editor.reviewing.get()).then(|| {
            let review = move |_| {
                editor.look();
                editor.reviewing.set(true);
            };
            view! { <button type="button" class="primary" data-testid="preview" on:click=review>"Preview and save"</button> }
        });
        let undo = editor.draft.with(|draft| draft.as_ref().is_some_and(PolicyDraft::can_undo)).then(|| {
            view! {
                <button type="button" data-testid="undo" title="Ctrl+Z" on:click=move |_| editor.undo()>"Undo"</button>
            }
        });
        view! {
            {preview}
            {undo}
            <button type="button" data-testid="discard" on:click=move |_| asking.set(true)>"Discard"</button>
        }
    };
    let bar = move || {
        changed.get().then(|| {
            view! {
                <div class="draft-bar" data-testid="draft">
                    <p role="status">{told}" "{flaw}</p>
                    <div class="actions">{buttons}</div>
                </div>
            }
        })
    };
    view! {
        {bar}
        <Confirm
            open=asking
            title="Discard the draft?"
            detail="Everything that it changes is lost. The policy in force stays as it is."
            confirm="Discard the draft"
            danger=true
            on_confirm=Callback::new(move |()| editor.discard())
        />
    }
}
