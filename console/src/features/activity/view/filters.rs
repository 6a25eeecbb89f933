//! What of the audit log is looked at.

use leptos::ev;
use leptos::prelude::*;
use leptos_router::hooks::use_navigate;

use crate::components::field::{SelectField, TextField};
use crate::features::activity::model::actions::ACTIONS;
use crate::features::activity::model::query::ActivityQuery;
use crate::query_address::within_page;

/// The filters, which go into the address when they are asked for.
#[component]
pub fn Filters(
    /// What the address asks for.
    query: Memo<ActivityQuery>,
) -> impl IntoView {
    let navigate = StoredValue::new(use_navigate());
    let go = move |query: ActivityQuery| {
        navigate.with_value(|navigate| navigate(&query.address(), within_page(true)));
    };
    let field = || RwSignal::new(String::new());
    let (actor, action, target) = (field(), field(), field());
    let (outcome, from, to) = (field(), field(), field());
    Effect::new(move |_| {
        let query = query.get();
        for (field, text) in [
            (actor, query.actor),
            (action, query.action),
            (target, query.target),
            (outcome, query.outcome),
            (from, query.from),
            (to, query.to),
        ] {
            if field.with_untracked(|field| *field != text) {
                field.set(text);
            }
        }
    });
    let submit = move |event: ev::SubmitEvent| {
        event.prevent_default();
        let text = |field: RwSignal<String>| field.with_untracked(|text| text.trim().to_owned());
        go(ActivityQuery {
            actor: text(actor),
            action: text(action),
            target: text(target),
            outcome: text(outcome),
            from: text(from),
            to: text(to),
            ..ActivityQuery::default()
        });
    };
    let error = move |field: &'static str| {
        Signal::derive(move || {
            let (at, message) = query.with(ActivityQuery::ask).err()?;
            (at == field).then_some(message)
        })
    };
    let any = |label: &str| (String::new(), label.to_owned());
    let named = ACTIONS
        .iter()
        .map(|(action, label)| (action.name().to_owned(), (*label).to_owned()));
    let actions: Vec<_> = std::iter::once(any("any action")).chain(named).collect();
    let outcomes = vec![
        any("any outcome"),
        ("done".to_owned(), "done".to_owned()),
        ("refused".to_owned(), "refused".to_owned()),
    ];
    let clear = move || {
        query.with(ActivityQuery::is_filtered).then(|| {
            let all = move |_| go(ActivityQuery::default());
            view! { <button type="button" data-testid="clear" on:click=all>"Show all"</button> }
        })
    };
    view! {
        <form class="filters" on:submit=submit role="search" aria-label="Filter the audit log">
            <TextField label="Who" name="actor" value=actor placeholder="a token's name"/>
            <SelectField label="Action" name="action" value=action options=Signal::stored(actions)/>
            <TextField label="Target" name="target" value=target placeholder="a tenant, a token"/>
            <SelectField label="Outcome" name="outcome" value=outcome options=Signal::stored(outcomes) error=error("outcome")/>
            <TextField label="From, UTC" name="from" value=from error=error("from") placeholder="2026-01-31 08:30"/>
            <TextField label="To, UTC" name="to" value=to error=error("to") placeholder="2026-01-31 09:30"/>
            <div class="actions">
                <button type="submit" class="primary" data-testid="filter">"Filter"</button>
                {clear}
            </div>
        </form>
    }
}
