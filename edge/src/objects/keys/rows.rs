//! The rows of a shard of keys: states, holds and settlements in one table, so that one event is one statement.

use std::collections::BTreeMap;

use weir_shared::algorithms::composite::StateKey;
use weir_shared::limiting::key::{SEPARATOR, shared_key};
use weir_shared::limiting::rows::{Put, Row, Rows};
use weir_shared::limits::{
    JSON_INTEGER_MAX, KEY_STATE_BYTES_MAX, KNOWN_KEYS_MAX, KNOWN_STATE_BYTES_MAX, LIMIT_KEYS_MAX,
    PURGE_MS, RESET_KEYS_MAX,
};
use weir_shared::units::{EpochMs, OpId};
use weir_shared::wire::keys::{ResetBody, SettledKeys};
use weir_shared::wire::stored::{StoredHold, StoredSettlement, StoredState, read_row};
use worker::console_error;

use crate::objects::server::Refused;
use crate::objects::storage::{Database, Value, integer, number, report_damaged, text, wrong_type};

pub(in crate::objects) const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS states (name TEXT, key TEXT, expires_at INTEGER, body TEXT, \
     PRIMARY KEY (name, key)) WITHOUT ROWID",
];

/// Stand in the place of a limit's name, which contains no control character.
const HOLD: &str = "\u{1}hold";
const SETTLED: &str = "\u{1}settled";
/// Stands before it.
const RESET: &str = "\u{1}reset\u{1}";

/// Rows of one statement: each has four values, and SQLite takes a hundred of the platform's.
const ROWS_PER_STATEMENT: usize = 24;

/// What is known of the table without reading it.
#[derive(Debug, Default)]
pub(super) struct Table {
    size: Option<Size>,
    purged_at: EpochMs,
}

#[derive(Debug, Clone, Copy, Default)]
struct Size {
    rows: u64,
    bytes: u64,
}

impl Table {
    pub(super) fn is_empty(&self) -> bool {
        self.size.is_some_and(|size| size.rows == 0)
    }
}

impl Size {
    /// Whether there is room for another key; one of a tenant that the policy names has room of its own, which names
    /// that anyone can invent do not take.
    fn has_room(self, known: bool) -> bool {
        let (rows, bytes) = match known {
            true => (KNOWN_KEYS_MAX, KNOWN_STATE_BYTES_MAX),
            false => (0, 0),
        };
        self.rows < (LIMIT_KEYS_MAX + rows) as u64 && self.bytes < KEY_STATE_BYTES_MAX + bytes
    }
}

/// A row that was looked for: what it says, and its bytes.
struct Found {
    row: Row,
    bytes: u64,
}

/// The rows, during one event.
pub(super) struct KeyRows<'a> {
    database: &'a Database,
    table: &'a mut Table,
    now: EpochMs,
    /// Keys that were looked for in this event.
    found: BTreeMap<StateKey, Found>,
}

impl<'a> KeyRows<'a> {
    pub(super) fn new(database: &'a Database, table: &'a mut Table, now: EpochMs) -> Self {
        Self {
            database,
            table,
            now,
            found: BTreeMap::new(),
        }
    }

    /// The holds that are stored.
    pub(super) fn holds(&self) -> Result<Vec<(OpId, StoredHold)>, Refused> {
        let query = "SELECT key, body FROM states WHERE name = ? AND expires_at > 0";
        let rows = self.database.rows(query, vec![HOLD.into()])?;
        let mut holds = Vec::with_capacity(rows.len());
        for row in rows {
            let op = text(row.first()).and_then(|op| op.parse().ok());
            let body = text(row.get(1)).ok_or_else(|| wrong_type("body"));
            match (op, body.and_then(read_row::<StoredHold>)) {
                (Some(op), Ok(hold)) => holds.push((OpId(op), hold)),
                // What it held stays charged.
                (_, Err(damaged)) => report_damaged("hold", &damaged),
                (None, _) => report_damaged("hold", &wrong_type("key")),
            }
        }
        Ok(holds)
    }

