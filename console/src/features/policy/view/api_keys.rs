//! Whose each API key is, a row a key, and the form for another one.

use leptos::ev;
use leptos::prelude::*;

use super::draft_field::DraftField;
use super::editor::Editor;
use super::json_part::JsonPart;
use crate::components::field::{SelectField, TextField};
use crate::components::notice::{Notice, Severity};
use crate::components::rows::rows;
use crate::components::search_box::SearchBox;
use crate::context::Console;
use crate::features::policy::model::api_keys::{
    API_KEYS, GIVEN, KeyRow, KeyRows, NewKey, ROWS_MAX, TENANT, rows as found_rows, suggested,
    unmet,
};
use crate::features::policy::model::entries::Fate;
use crate::format;
use crate::visible::visible;

/// Characters of a search: those of a hash.
const SEARCH_CHARS_MAX: usize = 128;

/// All keys; for who may not change anything, to read.
#[component]
pub fn ApiKeys() -> impl IntoView {
    let console = expect_context::<Console>();
    let editor = expect_context::<Editor>();
    let search = RwSignal::new(String::new());
    let found = Memo::new(move |_| {
        editor.draft.with(|draft| {
            let draft = draft.as_ref();
            draft.map_or_else(KeyRows::default, |draft| {
                search.with(|search| found_rows(draft, search))
            })
        })
    });
    let shown = Memo::new(move |_| found.with(|found| found.rows.clone()));
    let unmet = Memo::new(move |_| editor.draft.with(|draft| draft.as_ref().and_then(unmet)));
    let many = Memo::new(move |_| found.with(|found| found.total > ROWS_MAX));
    let told = move || {
        let (shown, found, total) =
            found.with(|found| (found.rows.len(), found.found, found.total));
        match (total, found > shown) {
            (0, _) => "The policy has no API key.".to_owned(),
            (_, true) => format!("{shown} of {} are shown.", format::counted(found, "key")),
            (_, false) => format::counted(found, "key"),
        }
    };
    view! {
        <div class="checks">
            {move || unmet.get().map(|(title, detail)| view! {
                <Notice severity=Severity::Warning title detail testid="keys-unmet"/>
            })}
            {move || many.get().then(|| view! {
                <SearchBox label="Search by tenant or hash" value=search.into() chars_max=SEARCH_CHARS_MAX
                    typed=Callback::new(move |text| search.set(text))/>
            })}
            <p class="muted" role="status" data-testid="keys-found">{told}</p>
            <ul class="check-list">{rows(shown, |row| row.hash.clone(), row)}</ul>
            {move || console.can_change().then(|| view! { <AddKey/> })}
            <JsonPart pointer=API_KEYS label="All API keys, as JSON" hint="Tenants by the SHA-256 of their key, in hexadecimal."/>
        </div>
    }
}

/// One key. Its fields stay while its tenant is typed.
fn row(entry: Memo<KeyRow>) -> AnyView {
    let console = expect_context::<Console>();
    let editor = expect_context::<Editor>();
    let (hash, short, pointer) =
        entry.with_untracked(|row| (row.hash.clone(), row.short(), row.pointer()));
    let at = StoredValue::new(pointer);
    let fate = Memo::new(move |_| entry.with(|row| row.fate));
    let fault = Memo::new(move |_| entry.with(|row| row.fault.clone()));
    let removed = Memo::new(move |_| fate.get() == Fate::Removed);
    let tenant = move || entry.with(|row| visible(&row.tenant));
    let named = short.clone();
    let put = move |back: bool| {
        editor.edit(|draft| {
            at.with_value(|at| {
                let value = back.then(|| draft.base_at(at).cloned()).flatten();
                draft.put(at, value);
            });
        });
    };
    let body = move || {
        match (console.can_change(), removed.get(), fault.get()) {
        (true, true, _) => view! {
            <p>{tenant}</p>
            <button type="button" data-testid="restore-key" aria-label=format!("Put it back: key {named}")
                on:click=move |_| put(true)>"Put it back"</button>
        }
        .into_any(),
        (true, false, fault) => {
            let inner = match fault {
                Some(fault) => {
                    let text = format!("SHA-256: {fault}");
                    view! { <p class="field-error" data-testid="error-key">{text}</p> }.into_any()
                }
                None => {
                    let at = at.get_value();
                    view! { <DraftField field=TENANT parent=at.clone() at/> }.into_any()
                }
            };
            view! {
                {inner}
                <button type="button" data-testid="remove-key" aria-label=format!("Remove key {named}")
                    on:click=move |_| put(false)>"Remove"</button>
            }
            .into_any()
        }
        (false, ..) => view! { <p>{tenant}</p> }.into_any(),
    }
    };
    let word = move || {
        let fate = fate.get();
        (fate != Fate::Kept).then(|| {
            let gone = fate == Fate::Removed;
            view! { <span class="tag" class:removed=gone class:touched=!gone>{fate.word()}</span> }
        })
    };
    view! {
        <li class="check-row key-row" data-testid="key-row" data-fate=move || fate.get().word()>
            <p><code class="entry-name" title=hash>{short}</code>" "{word}</p>
            {body}
        </li>
    }
    .into_any()
}

/// The form for another key. What is typed is hashed here, and forgotten once it is added.
#[component]
fn AddKey() -> impl IntoView {
    let editor = expect_context::<Editor>();
    let given = RwSignal::new(GIVEN[0].0.to_owned());
    let (text, tenant) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let asked = RwSignal::new(false);
    let checked = move || {
        let new = NewKey {
            given: given.get(),
            text: text.get(),
            tenant: tenant.get(),
        };
        editor
            .draft
            .with(|draft| draft.as_ref().map(|draft| new.checked(draft)))
    };
    let error = move |field: &'static str, typed: RwSignal<String>| {
        Signal::derive(move || {
            let (at, fault) = checked()?.err()?;
            let touched = asked.get() || !typed.with(String::is_empty);
            (at == field && touched).then_some(fault)
        })
    };
    let submit = move |event: ev::SubmitEvent| {
        event.prevent_default();
        asked.set(true);
        if let Some(Ok((pointer, value))) = untrack(checked) {
            editor.put(&pointer, Some(value));
            for typed in [text, tenant] {
                typed.set(String::new());
            }
            asked.set(false);
        }
    };
    let names = Signal::derive(move || {
        let draft = editor.draft.read();
        let typed = tenant.get();
        draft
            .as_ref()
            .map_or_else(Vec::new, |draft| suggested(draft, &typed))
    });
    let owned = |(value, label): (&str, &str)| (value.to_owned(), label.to_owned());
    let options = Signal::stored(GIVEN.map(owned).to_vec());
    view! {
        <form class="check-row" on:submit=submit>
            <div class="fields">
                <SelectField label="Add a key by" name="new-key-given" value=given options/>
                <TextField label="Key or SHA-256" name="new-key" value=text error=error("new-key", text)
                    hint="A key is hashed in this browser. It is neither sent nor stored."/>
                <TextField label="Tenant" name="new-key-tenant" value=tenant error=error("new-key-tenant", tenant)
                    hint="The tenant that requests with this key are charged to." suggested=names/>
            </div>
            <button type="submit" data-testid="add-key">"Add the key"</button>
        </form>
    }
}
