//! What settlements come to for the accounts: entries in the order of their numbers, rows until the ledgers have counted
//! them.

use std::rc::Rc;

use weir_shared::accounting::settled::{Ledger, LedgerCursor, NextFrame};
use weir_shared::limiting::settlement::{SettleBody, SettleReply};
use weir_shared::limits::{CALL_MS_MAX, JSON_INTEGER_MAX, SETTLED_ENTRIES_MAX};
use weir_shared::units::{EpochMs, HolderId, WindowLabel};
use weir_shared::wire::accounting::SettledEntry;
use weir_shared::wire::stored::read_row;
use worker::console_error;

use super::Core;
use super::policy::Loaded;
use crate::objects::binding::{Address, call};
use crate::objects::calls::TakeFrame;
use crate::objects::server::Refused;
use crate::objects::storage::{
    Database, Statement, Value, integer, number, report_damaged, text, wrong_type,
};

pub(super) const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS settled (number INTEGER PRIMARY KEY, body TEXT)",
    "CREATE TABLE IF NOT EXISTS settled_told (ledger INTEGER PRIMARY KEY, counted INTEGER, under_way INTEGER)",
];

/// Frames of one round.
const FRAMES_MAX: u32 = 8;

const LEDGERS: [Ledger; 2] = [Ledger::Own, Ledger::Home];

/// How far each ledger has counted the entries.
#[derive(Default)]
pub(super) struct SettledEntries {
    /// The number of the last entry.
    last: u64,
    cursors: [LedgerCursor; 2],
}

impl SettledEntries {
    /// As they were stored.
    pub(super) fn load(database: &Database) -> Result<Self, Refused> {
        let mut entries = Self::default();
        let last = database.first("SELECT MAX(number) FROM settled", vec![])?;
        entries.last = last.and_then(|row| integer(row.first())).unwrap_or(0);
        let query = "SELECT ledger, counted, under_way FROM settled_told";
        for row in database.rows(query, vec![])? {
            let ledger = integer(row.first()).and_then(|at| usize::try_from(at).ok());
            let cursor = ledger.and_then(|at| entries.cursors.get_mut(at));
            if let (Some(cursor), Some(counted), Some(under_way)) =
                (cursor, integer(row.get(1)), integer(row.get(2)))
            {
                *cursor = LedgerCursor { counted, under_way };
            }
        }
        for cursor in entries.cursors {
            entries.last = entries.last.max(cursor.counted).max(cursor.under_way);
        }
        Ok(entries)
    }

    /// The number of the next entry. Above the clock's milliseconds, so that none comes again where rows were lost.
    fn next(&self, now: EpochMs) -> u64 {
        (self.last + 1).max(now.0)
    }

    /// The entry of that number is durable.
    pub(super) fn wrote(&mut self, number: u64) {
        self.last = self.last.max(number);
    }

    /// Whether all is told.
    pub(super) fn is_told(&self) -> bool {
        self.cursors
            .iter()
            .all(|cursor| cursor.counted >= self.last)
    }
}

impl Core {
    /// What a settlement comes to for the accounts.
    pub(super) fn entry(
        &self,
        call: &SettleBody,
        reply: &SettleReply,
        charged_in: &[WindowLabel],
        loaded: &Loaded,
    ) -> Result<Option<SettledEntry>, Refused> {
        let policy = &loaded.policy;
        let tenant = call.accounted.tenant.as_deref().unwrap_or_default();
        let known = policy.tiers.named(tenant).is_some();
        let owns = |pool: &str| policy.region_owns(pool);
        self.with(|machine, _| {
            let place = (machine.name.as_str(), &owns as &dyn Fn(&str) -> bool);
            call.entry(reply, charged_in, known, place)
        })
    }

    /// The number of an entry, and what writes it.
    pub(super) fn number(&self, entry: &SettledEntry) -> Result<(u64, Statement), Refused> {
        let next = self.with(|machine, now| machine.settled.next(now))?;
        let body = serde_json::to_string(entry)?;
        let statement = "INSERT INTO settled (number, body) VALUES (?, ?)";
        Ok((next, (statement, vec![number(next), body.into()])))
    }

