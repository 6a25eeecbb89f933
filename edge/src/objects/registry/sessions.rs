//! The keys of what callers keep, a row each, and the sessions that were ended before their time, a row each.
//!
//! What cannot be read is made good by a new key: every session has then ended, those whose end was forgotten among them.

use serde_json::{Value as Json, json};
use weir_shared::access::ended::EndedSessions;
use weir_shared::access::seal::SealKey;
use weir_shared::access::session::Session;
use weir_shared::audit::Action;
use weir_shared::audit::draft::Draft;
use weir_shared::limits::{SEAL_KEPT_MS, SEALS_MAX, SESSIONS_ENDED_MAX};
use weir_shared::units::EpochMs;
use weir_shared::wire::access::{EndedSession, SealRow};
use weir_shared::wire::audit::{Author, Outcome};

use super::tokens::{Common, random, replace};
use super::{DEPLOYMENT, Registry};
use crate::objects::calls::{Done, EndSession, EndSessions};
use crate::objects::server::Refused;
use crate::objects::storage::{
    Statement, Value, integer, number, report_damaged, text, wrong_type,
};

/// What the audit log says is ended.
const TARGET: &str = "sessions";

pub(super) const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS seals (version INTEGER PRIMARY KEY, key TEXT, until INTEGER)",
    "CREATE TABLE IF NOT EXISTS ended_sessions (token TEXT, id TEXT, expires_at INTEGER, PRIMARY KEY (token, id))",
];

impl Registry {
    /// Ends a session, everywhere within a second.
    pub(super) async fn end_session(&self, call: EndSession) -> Result<Done, Refused> {
        let now = self.now()?;
        let session = Session {
            token: call.token,
            id: call.id,
            expires_at: call.expires_at,
        };
        let mut ended: EndedSessions = self.ended()?.iter().collect();
        let Some(ending) = ended.end(&session, now) else {
            return Ok(Done {});
        };
        let (common, _) = self.common_or_new()?;
        let over = "DELETE FROM ended_sessions WHERE expires_at <= ?";
        let mut statements = vec![(over, vec![number(now.0)]), keep(&ending.one)];
        let mut after = json!({ "session": session.id });
        if let Some(all) = &ending.all {
            let of_token = "DELETE FROM ended_sessions WHERE token = ?";
            statements.push((of_token, vec![all.token.as_str().into()]));
            statements.push(keep(all));
            after = json!({ "session": session.id, "too_many": SESSIONS_ENDED_MAX, "all_of": all.token });
        }
        statements.push(replace(&common));
        let action = Action::SessionClose.name();
        let draft = Draft::new(call.author, action, &session.token, Outcome::Done, now);
        self.record(draft.with_change(Json::Null, after), statements)?;
        self.push_access().await?;
        Ok(Done {})
    }

    /// Ends all sessions, everywhere within a second: another key seals from now on. Reservations and slots that the one
    /// before has sealed are opened for as long as they may last.
    pub(super) async fn end_sessions(&self, call: EndSessions) -> Result<Done, Refused> {
        let (common, _) = self.common_or_new()?;
        self.rotate(&common, call.author)?;
        self.push_access().await?;
        Ok(Done {})
    }

    /// What stands about all tokens in common, after the keys were made that are not there or cannot be read.
    pub(super) fn with_seals(&self, common: Common) -> Result<Common, Refused> {
        if self.with(|memory, _| memory.sealed)? {
            return Ok(common);
        }
        if self.has_seals()? {
            self.with(|memory, _| memory.sealed = true)?;
            return Ok(common);
        }
        let (common, _) = self.common_or_new()?;
        let author = Author::named(DEPLOYMENT);
        self.rotate(&common, author)?;
        self.with(|memory, _| memory.sealed = true)?;
        Ok(common)
    }

