//! The routes, in the order in which they are tried, and the form of one.

use leptos::ev;
use leptos::prelude::*;
use leptos_router::hooks::use_navigate;

use super::editor::Editor;
use super::entry_form::fields_form;
use super::entry_list::line;
use super::json_part::JsonPart;
use super::route_checks::RouteChecks;
use crate::components::field::TextField;
use crate::context::Console;
use crate::features::policy::model::routes::{
    FIELDS, ROUTES, added, earlier, lines, new_name, removed,
};
use crate::features::policy::model::section::Section;
use crate::query_address::within_page;
use crate::visible::visible;

/// The list, and the form of the route at the place that the address names.
#[component]
pub fn Routes(
    /// The place of the route that is open; empty for none.
    open: Signal<String>,
) -> impl IntoView {
    let console = expect_context::<Console>();
    let editor = expect_context::<Editor>();
    let rows = Memo::new(move |_| {
        editor
            .draft
            .with(|draft| draft.as_ref().map(lines).unwrap_or_default())
    });
    let listed = move || {
        let rows = rows.get();
        if rows.is_empty() {
            return view! { <p class="state" data-testid="state-empty">"The policy has no route yet."</p> }
                .into_any();
        }
        let one = |row: crate::features::policy::model::routes::RouteLine| {
            let at = row.index.to_string();
            let address = Section::Routes.address(Some(&at));
            let current = move || open.with(|open| *open == at).then_some("true");
            let name = format!("{}. {}", row.index + 1, visible(&row.name));
            line((row.name, name, row.summary, row.fate), address, current)
        };
        view! { <ol class="entries">{rows.into_iter().map(one).collect_view()}</ol> }.into_any()
    };
    // The route stays while its fields change.
    let shown = Memo::new(move |_| {
        let index: usize = open.with(|open| open.parse().ok())?;
        let found = rows.with(|rows| index < rows.len());
        found.then_some(index)
    });
    view! {
        <div class="master">
            <div>
                {listed}
                {move || console.can_change().then(|| view! { <AddRoute/> })}
            </div>
            <div>{move || shown.get().map(|index| view! { <OneRoute index/> })}</div>
        </div>
    }
}

#[component]
fn OneRoute(index: usize) -> impl IntoView {
    let console = expect_context::<Console>();
    let parent = format!("{ROUTES}/{index}");
    let checks = format!("{parent}/checks");
    let whole = parent.clone();
    let form = move || {
        console.can_change().then(|| {
            let named = Memo::new(|_| FIELDS.to_vec());
            fields_form(parent.clone(), named, ().into_any(), actions(index))
        })
    };
    view! {
        <section class="entry" aria-label=format!("route {}", index + 1)>
            <h3>{format!("Route {}", index + 1)}</h3>
            {form}
            <RouteChecks pointer=checks/>
            <JsonPart pointer=whole label="The whole route" hint="Also what has no field above: other sources of the tenant, costs that are found in a request or its answer, headers and limits of the origin, fallback origins."/>
        </section>
    }
}

/// What can be done with a route as a whole.
fn actions(index: usize) -> AnyView {
    let editor = expect_context::<Editor>();
    let navigate = StoredValue::new(use_navigate());
    let go = move |to: Option<usize>| {
        let to = to.map(|index| index.to_string());
        let address = Section::Routes.address(to.as_deref());
        navigate.with_value(|navigate| navigate(&address, within_page(false)));
    };
    let remove = move |_| {
        editor.edit(|draft| draft.put(ROUTES, Some(removed(draft, index))));
        go(None);
    };
    let sooner = move |_| {
        editor.edit(|draft| draft.put(ROUTES, Some(earlier(draft, index))));
        go(Some(index - 1));
    };
    let sooner = (index > 0).then(|| {
        view! { <button type="button" data-testid="route-earlier" on:click=sooner>"Try it earlier"</button> }
    });
    view! {
        {sooner}
        <button type="button" data-testid="remove-entry" on:click=remove>"Remove this route"</button>
    }
    .into_any()
}

#[component]
fn AddRoute() -> impl IntoView {
    let editor = expect_context::<Editor>();
    let navigate = use_navigate();
    let name = RwSignal::new(String::new());
    let refused = move || {
        editor.draft.with(|draft| {
            let draft = draft.as_ref()?;
            name.with(|name| new_name(draft, name.trim()).err())
        })
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
        editor.edit(|draft| draft.put(ROUTES, Some(added(draft, &text))));
        name.set(String::new());
        let last = editor
            .draft
            .with_untracked(|draft| draft.as_ref().map(|draft| lines(draft).len()));
        let last = last.unwrap_or_default().saturating_sub(1).to_string();
        navigate(&Section::Routes.address(Some(&last)), within_page(true));
    };
    view! {
        <form class="add-entry" on:submit=submit>
            <TextField label="New route" name="new-name" value=name error placeholder="name"/>
            <button type="submit" data-testid="add-entry">"Add"</button>
        </form>
    }
}
