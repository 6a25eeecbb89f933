//! What settlements come to for the accounts: entries, rows until the ledgers have counted them. Carries out what
//! `node::settled` says.

use std::collections::VecDeque;
use std::rc::Rc;

use weir_shared::accounting::settled::{Ledger, LedgerCursor};
use weir_shared::limits::{CALL_MS_MAX, SETTLED_ENTRIES_MAX};
use weir_shared::node::settled::{Cursors, Effect, Event, SettledNode};
use weir_shared::wire::accounting::{FrameBody, FrameReply, SettledEntry};
use weir_shared::wire::stored::read_row;
use worker::console_error;

use super::Core;
use crate::objects::binding::{Address, call};
use crate::objects::calls::TakeFrame;
use crate::objects::server::Refused;
use crate::objects::storage::{
    Database, Statement, integer, number, report_damaged, text, wrong_type,
};

pub(super) const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS settled (number INTEGER PRIMARY KEY, body TEXT)",
    "CREATE TABLE IF NOT EXISTS settled_told (ledger INTEGER PRIMARY KEY, counted INTEGER, under_way INTEGER)",
];

/// The number of a ledger in its row.
fn row_id(ledger: Ledger) -> u64 {
    match ledger {
        Ledger::Own => 0,
        Ledger::Home => 1,
    }
}

/// As it was stored.
pub(super) fn load(database: &Database, region: &str) -> Result<SettledNode, Refused> {
    let last = database.first("SELECT MAX(number) FROM settled", vec![])?;
    let last = last.and_then(|row| integer(row.first())).unwrap_or(0);
    let mut cursors = Cursors::default();
    let query = "SELECT ledger, counted, under_way FROM settled_told";
    for row in database.rows(query, vec![])? {
        let ids = [Ledger::Own, Ledger::Home];
        let id = integer(row.first());
        let ledger = ids.into_iter().find(|ledger| Some(row_id(*ledger)) == id);
        if let (Some(ledger), Some(counted), Some(under_way)) =
            (ledger, integer(row.get(1)), integer(row.get(2)))
        {
            *cursors.of_mut(ledger) = LedgerCursor { counted, under_way };
        }
    }
    Ok(SettledNode::new(region, last, cursors))
}

/// What writes an entry.
///
/// # Errors
/// When the entry is no JSON.
pub(super) fn statement(at: u64, entry: &SettledEntry) -> Result<Statement, Refused> {
    let body = serde_json::to_string(entry)?;
    let statement = "INSERT INTO settled (number, body) VALUES (?, ?)";
    Ok((statement, vec![number(at), body.into()]))
}

impl Core {
    /// Tells the ledgers of the entries that they have not counted.
    pub(super) async fn flush_settled(self: &Rc<Self>) -> Result<(), Refused> {
        let step =
            |event| self.with(|machine, now| machine.settlements.settled_mut().step(event, now));
        let knows_home = self.with(|machine, _| machine.rules.policy().is_some())?;
        let mut effects = VecDeque::from(step(Event::Flush { knows_home })?);
        let mut failed = None;
        while let Some(effect) = effects.pop_front() {
            let event = match effect {
                Effect::ReadEntries { after, through } => match self.entries(after, through) {
                    Ok(entries) => Event::Read(entries),
                    Err(refused) => {
                        failed = Some(refused);
                        Event::NotRead
                    }
                },
                Effect::Persist(ledger, cursor) => match self.write_cursor(ledger, cursor) {
                    Ok(()) => Event::Persisted,
                    Err(refused) => {
                        failed = Some(refused);
                        Event::NotPersisted
                    }
                },
                Effect::Send(ledger, frame) => {
                    let sequence = frame.sequence;
                    let answer = self.tell_settled(ledger, *frame).await;
                    Event::Answered {
                        ledger,
                        sequence,
                        answer,
                    }
                }
                Effect::DropThrough(last) => {
                    let statement = "DELETE FROM settled WHERE number <= ?";
                    let dropped = self.database.run(statement, vec![number(last)]);
                    failed = failed.or(dropped.err());
                    continue;
                }
            };
            effects.extend(step(event)?);
        }
        failed.map_or(Ok(()), Err)
    }

    /// One frame to one ledger, and its answer.
    async fn tell_settled(&self, ledger: Ledger, frame: FrameBody) -> Option<FrameReply> {
        let region = self.with(|machine, _| match ledger {
            Ledger::Own => Some(machine.name.clone()),
            Ledger::Home => {
                let loaded = machine.rules.policy();
                loaded.map(|loaded| loaded.policy.home.clone())
            }
        });
        let region = region.ok().flatten()?;
        let take = TakeFrame { frame };
        match call(&self.env, Address::ledger(&region), &take, CALL_MS_MAX).await {
            Ok(reply) => {
                if !reply.counted {
                    console_error!("a ledger cannot read what was settled");
                }
                Some(reply)
            }
            Err(error) => {
                console_error!("ledger: {error}");
                None
            }
        }
    }

    fn write_cursor(&self, ledger: Ledger, cursor: LedgerCursor) -> Result<(), Refused> {
        let statement =
            "INSERT OR REPLACE INTO settled_told (ledger, counted, under_way) VALUES (?, ?, ?)";
        let values = [row_id(ledger), cursor.counted, cursor.under_way];
        self.database.run(statement, values.map(number).to_vec())
    }

    fn entries(
        &self,
        after: u64,
        through: u64,
    ) -> Result<Vec<(u64, Option<SettledEntry>)>, Refused> {
        let query = "SELECT number, body FROM settled WHERE number > ? AND number <= ? ORDER BY number LIMIT ?";
        let values = [after, through, SETTLED_ENTRIES_MAX];
        let mut entries = Vec::new();
        for row in self.database.rows(query, values.map(number).to_vec())? {
            let Some(number) = integer(row.first()) else {
                report_damaged("settled", &wrong_type("number"));
                continue;
            };
            let body = text(row.get(1)).ok_or_else(|| wrong_type("body"));
            let entry = body.and_then(read_row::<SettledEntry>);
            let entry = entry.inspect_err(|damaged| report_damaged("settled", damaged));
            entries.push((number, entry.ok()));
        }
        Ok(entries)
    }
}