    /// Which keys were put back to their start, and when.
    pub(super) fn resets(&self) -> Result<Vec<(StateKey, EpochMs)>, Refused> {
        let query = "SELECT name, key, body FROM states WHERE name >= ? AND name < ?";
        let behind = "\u{1}reset\u{2}";
        let rows = self
            .database
            .rows(query, vec![RESET.into(), behind.into()])?;
        let reset = |row: &Vec<Value>| {
            let limit = text(row.first())?.strip_prefix(RESET)?.to_owned();
            let key = text(row.get(1))?.to_owned();
            let at = text(row.get(2))?.parse().ok()?;
            Some((StateKey { limit, key }, EpochMs(at)))
        };
        Ok(rows.iter().filter_map(reset).collect())
    }

    /// The keys that are meant and have a state, and whether there are more than are put back at a time.
    pub(super) fn meant(&self, body: &ResetBody) -> Result<(Vec<StateKey>, bool), Refused> {
        let query = "SELECT name, key FROM states WHERE expires_at > ? AND \
                     (key = ? OR (key >= ? AND key < ?))";
        let below = format!("{}{SEPARATOR}", body.key);
        // Nothing lies between a text and itself.
        let behind = if body.tenant {
            format!("{}\u{2}", body.key)
        } else {
            below.clone()
        };
        let values = vec![
            number(self.now.0),
            body.key.as_str().into(),
            below.into(),
            behind.into(),
        ];
        let rows = self.database.rows(query, values)?;
        let key = |row: &Vec<Value>| {
            let limit = text(row.first())?.to_owned();
            let key = text(row.get(1))?.to_owned();
            body.names
                .contains(&limit)
                .then_some(StateKey { limit, key })
        };
        let mut keys: Vec<StateKey> = rows.iter().filter_map(key).collect();
        let more = keys.len() > RESET_KEYS_MAX;
        keys.truncate(RESET_KEYS_MAX);
        Ok((keys, more))
    }

    /// Drops the states of keys.
    pub(super) fn remove(&mut self, keys: &[StateKey]) -> Result<(), Refused> {
        for chunk in keys.chunks(ROWS_PER_STATEMENT) {
            let meant = vec!["(name = ? AND key = ?)"; chunk.len()].join(" OR ");
            let values = chunk
                .iter()
                .flat_map(|key| [key.limit.as_str().into(), key.key.as_str().into()]);
            let statement = format!("DELETE FROM states WHERE {meant}");
            self.database.run(&statement, values.collect())?;
        }
        self.table.size = None;
        Ok(())
    }

    /// Writes what an event changed.
    pub(super) fn write(&mut self, puts: &[Put]) -> Result<(), Refused> {
        for chunk in puts.chunks(ROWS_PER_STATEMENT) {
            let mut values = Vec::with_capacity(chunk.len() * 4);
            for put in chunk {
                values.extend(self.values(put)?);
            }
            let places = vec!["(?, ?, ?, ?)"; chunk.len()].join(", ");
            let statement = format!(
                "INSERT OR REPLACE INTO states (name, key, expires_at, body) VALUES {places}"
            );
            self.database.run(&statement, values)?;
        }
        Ok(())
    }

    fn values(&mut self, put: &Put) -> Result<[Value; 4], Refused> {
        Ok(match put {
            Put::State {
                key,
                state,
                expires_at,
            } => {
                let body = serde_json::to_string(&StoredState::new(state.clone()))?;
                self.grow(key, body.len() as u64);
                [
                    key.limit.as_str().into(),
                    key.key.as_str().into(),
                    number(expires_at.0),
                    body.into(),
                ]
            }
            Put::Hold { op, row } => {
                let lapses_at = row.as_ref().map_or(EpochMs(0), |row| row.lapses_at);
                let body = match row {
                    Some(row) => serde_json::to_string(row)?,
                    None => String::new(),
                };
                // A hold that is over is removed with what has expired. One that is not lapses before it is removed.
                let kept = if row.is_some() {
                    EpochMs(JSON_INTEGER_MAX)
                } else {
                    lapses_at
                };
                [
                    HOLD.into(),
                    op.to_string().into(),
                    number(kept.0),
                    body.into(),
                ]
            }
            Put::Reset {
                key,
                at,
                expires_at,
            } => [
                format!("{RESET}{}", key.limit).into(),
                key.key.as_str().into(),
                number(expires_at.0),
                at.to_string().into(),
            ],
            Put::Settled {
                op,
                result,
                expires_at,
            } => {
                let body = serde_json::to_string(&StoredSettlement::new(result.clone()))?;
                [
                    SETTLED.into(),
                    op.to_string().into(),
                    number(expires_at.0),
                    body.into(),
                ]
            }
        })
    }

