//! What narrows the list down.

use leptos::prelude::*;

use crate::components::choice::Choice;
use crate::components::search_box::SearchBox;
use crate::features::tenants::model::query::{SEARCH_CHARS_MAX, TenantsQuery};

/// Takes a query into the address: pushed as a new entry, or in the place of the one before.
pub type AskTenants = Callback<(TenantsQuery, bool)>;

/// Search, tier, named and budget.
#[component]
pub fn Filters(
    /// What is asked for.
    query: Memo<TenantsQuery>,
    /// Asks for something else.
    ask: AskTenants,
    /// The tiers of the policy.
    tiers: Signal<Vec<String>>,
    /// The budgets of the policy.
    budgets: Signal<Vec<String>>,
) -> impl IntoView {
    let change = move |push: bool, edit: &dyn Fn(&mut TenantsQuery)| {
        let mut wanted = query.get_untracked();
        edit(&mut wanted);
        ask.run((wanted, push));
    };
    let tier = Signal::derive(move || query.with(|query| query.tier.clone().unwrap_or_default()));
    let budget =
        Signal::derive(move || query.with(|query| query.budget.clone().unwrap_or_default()));
    let named = Signal::derive(move || {
        query.with(|query| match query.named {
            Some(true) => "yes".to_owned(),
            Some(false) => "no".to_owned(),
            None => String::new(),
        })
    });
    let all_named = Signal::stored(vec![
        ("yes".to_owned(), "Named".to_owned()),
        ("no".to_owned(), "By rule".to_owned()),
    ]);
    view! {
        <form class="filters" role="search" on:submit=|event| event.prevent_default()>
            <SearchBox label="Search" chars_max=SEARCH_CHARS_MAX
                value=Signal::derive(move || query.with(|query| query.search.clone()))
                typed=Callback::new(move |text: String| change(false, &|query| query.search_for(&text)))/>
            <Choice label="Tier" testid="filter-tier" all="Every tier" value=tier options=pairs(tiers)
                choose=Callback::new(move |text: String| change(true, &|query| query.tier = said(&text)))/>
            <Choice label="In the policy" testid="filter-named" all="Named or not" value=named options=all_named
                choose=Callback::new(move |text: String| change(true, &|query| {
                    query.named = said(&text).map(|text| text == "yes");
                }))/>
            <Choice label="Figures of budget" testid="filter-budget" all="The busiest one" value=budget options=pairs(budgets)
                choose=Callback::new(move |text: String| change(true, &|query| query.budget = said(&text)))/>
        </form>
    }
}

fn said(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn pairs(names: Signal<Vec<String>>) -> Signal<Vec<(String, String)>> {
    Signal::derive(move || {
        let pair = |name: String| (name.clone(), name);
        names.get().into_iter().map(pair).collect()
    })
}
