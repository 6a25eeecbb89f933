//! What the parts of the page share: what the address asks for, and which records were reverted.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::audit::Action;
use weir_shared::limits::AUDIT_PAGE_MAX;
use weir_shared::ordered::OrderedMap;
use weir_shared::wire::audit::AuditOutcome;
use weir_shared::wire::operator::audit::AuditReply;

use crate::api::Client;
use crate::api::ask::AuditAsk;
use crate::features::activity::model::query::ActivityQuery;
use crate::features::activity::model::revert::{Reverted, reverted};
use crate::fetched::{Follow, fetched};
use crate::format::count;

/// The log, as it is looked at.
#[derive(Clone, Copy)]
pub struct Log {
    /// What the address asks for.
    pub query: Memo<ActivityQuery>,
    /// The reverts of the records that are shown.
    reverted: Memo<OrderedMap<u64, Reverted>>,
    /// Reads the list again.
    pub refresh: Callback<()>,
}

impl Log {
    /// The log, of which `page` is listed.
    pub fn new(
        query: Memo<ActivityQuery>,
        page: Signal<Option<Arc<AuditReply>>>,
        refresh: Callback<()>,
    ) -> Self {
        // Reverts are newer than what they revert, and may be on another page or left out by a filter. With each new record
        // they are asked for again.
        let since = Memo::new(move |_| {
            page.with(|reply| {
                let reply = reply.as_ref()?;
                let listed = reply.records.iter().map(|entry| entry.record.sequence);
                let named = query.with(|query| query.record);
                Some((listed.chain(named).min()?, reply.head.sequence))
            })
        });
        let later = fetched(
            move || {
                let since = since.get();
                async move {
                    let Some((oldest, _)) = since else {
                        return Ok(OrderedMap::new());
                    };
                    let ask = AuditAsk {
                        after: Some(oldest),
                        limit: AUDIT_PAGE_MAX,
                        action: Some(Action::PolicySave.name().to_owned()),
                        outcome: Some(AuditOutcome::Done),
                        ..AuditAsk::default()
                    };
                    Ok(reverted(&Client.audit(&ask).await?.records))
                }
            },
            Follow::Once,
        );
        let reverted = Memo::new(move |_| {
            let later = later.value.get();
            let mut all = later.map(|later| (*later).clone()).unwrap_or_default();
            page.with(|reply| {
                let records = reply.as_ref().map_or(&[][..], |reply| &reply.records);
                all.extend(reverted(records));
            });
            all
        });
        Self {
            query,
            reverted,
            refresh,
        }
    }

    /// The revert of a record, once it is known.
    pub fn revert_of(self, sequence: u64) -> Memo<Option<Reverted>> {
        Memo::new(move |_| self.reverted.with(|all| all.get(&sequence).cloned()))
    }

    /// A link that opens another record.
    pub fn link(self, record: u64, text: String, testid: &'static str) -> AnyView {
        let address = move || {
            let query = ActivityQuery {
                record: Some(record),
                ..self.query.get()
            };
            query.address()
        };
        view! { <a class="under" href=address data-testid=testid>{text}</a> }.into_any()
    }

    /// A link to the record that a revert reverts.
    pub fn to_reverted(self, record: u64) -> AnyView {
        let text = format!("reverts record {}", count(record.into()));
        self.link(record, text, "reverts")
    }
}