    /// Tells the ledgers of the entries that they have not counted.
    pub(super) async fn flush_settled(self: &Rc<Self>) -> Result<(), Refused> {
        for (index, ledger) in LEDGERS.into_iter().enumerate() {
            for _ in 0..FRAMES_MAX {
                if !self.tell_settled(index, ledger).await? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// One frame to one ledger. Whether there may be another.
    async fn tell_settled(self: &Rc<Self>, index: usize, ledger: Ledger) -> Result<bool, Refused> {
        let (cursor, last, name) = self.with(|machine, _| {
            let settled = &machine.settled;
            (settled.cursors[index], settled.last, machine.name.clone())
        })?;
        if cursor.counted >= last {
            return Ok(false);
        }
        let (sender, address) = match ledger {
            Ledger::Own => (format!("{name}/settled"), name),
            Ledger::Home => {
                let home = self.with(|machine, _| {
                    let loaded = machine.policy.as_ref()?;
                    Some(loaded.policy.home.clone())
                })?;
                let Some(home) = home else {
                    return Ok(false);
                };
                (format!("{name}/settled windows"), home)
            }
        };
        let (after, through) = cursor.range();
        let entries = self.entries(after, through)?;
        let mut begun = cursor;
        let frame = match begun.begin(HolderId::of_name(&sender), ledger, &entries) {
            NextFrame::Nothing => {
                // Rows that could not be read are passed over.
                begun.counted = last;
                self.with(|machine, _| machine.settled.cursors[index] = begun)?;
                return Ok(false);
            }
            NextFrame::Passed => {
                self.with(|machine, _| machine.settled.cursors[index] = begun)?;
                self.drop_counted()?;
                return Ok(true);
            }
            NextFrame::Frame(frame) => *frame,
        };
        if begun.under_way != cursor.under_way {
            self.database.run(PUT_CURSOR, cursor_row(index, begun))?;
            self.with(|machine, _| machine.settled.cursors[index] = begun)?;
        }
        let take = TakeFrame { frame };
        match call(&self.env, Address::ledger(&address), &take, CALL_MS_MAX).await {
            Ok(reply) if begun.finish(&reply) => {
                self.with(|machine, _| machine.settled.cursors[index] = begun)?;
                self.database.run(PUT_CURSOR, cursor_row(index, begun))?;
                self.drop_counted()?;
                Ok(true)
            }
            Ok(_) => {
                console_error!("a ledger cannot read what was settled");
                Ok(false)
            }
            Err(error) => {
                console_error!("ledger: {error}");
                Ok(false)
            }
        }
    }

    fn entries(&self, after: u64, through: u64) -> Result<Vec<(u64, SettledEntry)>, Refused> {
        let query = "SELECT number, body FROM settled WHERE number > ? AND number <= ? ORDER BY number LIMIT ?";
        let through = through.min(JSON_INTEGER_MAX);
        let values = vec![number(after), number(through), number(SETTLED_ENTRIES_MAX)];
        let mut entries = Vec::new();
        for row in self.database.rows(query, values)? {
            let body = text(row.get(1)).ok_or_else(|| wrong_type("body"));
            match (
                integer(row.first()),
                body.and_then(read_row::<SettledEntry>),
            ) {
                (Some(number), Ok(entry)) => entries.push((number, entry)),
                (_, Ok(_)) => report_damaged("settled", &wrong_type("number")),
                (_, Err(damaged)) => report_damaged("settled", &damaged),
            }
        }
        Ok(entries)
    }

    /// Drops the entries that both ledgers have counted.
    fn drop_counted(&self) -> Result<(), Refused> {
        let counted = self.with(|machine, _| {
            let cursors = machine.settled.cursors.iter();
            cursors.map(|cursor| cursor.counted).min().unwrap_or(0)
        })?;
        let statement = "DELETE FROM settled WHERE number <= ?";
        self.database.run(statement, vec![number(counted)])
    }
}

const PUT_CURSOR: &str =
    "INSERT OR REPLACE INTO settled_told (ledger, counted, under_way) VALUES (?, ?, ?)";

fn cursor_row(index: usize, cursor: LedgerCursor) -> Vec<Value> {
    vec![
        number(index as u64),
        number(cursor.counted),
        number(cursor.under_way),
    ]
}
