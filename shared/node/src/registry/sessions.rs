//! The keys of what callers keep, a row each, and the sessions that were ended before their time, a row each.
//!
//! What cannot be read is made good by a new key: every session has then ended, those whose end was forgotten among them.

use serde_json::{Value as Json, json};
use weir_access::ended::EndedSessions;
use weir_access::seal::SealKey;
use weir_access::session::Session;
use weir_audit::Action;
use weir_audit::draft::Draft;
use weir_core::limits::{SEAL_KEPT_MS, SEALS_MAX, SESSIONS_ENDED_MAX};
use weir_core::units::EpochMs;
use weir_wire::access::{EndedSession, SealRow};
use weir_wire::audit::{AuditOutcome, Author};
use weir_wire::registry::{Done, EndSession, EndSessions};
use weir_wire::stored::Damaged;

use super::DEPLOYMENT;
use super::call::{Failure, Reply};
use super::memory::Learned;
use super::rows::{EndedColumns, Put, Rows, SealColumns};
use super::task::{Desk, Recording, Task, record_access, tell_access};

/// What the audit log says is ended.
const TARGET: &str = "sessions";

impl<R: Rows> Desk<'_, R> {
    /// Ends a session, everywhere within a second.
    pub(super) fn end_session(&mut self, call: EndSession) -> Result<Vec<Task>, Failure> {
        let session = Session {
            token: call.token,
            id: call.id,
            expires_at: call.expires_at,
        };
        let reply = Reply::Done(Done {});
        let mut ended: EndedSessions = self.ended()?.iter().collect();
        let Some(ending) = ended.end(&session, self.now) else {
            return Ok(vec![Task::Reply(Box::new(reply))]);
        };
        let (common, _) = self.next_common()?;
        let mut puts = vec![Put::DropEndedBy(self.now), Put::Ended(ending.one)];
        let mut after = json!({ "session": session.id });
        if let Some(all) = ending.all {
            after = json!({ "session": session.id, "too_many": SESSIONS_ENDED_MAX, "all_of": all.token });
            puts.push(Put::DropEndedOf(all.token.clone()));
            puts.push(Put::Ended(all));
        }
        puts.push(common.put());
        let action = Action::SessionClose.name();
        let draft = Draft::new(
            call.author,
            action,
            &session.token,
            AuditOutcome::Done,
            self.now,
        );
        let draft = draft.with_change(Json::Null, after);
        Ok(record_access(draft, puts, reply))
    }

    /// Ends all sessions, everywhere within a second: another key seals from now on. Reservations and slots that the one
    /// before has sealed are opened for as long as they may last.
    pub(super) fn end_sessions(&mut self, call: EndSessions) -> Result<Vec<Task>, Failure> {
        let mut tasks = self.rotate(call.author)?;
        tasks.extend(tell_access(Reply::Done(Done {})));
        Ok(tasks)
    }

    /// Makes the keys that are not there or cannot be read.
    pub(super) fn make_seals(&mut self) -> Result<Vec<Task>, Failure> {
        if self.memory.has_seals {
            return Ok(vec![]);
        }
        if self.has_seals()? {
            self.memory.has_seals = true;
            return Ok(vec![]);
        }
        self.rotate(Author::named(DEPLOYMENT))
    }

    /// Whether the newest key and all ended sessions can be read.
    fn has_seals(&self) -> Result<bool, Failure> {
        let newest = self.rows.seals(1)?;
        let newest = newest.first().and_then(seal);
        let seals = newest.is_some_and(|row| row.until.is_none());
        Ok(seals && !self.rows.has_damaged_ended_session()?)
    }

    /// Puts a new key in the place of the one that seals.
    fn rotate(&mut self, author: Author) -> Result<Vec<Task>, Failure> {
        let (common, _) = self.next_common()?;
        let newest = self.rows.seals(1)?;
        let before = newest.first().and_then(|row| row.version).unwrap_or(0);
        let version = before + 1;
        let puts = vec![
            Put::Seal {
                version,
                key: SealKey::new(self.entropy.seal_key).text(),
                now: self.now,
                until: self.now.plus(SEAL_KEPT_MS),
                drop_through: version.saturating_sub(SEALS_MAX as u64),
            },
            common.put(),
        ];
        let learned = Some(Learned::Seals);
        // The first key ends nothing.
        if before == 0 {
            return Ok(vec![Task::Write(puts, learned)]);
        }
        let change = |version: u64| json!({ "key": version });
        let action = Action::SessionsRevoke.name();
        let draft = Draft::new(author, action, TARGET, AuditOutcome::Done, self.now);
        let draft = draft.with_change(change(before), change(version));
        Ok(vec![Task::RecordDue, Recording::task(draft, puts, learned)])
    }

    /// The keys that can be read, the newest first.
    pub(super) fn seals(&mut self) -> Result<Vec<SealRow>, Failure> {
        let rows = self.rows.seals(SEALS_MAX)?;
        let readable = rows.iter().filter_map(|row| {
            let read = seal(row);
            if read.is_none() {
                self.damaged("seals", Damaged::column("a key"));
            }
            read
        });
        Ok(readable.collect())
    }

    /// The sessions that were ended before their time.
    pub(super) fn ended(&self) -> Result<Vec<EndedSession>, Failure> {
        let rows = self.rows.ended_sessions(self.now)?;
        Ok(rows.into_iter().filter_map(ended).collect())
    }
}

fn seal(row: &SealColumns) -> Option<SealRow> {
    let key = SealKey::from_text(row.key.as_deref()?)?;
    Some(SealRow {
        version: row.version?,
        key: key.text(),
        until: row.until.map(EpochMs),
    })
}

/// An ended session; all of a token's are kept under no id.
fn ended(row: EndedColumns) -> Option<EndedSession> {
    Some(EndedSession {
        token: row.token?,
        id: Some(row.id?).filter(|id| !id.is_empty()),
        expires_at: EpochMs(row.expires_at?),
    })
}