    /// Whether the newest key and all ended sessions can be read.
    fn has_seals(&self) -> Result<bool, Refused> {
        let query = "SELECT version, key, until FROM seals ORDER BY version DESC LIMIT 1";
        let newest = self.database.first(query, vec![])?;
        let seals = newest.is_some_and(|row| seal(&row).is_some_and(|row| row.until.is_none()));
        let damaged = "SELECT 1 FROM ended_sessions WHERE typeof(token) != 'text' OR typeof(id) != 'text' \
             OR typeof(expires_at) != 'integer' LIMIT 1";
        Ok(seals && self.database.first(damaged, vec![])?.is_none())
    }

    /// Puts a new key in the place of the one that seals.
    fn rotate(&self, common: &Common, author: Author) -> Result<(), Refused> {
        let now = self.now()?;
        let highest = "SELECT max(version) FROM seals";
        let highest = self.database.first(highest, vec![])?;
        let before = highest.and_then(|row| integer(row.first())).unwrap_or(0);
        let version = before + 1;
        let until = number(now.plus(SEAL_KEPT_MS).0);
        let oldest = number(version.saturating_sub(SEALS_MAX as u64));
        let insert = "INSERT INTO seals (version, key) VALUES (?, ?)";
        let key = SealKey::new(random()?).text();
        let statements = vec![
            (
                "DELETE FROM seals WHERE until <= ? OR version <= ?",
                vec![number(now.0), oldest],
            ),
            (
                "UPDATE seals SET until = ? WHERE until IS NULL",
                vec![until],
            ),
            (insert, vec![number(version), key.into()]),
            ("DELETE FROM ended_sessions", vec![]),
            replace(common),
        ];
        // The first key ends nothing.
        if before == 0 {
            return self.database.atomically(statements);
        }
        let change = |version: u64| json!({ "key": version });
        let action = Action::SessionsRevoke.name();
        let draft = Draft::new(author, action, TARGET, Outcome::Done, now);
        self.record(
            draft.with_change(change(before), change(version)),
            statements,
        )?;
        Ok(())
    }

    /// The keys that can be read, the newest first.
    pub(super) fn seals(&self) -> Result<Vec<SealRow>, Refused> {
        let query = "SELECT version, key, until FROM seals ORDER BY version DESC LIMIT ?";
        let rows = self.database.rows(query, vec![number(SEALS_MAX as u64)])?;
        let readable = rows.iter().filter_map(|row| {
            let read = seal(row);
            if read.is_none() {
                report_damaged("seals", &wrong_type("a key"));
            }
            read
        });
        Ok(readable.collect())
    }

    /// The sessions that were ended before their time.
    pub(super) fn ended(&self) -> Result<Vec<EndedSession>, Refused> {
        let query = "SELECT token, id, expires_at FROM ended_sessions WHERE expires_at > ?";
        let rows = self.database.rows(query, vec![number(self.now()?.0)])?;
        Ok(rows.iter().filter_map(|row| ended(row)).collect())
    }
}

fn seal(row: &[Value]) -> Option<SealRow> {
    let key = SealKey::from_text(text(row.get(1))?)?;
    Some(SealRow {
        version: integer(row.first())?,
        key: key.text(),
        until: integer(row.get(2)).map(EpochMs),
    })
}

fn ended(row: &[Value]) -> Option<EndedSession> {
    let id = text(row.get(1))?;
    Some(EndedSession {
        token: text(row.first())?.to_owned(),
        id: (!id.is_empty()).then(|| id.to_owned()),
        expires_at: EpochMs(integer(row.get(2))?),
    })
}

/// The row of an ended session; of all of a token's, under no id.
fn keep(row: &EndedSession) -> Statement {
    let statement =
        "INSERT OR REPLACE INTO ended_sessions (token, id, expires_at) VALUES (?, ?, ?)";
    let id = row.id.as_deref().unwrap_or_default();
    let values = vec![
        row.token.as_str().into(),
        id.into(),
        number(row.expires_at.0),
    ];
    (statement, values)
}
