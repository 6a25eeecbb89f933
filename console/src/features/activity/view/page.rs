//! The activity page: what was changed, by whom and why.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::wire::operator::audit::AuditReply;

use crate::api::Client;
use crate::api::ask::{AuditAsk, audit_export_address};
use crate::components::shell::Shell;
use crate::components::states::States;
use crate::context::Console;
use crate::features::activity::model::query::ActivityQuery;
use crate::features::activity::view::filters::Filters;
use crate::features::activity::view::log::Log;
use crate::features::activity::view::records::Records;
use crate::features::activity::view::verify::Verify;
use crate::fetched::{Follow, fetched};
use crate::format::count;
use crate::lazy;
use crate::lazy::{fetch_part, shown_with};
use crate::query_address::use_asked;

/// The audit log.
#[component]
pub fn ActivityPage() -> impl IntoView {
    let part = fetch_part(fetch);
    view! { <Shell title="Activity">{shown_with(part, content)}</Shell> }
}

lazy!(
    policy,
    fetch,
    fn content() {
        view! { <Activity/> }
    }
);

#[component]
fn Activity() -> impl IntoView {
    let query = use_asked(ActivityQuery::parse);
    // Which record is open makes no other question; a filter that is none asks for what the last one did.
    let ask = Memo::new(move |before: Option<&AuditAsk>| {
        let asked = query.with(ActivityQuery::ask);
        asked.unwrap_or_else(|_| before.cloned().unwrap_or_default())
    });
    let page = fetched(
        move || {
            let ask = ask.get();
            async move { Client.audit(&ask).await }
        },
        Follow::Calm,
    );
    let empty = Signal::derive(move || {
        let none = page
            .value
            .with(|reply| reply.as_ref().is_some_and(|reply| reply.records.is_empty()));
        none.then(|| {
            let text = match query.with(|query| (query.is_filtered(), query.before)) {
                (true, _) => "No record fits these filters.",
                (false, Some(_)) => "There are no older records.",
                (false, None) => "Nothing has been recorded yet. Every change of the policy, of tokens and of state will appear here.",
            };
            text.to_owned()
        })
    });
    let console = expect_context::<Console>();
    // A viewer reverts nothing.
    let hint = move || match console.can_change() {
        true => "Open a record to see all of a change, or to revert it.",
        false => "Open a record to see all of a change.",
    };
    let csv = move || query.with(ActivityQuery::csv_address);
    let refresh = Callback::new(move |()| page.refresh());
    let log = Log::new(query, page.value, refresh);
    view! {
        <div class="page-tools">
            <a class="button" href=csv rel="external" download data-testid="export-csv">"Export CSV"</a>
            <a class="button" href=audit_export_address(None) rel="external" download data-testid="export-json">"Export JSON"</a>
            <Verify/>
        </div>
        <Filters query/>
        <Elsewhere reply=page.value log/>
        <p class="hint">{hint}</p>
        <States ready=page.ready() error=page.error retry=page.retry() empty>
            {move || damaged(&page.value.get())}
            <Records reply=page.value log/>
            {move || pager(&page.value.get(), &query.get())}
        </States>
    }
}

/// The record that the address names, while it is not on this page of the list.
#[component]
fn Elsewhere(reply: Signal<Option<Arc<AuditReply>>>, log: Log) -> impl IntoView {
    let wanted = Memo::new(move |_| {
        let record = log.query.with(|query| query.record)?;
        let here = reply.with(|reply| {
            let reply = reply.as_ref()?;
            Some(
                reply
                    .records
                    .iter()
                    .any(|entry| entry.record.sequence == record),
            )
        })?;
        (!here).then_some(record)
    });
    move || {
        wanted
            .get()
            .map(|record| view! { <OneElsewhere record log/> })
    }
}

#[component]
fn OneElsewhere(record: u64, log: Log) -> impl IntoView {
    let ask = AuditAsk {
        before: Some(record + 1),
        after: None,
        limit: 1,
        ..AuditAsk::default()
    };
    let found = fetched(
        move || {
            let ask = ask.clone();
            async move { Client.audit(&ask).await }
        },
        Follow::Once,
    );
    let empty = Signal::derive(move || {
        let here = found.value.with(|reply| {
            let reply = reply.as_ref()?;
            Some(
                reply
                    .records
                    .first()
                    .is_some_and(|entry| entry.record.sequence == record),
            )
        });
        (here == Some(false)).then(|| format!("The log has no record {}.", count(record.into())))
    });
    view! {
        <section class="elsewhere" aria-label="The record of this address">
            <States ready=found.ready() error=found.error retry=found.retry() empty>
                <Records reply=found.value log/>
            </States>
        </section>
    }
}

fn damaged(reply: &Option<Arc<AuditReply>>) -> Option<AnyView> {
    let damaged = reply.as_ref().map(|reply| &reply.damaged)?;
    (!damaged.is_empty()).then(|| {
        let numbers: Vec<String> = damaged
            .iter()
            .map(|number| count((*number).into()))
            .collect();
        let text = format!(
            "Records that cannot be read, and belong here: {}.",
            numbers.join(", ")
        );
        view! { <p class="notice error" role="alert">{text}</p> }.into_any()
    })
}

fn pager(reply: &Option<Arc<AuditReply>>, query: &ActivityQuery) -> Option<AnyView> {
    let reply = reply.as_ref()?;
    let page = |before| {
        ActivityQuery {
            before,
            record: None,
            ..query.clone()
        }
        .address()
    };
    let newest = query.before.map(|_| {
        view! { <a class="button" href=page(None) data-testid="newest">"Newest"</a> }
    });
    let older = reply.next.map(|next| {
        view! { <a class="button" href=page(Some(next)) data-testid="older">"Older"</a> }
    });
    let kept = format!(
        "{} records in all",
        count(u128::from(reply.head.sequence - reply.head.pruned))
    );
    Some(view! { <nav class="pager" aria-label="Pages of the log">{newest}{older}<span class="muted">{kept}</span></nav> }.into_any())
}
