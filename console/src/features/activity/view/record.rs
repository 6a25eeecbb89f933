//! One record: what it changed, why, and how it stands in the chain.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::wire::audit::AuditEntry;

use super::log::Log;
use super::revert::RevertButton;
use crate::address::Page;
use crate::components::difference::DifferenceTable;
use crate::components::time::Time;
use crate::context::Console;
use crate::features::activity::model::actions::{changes, revisions, sides};
use crate::features::activity::model::revert::{Reverted, revertible};
use crate::format;
use crate::visible::visible;

/// One record, opened.
#[component]
pub fn RecordDetail(
    /// The record.
    entry: Arc<AuditEntry>,
    /// The log.
    log: Log,
) -> impl IntoView {
    let console = expect_context::<Console>();
    let record = &entry.record;
    let rows = changes(record).unwrap_or_else(|| sides(record));
    let why = record.why.clone().map(
        |why| view! { <div><dt>"Reason"</dt><dd data-testid="reason">{visible(&why)}</dd></div> },
    );
    let token = record
        .token
        .clone()
        .map(|token| view! { <div><dt>"Token"</dt><dd data-testid="token"><code>{visible(&token)}</code></dd></div> });
    let revision = revisions(record).map(|(was, is)| {
        let text = format!(
            "{} to {}",
            format::count(was.into()),
            format::count(is.into())
        );
        view! { <div><dt>"Policy revision"</dt><dd>{text}</dd></div> }
    });
    let of_tenant = record.action.starts_with("tenant.") && !record.target.is_empty();
    let tenant = of_tenant.then(|| {
        let address = Page::Tenant(record.target.clone()).address();
        view! { <div><dt>"Tenant"</dt><dd><a href=address>{visible(&record.target)}</a></dd></div> }
    });
    let previous = if record.previous.is_empty() {
        "none: it is the first".to_owned()
    } else {
        record.previous.clone()
    };
    let hash = entry.hash.clone();
    let about_policy = record.action.starts_with("policy.") || record.action.starts_with("tenant.");
    let taken_back = about_policy.then(|| {
        let possible = revertible(record);
        let entry = entry.clone();
        move || match (console.can_change(), possible.clone()) {
            (true, Ok(_)) => {
                view! { <RevertButton entry=entry.clone() refresh=log.refresh/> }.into_any()
            }
            (true, Err(why)) => view! { <p class="muted">{why}</p> }.into_any(),
            (false, _) => ().into_any(),
        }
    });
    let sequence = record.sequence;
    let revert = log.revert_of(sequence);
    let undone = move || {
        let Reverted {
            sequence,
            by,
            at_ms,
        } = revert.get()?;
        let text = format!("record {}", format::count(sequence.into()));
        Some(view! {
            <div><dt>"Reverted"</dt><dd data-testid="reverted-by">
                "by "{visible(&by)}" at "<Time at=Signal::stored(at_ms)/>", in "{log.link(sequence, text, "revert-record")}
            </dd></div>
        })
    };
    let nothing = rows.is_empty();
    let rows = Signal::stored(rows);
    view! {
        <div class="record-detail">
            <dl class="facts">{why}{token}{revision}{tenant}{undone}</dl>
            {(!nothing).then(|| view! { <DifferenceTable rows/> })}
            <dl class="facts hashes">
                <div><dt>"Hash"</dt><dd><code>{hash}</code></dd></div>
                <div><dt>"Of the record before"</dt><dd><code>{previous}</code></dd></div>
            </dl>
            {taken_back}
        </div>
    }
}
