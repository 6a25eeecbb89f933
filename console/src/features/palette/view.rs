//! The command palette, opened by Ctrl+K: goes to any tenant, budget, region or page, and does what has no page.

use std::time::Duration;

use leptos::ev;
use leptos::html::Input;
use leptos::prelude::*;
use leptos::wasm_bindgen::JsCast;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use crate::api::Client;
use crate::api::ask::TenantsAsk;
use crate::components::dialog::Dialog;
use crate::context::{Console, use_log_out};
use crate::features::palette::model::{Act, Entry, fixed, found, moved};
use crate::features::tenants::model::query::SEARCH_CHARS_MAX;
use crate::fetched::{Follow, fetched};
use crate::live::Phase;
use crate::preferences::Theme;

/// Tenants that are asked for by what is typed.
const TENANTS: u64 = 8;

/// Listens to Ctrl+K and Cmd+K, and shows the palette.
#[component]
pub fn Palette() -> impl IntoView {
    let console = expect_context::<Console>();
    let open = console.palette_open;
    let handle = window_event_listener(ev::keydown, move |event| {
        let wanted =
            (event.ctrl_key() || event.meta_key()) && !event.alt_key() && !event.shift_key();
        if wanted
            && event.key().eq_ignore_ascii_case("k")
            && console.session.with_untracked(Option::is_some)
        {
            event.prevent_default();
            let in_dialog = matches!(document().query_selector("dialog[open]"), Ok(Some(_)));
            if !in_dialog || open.get_untracked() {
                open.update(|open| *open = !*open);
            }
        }
    });
    on_cleanup(move || handle.remove());
    view! { <Dialog open title="Go to…" testid="palette"><Panel open/></Dialog> }
}

#[component]
fn Panel(open: RwSignal<bool>) -> impl IntoView {
    let console = expect_context::<Console>();
    let typed = RwSignal::new(String::new());
    let place = RwSignal::new(0_usize);
    let budgets = fetched(|| Client.budgets(), Follow::Once);
    let regions = fetched(|| Client.regions(), Follow::Once);
    let tenants = fetched(
        move || {
            let search = typed.get().trim().to_owned();
            async move {
                // Nothing typed asks for nobody in particular.
                if search.is_empty() {
                    return Ok((search, Vec::new()));
                }
                let ask = TenantsAsk {
                    page: 1,
                    page_size: TENANTS,
                    search: Some(search.clone()),
                    ..TenantsAsk::default()
                };
                let reply = Client.tenants(&ask).await?;
                let names = reply.tenants.into_iter().map(|row| row.tenant);
                Ok((search, names.collect::<Vec<_>>()))
            }
        },
        Follow::Once,
    );
    let entries = Memo::new(move |_| {
        let mut entries = console.role().map(fixed).unwrap_or_default();
        budgets.value.with(|reply| {
            let rows = reply.iter().flat_map(|reply| &reply.budgets);
            entries.extend(rows.map(|row| Entry::budget(&row.name)));
        });
        regions.value.with(|reply| {
            let all = reply.iter().flat_map(|reply| &reply.regions);
            entries.extend(all.map(|one| Entry::region(&one.region)));
        });
        tenants.value.with(|found| {
            let names = found.iter().flat_map(|found| &found.1);
            entries.extend(names.map(|name| Entry::tenant(name)));
        });
        typed.with(|typed| found(&entries, typed))
    });
    // Until the tenants that fit have come, nobody knows that nothing does.
    let searching = move || {
        let is_answered = tenants.value.with(|found| {
            let answered = found.as_ref().map(|found| found.0.as_str());
            typed.with(|typed| answered == Some(typed.trim()))
        });
        !is_answered && tenants.error.with(Option::is_none)
    };
    let none = move || {
        let word = if searching() {
            "Searching…"
        } else {
            "Nothing has that name."
        };
        entries.with(Vec::is_empty).then_some(word)
    };
    let input = NodeRef::<Input>::new();
    Effect::new(move |_| {
        if let Some(input) = input.get() {
            let _ = input.focus();
        }
    });
    let act = use_act(open);
    let run = Callback::new(move |place: usize| {
        let entry = entries.with_untracked(|entries| entries.get(place).cloned());
        if let Some(entry) = entry {
            act.run(entry.act);
        }
    });
    let press = move |event: ev::KeyboardEvent| {
        let count = entries.with_untracked(Vec::len);
        if event.key() == "Enter" && !event.is_composing() {
            event.prevent_default();
            run.run(place.get_untracked());
        } else if let Some(to) = moved(place.get_untracked(), &event.key(), count)
            && event.key().starts_with("Arrow")
        {
            event.prevent_default();
            place.set(to);
        }
    };
    let option = move |(index, entry): (usize, Entry)| {
        view! {
            <li
                id=format!("palette-{index}")
                role="option"
                aria-selected=move || (place.get() == index).to_string()
                data-testid="palette-entry"
                on:click=move |_| run.run(index)
                on:pointermove=move |_| place.set(index)
            >
                <span>{entry.label}</span><span class="muted">{entry.kind}</span>
            </li>
        }
    };
    view! {
        <input
            node_ref=input
            type="search"
            role="combobox"
            aria-label="Tenant, budget, region, page, section or task"
            aria-expanded="true"
            aria-controls="palette-list"
            aria-activedescendant=move || format!("palette-{}", place.get())
            autocomplete="off"
            spellcheck="false"
            maxlength=SEARCH_CHARS_MAX.to_string()
            placeholder="A tenant, budget, region, page, section or task"
            data-testid="palette-input"
            prop:value=move || typed.get()
            on:input=move |event| {
                typed.set(event_target_value(&event));
                place.set(0);
            }
            on:keydown=press
        />
        <ul id="palette-list" role="listbox" aria-label="What fits" class="palette-list">
            {move || entries.get().into_iter().enumerate().map(option).collect_view()}
        </ul>
        {move || none().map(|word| view! { <p class="muted" role="status">{word}</p> })}
    }
}

