//! Beside every page, or above it on a narrow screen: the pages, how alive the figures are, settings, and the way out.

use leptos::prelude::*;

use super::icon::IconView;
use super::live_control::LiveControl;
use crate::address::Page;
use crate::context::{Console, use_log_out};
use crate::icon::Icon;
use crate::preferences::{Theme, Zone};

/// The header. On a narrow screen all but the first line of it is behind a button.
#[component]
pub fn Header(
    /// The page of the navigation that is shown.
    page: Page,
) -> impl IntoView {
    let console = expect_context::<Console>();
    let open = RwSignal::new(false);
    view! {
        <header class="side" data-open=move || open.get().to_string()>
            <div class="side-top">
                <a class="brand" href=Page::Overview.address()><Mark/>"Weir"</a>
                <LiveControl hub=console.live/>
                <button
                    type="button"
                    class="menu"
                    data-testid="nav-menu"
                    aria-controls="side-menu"
                    aria-expanded=move || open.get().to_string()
                    on:click=move |_| open.update(|open| *open = !*open)
                >
                    "Menu"
                </button>
            </div>
            <div id="side-menu" class="side-menu">
                <Pages page/>
                <Settings/>
                <Account/>
            </div>
        </header>
    }
}

/// The pages that the role has any use for.
#[component]
fn Pages(page: Page) -> impl IntoView {
    let console = expect_context::<Console>();
    let role = Memo::new(move |_| console.role());
    let entries = move || {
        let pages = role.get().map(Page::nav).unwrap_or_default();
        let entry = |one: Page| {
            let current = (one == page).then_some("page");
            let testid = format!("nav-{}", one.slug());
            view! {
                <li><a href=one.address() data-testid=testid aria-current=current><IconView icon=one.icon()/>{one.name()}</a></li>
            }
        };
        pages.into_iter().map(entry).collect_view()
    };
    view! { <nav aria-label="Pages"><ul>{entries}</ul></nav> }
}

/// The mark: water over a step.
#[component]
pub fn Mark() -> impl IntoView {
    view! {
        <svg class="mark" viewBox="0 0 16 16" aria-hidden="true">
            <rect width="16" height="16" rx="3"></rect>
            <path d="M3 4v5h4v3h6"></path>
        </svg>
    }
}

/// How the person at the console likes it.
#[component]
fn Settings() -> impl IntoView {
    let console = expect_context::<Console>();
    let preferences = console.preferences;
    let theme = move || preferences.theme.get().slug();
    let zone = move || preferences.zone.get().slug();
    view! {
        <div class="settings">
            <label>
                <span>"Times"</span>
                <select
                    data-testid="time-zone"
                    prop:value=zone
                    on:change=move |event| {
                        preferences.zone.set(Zone::from_slug(&event_target_value(&event)).unwrap_or_default());
                    }
                >
                    {Zone::ALL.map(|one| view! { <option value=one.slug() selected=one.slug() == zone()>{one.name()}</option> })}
                </select>
            </label>
            <label>
                <span>"Theme"</span>
                <select
                    data-testid="theme"
                    prop:value=theme
                    on:change=move |event| {
                        preferences.theme.set(Theme::from_slug(&event_target_value(&event)).unwrap_or_default());
                    }
                >
                    {Theme::ALL.map(|one| view! { <option value=one.slug() selected=one.slug() == theme()>{one.name()}</option> })}
                </select>
            </label>
            <button type="button" data-testid="palette-open" on:click=move |_| console.palette_open.set(true)>
                <IconView icon=Icon::Search/>"Go to…"<kbd>"Ctrl K"</kbd>
            </button>
            <button type="button" data-testid="shortcuts-open" on:click=move |_| console.shortcuts_open.set(true)>
                "Keyboard shortcuts"
            </button>
        </div>
    }
}

/// Who one is, and the way out.
#[component]
fn Account() -> impl IntoView {
    let console = expect_context::<Console>();
    let leave = use_log_out();
    let log_out = move |_| leave.run(());
    let role = Memo::new(move |_| console.role().map_or("", |role| role.name()));
    view! {
        <div class="account">
            <p>"Logged in as "<strong data-testid="role">{role}</strong></p>
            <button id="logout" data-testid="logout" type="button" on:click=log_out><IconView icon=Icon::LogOut/>"Log out"</button>
        </div>
    }
}
