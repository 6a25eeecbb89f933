//! The entries of a section, each a link to its form, and a form for another one.

use leptos::ev;
use leptos::prelude::*;
use leptos_router::hooks::use_navigate;

use super::editor::Editor;
use crate::components::field::TextField;
use crate::context::Console;
use crate::features::policy::model::entries::{Entry, Fate, entries, new_name, template};
use crate::features::policy::model::section::Section;
use crate::query_address::within_page;
use crate::visible::visible;

/// The entries of a section.
#[component]
pub fn EntryList(
    /// The section.
    section: Section,
    /// The entry that is open.
    #[prop(into)]
    open: Signal<String>,
) -> impl IntoView {
    let console = expect_context::<Console>();
    let editor = expect_context::<Editor>();
    let rows = Memo::new(move |_| {
        editor.draft.with(|draft| {
            draft
                .as_ref()
                .map_or_else(Vec::new, |draft| entries(draft, section))
        })
    });
    let none = format!("The policy has no {} yet.", section.noun());
    let listed = move || {
        let rows = rows.get();
        if rows.is_empty() {
            return view! { <p class="state" data-testid="state-empty">{none.clone()}</p> }
                .into_any();
        }
        let rows = rows.into_iter().map(|entry| one(section, entry, open));
        view! { <ul class="entries">{rows.collect_view()}</ul> }.into_any()
    };
    view! {
        {listed}
        {move || console.can_change().then(|| view! { <AddEntry section/> })}
    }
}

fn one(section: Section, entry: Entry, open: Signal<String>) -> AnyView {
    let Entry {
        name,
        summary,
        fate,
    } = entry;
    let current = {
        let name = name.clone();
        move || open.with(|open| *open == name).then_some("true")
    };
    let address = section.address(Some(&name));
    let shown = visible(&name);
    line((name, shown, summary, fate), address, current)
}

/// A line of a list: its name, how that is shown, what it says and what the draft does to it; where it leads, and whether
/// that is open.
pub fn line(
    (name, shown, summary, fate): (String, String, String, Fate),
    address: String,
    current: impl Fn() -> Option<&'static str> + Send + Sync + 'static,
) -> AnyView {
    let word = (fate != Fate::Kept).then(|| {
        let class = match fate {
            Fate::Removed => "tag removed",
            _ => "tag touched",
        };
        view! { <span class=class>{fate.word()}</span> }
    });
    view! {
        <li data-testid="entry" data-name=name data-fate=fate.word()>
            <a href=address aria-current=current>
                <span class="entry-name">{shown}</span>
                {word}
                <span class="entry-summary">{summary}</span>
            </a>
        </li>
    }
    .into_any()
}

#[component]
fn AddEntry(section: Section) -> impl IntoView {
    let editor = expect_context::<Editor>();
    let navigate = use_navigate();
    let name = RwSignal::new(String::new());
    let asked = RwSignal::new(false);
    let refused = move || {
        editor.draft.with(|draft| {
            let draft = draft.as_ref()?;
            name.with(|name| new_name(draft, section, name.trim()).err())
        })
    };
    let error = Signal::derive(move || {
        let untouched = !asked.get() && name.with(String::is_empty);
        (!untouched).then(refused).flatten()
    });
    let submit = move |event: ev::SubmitEvent| {
        event.prevent_default();
        asked.set(true);
        if untrack(refused).is_some() {
            return;
        }
        let text = name.get_untracked().trim().to_owned();
        let at = section.entries().unwrap_or_default();
        editor.put(&format!("{at}/{text}"), Some(template(section)));
        asked.set(false);
        name.set(String::new());
        navigate(&section.address(Some(&text)), within_page(true));
    };
    view! {
        <form class="add-entry" on:submit=submit>
            <TextField label=format!("New {}", section.noun()) name="new-name" value=name error placeholder="name"/>
            <button type="submit" data-testid="add-entry">"Add"</button>
        </form>
    }
}