fn whole_address() -> NavigateOptions {
    NavigateOptions {
        resolve: false,
        ..NavigateOptions::default()
    }
}

/// How often, and how many times, a part of a page is looked for: its code and its figures may have to come first.
const SEEK_EVERY: Duration = Duration::from_millis(100);
const SEEK_TRIES: u32 = 50;

/// Brings a heading into view, and the focus to it, once it is on the page.
fn seek(id: &'static str, tries: u32) {
    let again = move || {
        let found = document().get_element_by_id(id);
        match found.and_then(|found| found.dyn_into::<web_sys::HtmlElement>().ok()) {
            Some(heading) => {
                heading.set_tab_index(-1);
                let _ = heading.focus();
            }
            None if tries > 0 => seek(id, tries - 1),
            None => {}
        }
    };
    set_timeout(again, SEEK_EVERY);
}

fn use_act(open: RwSignal<bool>) -> Callback<Act> {
    let console = expect_context::<Console>();
    let navigate = use_navigate();
    let log_out = use_log_out();
    Callback::new(move |act: Act| {
        open.set(false);
        match act {
            Act::Go(address) => navigate(&address, whole_address()),
            Act::Part(address, id) => {
                navigate(&address, whole_address());
                seek(id, SEEK_TRIES);
            }
            Act::Live => match console.live.state.get_untracked().phase {
                Phase::Paused => console.live.resume(),
                _ => console.live.pause(),
            },
            Act::Shortcuts => console.shortcuts_open.set(true),
            Act::Theme => console.preferences.theme.update(|theme| {
                *theme = match theme {
                    Theme::Dark => Theme::Light,
                    Theme::Auto | Theme::Light => Theme::Dark,
                };
            }),
            Act::LogOut => log_out.run(()),
        }
    })
}
