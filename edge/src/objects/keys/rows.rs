//! The rows of a shard of keys: states, holds and settlements in one table, so that one event is one statement.

use weir_shared::algorithms::composite::StateKey;
use weir_shared::limiting::messages::{ResetBody, SettledKeys};
use weir_shared::limiting::owner::{Account, Owner, by_rules, overflow_key};
use weir_shared::limiting::room::{Bounds, Room, Size};
use weir_shared::limiting::rows::{KeyPlacement, Put, Row, Rows};
use weir_shared::limiting::stored::{StoredHold, StoredState};
use weir_shared::limits::{
    JSON_INTEGER_MAX, OWNER_BYTES_COUNTED_MIN, OWNER_KEYS_COUNTED_MIN, PURGE_MS, RESET_KEYS_MAX,
};
use weir_shared::name::SEPARATOR;
use weir_shared::ordered::OrderedMap;
use weir_shared::units::{EpochMs, OpId};
use weir_shared::wire::stored::{StoredSettlement, read_row};
use worker::console_error;

use crate::objects::server::Refused;
use crate::objects::storage::{Database, Value, integer, number, report_damaged, text, wrong_type};

pub(in crate::objects) const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS states (name TEXT, key TEXT, expires_at INTEGER, body TEXT, \
     PRIMARY KEY (name, key)) WITHOUT ROWID",
    "ALTER TABLE states ADD COLUMN owner TEXT",
    "ALTER TABLE states ADD COLUMN caller TEXT",
];

/// Stand in the place of a limit's name, which contains no control character.
const HOLD: &str = "\u{1}hold";
const SETTLED: &str = "\u{1}settled";
/// Stands before it.
const RESET: &str = "\u{1}reset\u{1}";
/// Keys of limits have names from here on; what stands before takes no room of theirs.
const NAMES_FROM: &str = "\u{2}";

/// Rows of one statement: each has six values, and SQLite takes a hundred of the platform's.
const ROWS_PER_STATEMENT: usize = 16;

/// What is known of the table without reading it.
#[derive(Debug, Default)]
pub(super) struct Table {
    room: Option<Room>,
    /// Whether there were other rows than those of keys when it was counted.
    others: bool,
    purged_at: EpochMs,
}

impl Table {
    pub(super) fn is_empty(&self) -> bool {
        let room = self.room.as_ref();
        room.is_some_and(|room| room.all().rows == 0 && !self.others)
    }
}

/// A row that was looked for: what it says, its bytes, and on whose account it is.
struct Found {
    row: Row,
    bytes: u64,
    account: Account,
}

/// The rows, during one event.
pub(super) struct KeyRows<'a> {
    database: &'a Database,
    table: &'a mut Table,
    now: EpochMs,
    /// Keys that were looked for in this event.
    found: OrderedMap<StateKey, Found>,
    /// The accounts of keys that have no row yet.
    accounts: OrderedMap<StateKey, Account>,
}