    /// Removes what has expired.
    pub(super) fn purge(&mut self, now: EpochMs) -> Result<(), Refused> {
        self.database.run(
            "DELETE FROM states WHERE expires_at <= ?",
            vec![number(now.0)],
        )?;
        self.table.purged_at = now;
        self.count().map(|_| ())
    }

    fn count(&mut self) -> Result<Size, Refused> {
        let query = "SELECT COUNT(*), COALESCE(SUM(LENGTH(body)), 0) FROM states";
        let row = self.database.first(query, vec![])?.unwrap_or_default();
        let size = Size {
            rows: integer(row.first()).unwrap_or(0),
            bytes: integer(row.get(1)).unwrap_or(0),
        };
        self.table.size = Some(size);
        Ok(size)
    }

    /// Whether another key may be stored, after expired ones were removed if need be.
    fn has_room(&mut self, known: bool) -> Result<bool, Refused> {
        let size = match self.table.size {
            Some(size) => size,
            None => self.count()?,
        };
        if size.has_room(known) {
            return Ok(true);
        }
        if self.now.since(self.table.purged_at) < PURGE_MS {
            return Ok(false);
        }
        self.purge(self.now)?;
        Ok(self.table.size.is_some_and(|size| size.has_room(known)))
    }

    /// Keeps the size true: a key is about to be stored with so many bytes.
    fn grow(&mut self, key: &StateKey, bytes: u64) {
        let before = self.found.get(key);
        let new = before.is_none_or(|found| found.row == Row::Cold);
        let bytes_before = before.map_or(0, |found| found.bytes);
        if let Some(size) = self.table.size.as_mut() {
            size.rows += u64::from(new);
            size.bytes = (size.bytes + bytes).saturating_sub(bytes_before);
        }
    }

    /// Reads a key, once an event.
    fn load(&mut self, key: &StateKey) -> Result<&Found, Refused> {
        if !self.found.contains_key(key) {
            let query = "SELECT body FROM states WHERE name = ? AND key = ?";
            let values = vec![key.limit.as_str().into(), key.key.as_str().into()];
            let row = self.database.first(query, values)?;
            self.found.insert(key.clone(), found(key, row));
        }
        self.found
            .get(key)
            .ok_or_else(|| Refused(format!("no row of {}", key.limit)))
    }
}

fn found(key: &StateKey, row: Option<Vec<Value>>) -> Found {
    let Some(row) = row else {
        return Found {
            row: Row::Cold,
            bytes: 0,
        };
    };
    let body = text(row.first());
    let bytes = body.map_or(0, str::len) as u64;
    let stored = body.ok_or_else(|| wrong_type("body"));
    let row = match stored.and_then(read_row::<StoredState>) {
        Ok(stored) => Row::Warm(stored.state),
        Err(damaged) => {
            report_damaged(&format!("key of {}", key.limit), &damaged);
            Row::Damaged
        }
    };
    Found { row, bytes }
}

impl Rows for KeyRows<'_> {
    fn place(&mut self, key: StateKey, known: bool) -> StateKey {
        let stored = self.load(&key).map(|found| found.row != Row::Cold);
        let kept = match stored {
            Ok(false) => self.has_room(known),
            stored => stored,
        };
        match kept {
            Ok(true) => key,
            Ok(false) => StateKey {
                key: shared_key(),
                ..key
            },
            Err(refused) => {
                console_error!("key of {}: {}", key.limit, refused.0);
                key
            }
        }
    }

    fn state(&mut self, key: &StateKey) -> Row {
        match self.load(key) {
            Ok(found) => found.row.clone(),
            Err(refused) => {
                console_error!("key of {}: {}", key.limit, refused.0);
                Row::Damaged
            }
        }
    }

    fn settled(&mut self, op: OpId) -> Option<SettledKeys> {
        let query = "SELECT body FROM states WHERE name = ? AND key = ?";
        let values = vec![SETTLED.into(), op.to_string().into()];
        let row = self.database.first(query, values).ok()??;
        let body = text(row.first()).ok_or_else(|| wrong_type("body"));
        match body.and_then(read_row::<StoredSettlement<SettledKeys>>) {
            Ok(stored) => Some(stored.result),
            Err(damaged) => {
                // It was settled; what came of it is not known. Nothing is given back twice.
                report_damaged("settlement", &damaged);
                Some(SettledKeys::default())
            }
        }
    }
}