impl<'a> KeyRows<'a> {
    pub(super) fn new(database: &'a Database, table: &'a mut Table, now: EpochMs) -> Self {
        Self {
            database,
            table,
            now,
            found: OrderedMap::new(),
            accounts: OrderedMap::new(),
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
                     (key IN (?, ?) OR (key >= ? AND key < ?))";
        let below = format!("{}{SEPARATOR}", body.key);
        // Nothing lies between a text and itself.
        let behind = if body.tenant {
            format!("{}\u{2}", body.key)
        } else {
            below.clone()
        };
        // What a tenant has too many of is in one state.
        let overflow = body
            .tenant
            .then(|| overflow_key(Some(&Owner::tenant(&body.key))));
        let values = vec![
            number(self.now.0),
            body.key.as_str().into(),
            overflow.unwrap_or_else(|| body.key.clone()).into(),
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
    fn remove(&mut self, keys: &[&StateKey]) -> Result<(), Refused> {
        if keys.is_empty() {
            return Ok(());
        }
        for chunk in keys.chunks(ROWS_PER_STATEMENT) {
            let meant = vec!["(name = ? AND key = ?)"; chunk.len()].join(" OR ");
            let values = chunk
                .iter()
                .flat_map(|key| [key.limit.as_str().into(), key.key.as_str().into()]);
            let statement = format!("DELETE FROM states WHERE {meant}");
            self.database.run(&statement, values.collect())?;
        }
        self.table.room = None;
        Ok(())
    }

    /// Writes what an event changed. Keys that are put back have no state any more.
    pub(super) fn write(&mut self, puts: &[Put]) -> Result<(), Refused> {
        let reset = puts.iter().filter_map(|put| match put {
            Put::Reset { key, .. } => Some(key),
            _ => None,
        });
        self.remove(&reset.collect::<Vec<_>>())?;
        for chunk in puts.chunks(ROWS_PER_STATEMENT) {
            let mut values = Vec::with_capacity(chunk.len() * 6);
            for put in chunk {
                values.extend(self.values(put)?);
                values.extend(self.account_of(put));
            }
            let places = vec!["(?, ?, ?, ?, ?, ?)"; chunk.len()].join(", ");
            // Whoever brought a key first keeps it on its account.
            let statement = format!(
                "INSERT INTO states (name, key, expires_at, body, owner, caller) VALUES {places} \
                 ON CONFLICT (name, key) DO UPDATE SET expires_at = excluded.expires_at, body = excluded.body"
            );
            self.database.run(&statement, values)?;
        }
        Ok(())
    }

    /// Owner and caller of a new row.
    fn account_of(&self, put: &Put) -> [Value; 2] {
        let account = match put {
            Put::State { key, .. } => self.accounts.get(key),
            _ => None,
        };
        let text = |owner: Option<&Owner>| owner.map_or(Value::Null, |one| one.as_str().into());
        let owner = account.and_then(|account| account.owner.as_ref());
        let caller = account.and_then(|account| account.caller.as_ref());
        [text(owner), text(caller)]
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

    /// Reads how many keys the table has, and who has many of them. Settlements, holds and resets are no keys: whoever
    /// settles much would take the room of everybody's keys.
    fn count(&mut self) -> Result<&Room, Refused> {
        let query = "SELECT COUNT(*), COALESCE(SUM(LENGTH(body)), 0) FROM states WHERE name >= ?";
        let keys = self.database.first(query, vec![NAMES_FROM.into()])?;
        let row = keys.unwrap_or_default();
        let query = "SELECT 1 FROM states WHERE name < ? LIMIT 1";
        let other = self.database.first(query, vec![NAMES_FROM.into()])?;
        self.table.others = other.is_some();
        let mut owners = self.counts("owner")?;
        owners.extend(self.counts("caller")?);
        let room = Room::counted(Bounds::SHARD, size(&row), owners);
        Ok(self.table.room.insert(room))
    }

    /// What each owner of a column has, of those that have much.
    fn counts(&self, column: &str) -> Result<Vec<(Owner, Size)>, Refused> {
        let query = format!(
            "SELECT COUNT(*) AS n, SUM(LENGTH(body)) AS bytes, {column} FROM states \
             WHERE {column} IS NOT NULL GROUP BY {column} HAVING n >= ? OR bytes >= ?"
        );
        let least = vec![
            number(OWNER_KEYS_COUNTED_MIN as u64),
            number(OWNER_BYTES_COUNTED_MIN),
        ];
        let rows = self.database.rows(&query, least)?;
        let counted = |row: &Vec<Value>| Some((Owner::stored(text(row.get(2))?), size(row)));
        Ok(rows.iter().filter_map(counted).collect())
    }

    fn room(&mut self) -> Result<&Room, Refused> {
        let counted = self.table.room.as_ref();
        if counted.is_none_or(Room::is_crowded) {
            return self.count();
        }
        self.table.room.as_ref().ok_or_else(not_counted)
    }

    /// Where a key is kept, after what has expired was removed if need be.
    fn placed(&mut self, key: &StateKey, placement: KeyPlacement<'_>) -> Result<StateKey, Refused> {
        let place = self.place_now(key, placement)?;
        if place == *key || self.now.since(self.table.purged_at) < PURGE_MS {
            return Ok(place);
        }
        self.purge(self.now)?;
        self.found.remove(key);
        self.place_now(key, placement)
    }

    fn place_now(
        &mut self,
        key: &StateKey,
        placement: KeyPlacement<'_>,
    ) -> Result<StateKey, Refused> {
        let KeyPlacement { only, account, .. } = placement;
        let found = self.load(key)?;
        let (bytes, of) = (found.bytes, found.account.clone());
        if found.row == Row::Cold {
            return Ok(self.room()?.place(key.clone(), only, account));
        }
        if bytes <= Bounds::SHARD.key_bytes() {
            // Whatever others have: nothing need be counted for it.
            return Ok(key.clone());
        }
        let room = self.room()?;
        Ok(room.place_grown(key.clone(), bytes, &of, (only, account)))
    }

    /// Keeps the size true: a key is about to be stored with so many bytes.
    fn grow(&mut self, key: &StateKey, bytes: u64) {
        let Some(room) = self.table.room.as_mut() else {
            return;
        };
        match self.found.get(key) {
            Some(found) if found.row != Row::Cold => room.grew(&found.account, found.bytes, bytes),
            _ => room.took(&self.accounts.get(key).cloned().unwrap_or_default(), bytes),
        }
    }

    /// Reads a key, once an event.
    fn load(&mut self, key: &StateKey) -> Result<&Found, Refused> {
        if !self.found.contains_key(key) {
            let query = "SELECT body, owner, caller FROM states WHERE name = ? AND key = ?";
            let values = vec![key.limit.as_str().into(), key.key.as_str().into()];
            let row = self.database.first(query, values)?;
            self.found.insert(key.clone(), found(key, row));
        }
        self.found
            .get(key)
            .ok_or_else(|| Refused(format!("no row of {}", key.limit)))
    }
}

fn not_counted() -> Refused {
    Refused("the rows are not counted".to_owned())
}

/// A count of rows and the sum of their bytes.
fn size(row: &[Value]) -> Size {
    Size {
        rows: integer(row.first()).unwrap_or(0),
        bytes: integer(row.get(1)).unwrap_or(0),
    }
}

fn found(key: &StateKey, row: Option<Vec<Value>>) -> Found {
    let Some(row) = row else {
        return Found {
            row: Row::Cold,
            bytes: 0,
            account: Account::default(),
        };
    };
    let owner = |column| text(row.get(column)).map(Owner::stored);
    let account = Account {
        owner: owner(1),
        caller: owner(2),
        named: false,
        only: false,
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
    Found {
        row,
        bytes,
        account,
    }
}

impl Rows for KeyRows<'_> {
    fn place(&mut self, key: StateKey, placement: KeyPlacement<'_>) -> StateKey {
        let place = self.placed(&key, placement);
        let place = place.map(|place| by_rules(place, &key, placement.rules));
        let place = place.unwrap_or_else(|refused| {
            console_error!("key of {}: {}", key.limit, refused.0);
            key
        });
        self.accounts
            .insert(place.clone(), placement.account.clone());
        place
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
