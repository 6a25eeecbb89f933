//! Tokens: a row each, with the hash of its text, and one row that says which revision of them this is.

use serde_json::{Value as Json, json};
use weir_access::grant::NewToken;
use weir_access::stored::{Root, StoredToken};
use weir_access::token::{Token, TokenKey};
use weir_audit::Action;
use weir_audit::draft::Draft;
use weir_audit::summary::USES;
use weir_core::invalid::Invalid;
use weir_core::limits::TOKENS_MAX;
use weir_core::units::Revision;
use weir_wire::access::{BOOTSTRAP, SavedAccess, TokenReply, TokenRow, TokenView};
use weir_wire::audit::{AuditOutcome, Author};
use weir_wire::registry::{CreateToken, Created, RevokeToken, Revoked, Rules};
use weir_wire::role::Role;
use weir_wire::stored::{Damaged, read_row};

use super::call::{Failure, News, Reply};
use super::memory::Learned;
use super::rows::{Put, Rows, TokenColumns};
use super::task::{Desk, Recording, Task, record, record_access};
use super::{DEPLOYMENT, Entropy};

/// What stands about all tokens in common.
pub(super) struct Common {
    revision: Revision,
    key: TokenKey,
}

impl Common {
    pub(super) fn put(&self) -> Put {
        Put::Access {
            revision: self.revision,
            key: self.key.text(),
        }
    }
}

/// A row of a token, as far as it can be read.
struct ReadToken {
    id: String,
    last_used: Option<u64>,
    body: Result<StoredToken, Damaged>,
}

/// Whether the audit log would take another for one of that name. That of the bootstrap token is no token's at all.
fn is_taken(name: &str, kept: &[ReadToken]) -> bool {
    let mut live = kept.iter().filter_map(|kept| kept.body.as_ref().ok());
    name == DEPLOYMENT || live.any(|token| token.row.name == name)
}

impl<R: Rows> Desk<'_, R> {
    pub(super) fn create_token(&mut self, call: CreateToken) -> Result<Vec<Task>, Failure> {
        let asked = json!(&call.token);
        let draft = |outcome, target: &str, now| {
            let action = Action::TokenCreate.name();
            Draft::new(call.author.clone(), action, target, outcome, now)
        };
        let new = NewToken::try_from(call.token).and_then(|new| new.made_at(self.now));
        let done = draft(AuditOutcome::Done, "", self.now);
        let new = match self.refusal(new, &done)? {
            Ok(new) => new,
            Err((created, mut why)) => {
                if let Some(why) = why.as_object_mut() {
                    why.insert("asked".to_owned(), asked);
                }
                let draft = draft(AuditOutcome::Refused, "", self.now).with_change(Json::Null, why);
                return Ok(record(draft, vec![], Reply::Created(created)));
            }
        };
        let (common, fresh) = self.next_common()?;
        let Entropy {
            token_id,
            token_secret,
            ..
        } = self.entropy;
        let token = Token::make(&common.key, *token_id, *token_secret).ok_or(Failure::NoToken)?;
        let maker = self.token_of(call.author.token.as_deref())?;
        let root = StoredToken::root_of_made(&call.author, maker.as_ref());
        let stored = StoredToken::new(row(&token, new), self.now, call.author.actor.clone());
        let stored = stored.with_root(root);
        let mut after = json!(stored.view(None));
        if fresh && let Some(after) = after.as_object_mut() {
            after.insert("key".to_owned(), json!("made anew"));
        }
        let draft = draft(AuditOutcome::Done, token.id(), self.now).with_change(Json::Null, after);
        let id = token.id().to_owned();
        let body = serde_json::to_string(&stored)?;
        let puts = vec![Put::Token { id, body }, common.put()];
        let created = Created::Done(TokenReply {
            token: token.text().to_owned(),
            view: stored.view(None),
        });
        Ok(record_access(draft, puts, Reply::Created(created)))
    }

    /// The token that may be made, or why not: as it is answered, and as the audit log has it.
    fn refusal(
        &self,
        new: Result<NewToken, Invalid>,
        done: &Draft,
    ) -> Result<Result<NewToken, (Created, Json)>, Failure> {
        let new = match new {
            Ok(new) => new,
            Err(Invalid { field, fault }) => {
                let message = fault.to_string();
                let why = json!({ "refused": "invalid", "field": field, "message": message });
                return Ok(Err((Created::Invalid { field, message }, why)));
            }
        };
        let kept = self.kept()?;
        if is_taken(&new.name, &kept) {
            let why = json!({ "refused": "taken" });
            return Ok(Err((Created::Taken { name: new.name }, why)));
        }
        if kept.len() >= TOKENS_MAX {
            let why = json!({ "refused": "full", "max": TOKENS_MAX });
            return Ok(Err((Created::Full { max: TOKENS_MAX }, why)));
        }
        if let Some(after_ms) = self.in_full_after_ms(done)? {
            let why = json!({ "refused": "too often", "after_ms": after_ms });
            return Ok(Err((Created::TooOften { after_ms }, why)));
        }
        Ok(Ok(new))
    }

    pub(super) fn revoke_token(&mut self, call: RevokeToken) -> Result<Vec<Task>, Failure> {
        let RevokeToken { id, author } = call;
        let action = Action::TokenRevoke.name();
        let now = self.now;
        let draft = |outcome| Draft::new(author.clone(), action, &id, outcome, now);
        let Some(kept) = self.kept()?.into_iter().find(|kept| kept.id == id) else {
            let why = json!({ "refused": "unknown" });
            let draft = draft(AuditOutcome::Refused).with_change(Json::Null, why);
            return Ok(record(draft, vec![], Reply::Revoked(Revoked::Unknown)));
        };
        let before = match &kept.body {
            Ok(stored) => json!(stored.view(kept.last_used)),
            Err(damaged) => json!({ "damaged": damaged.to_string() }),
        };
        let (common, _) = self.next_common()?;
        let draft = draft(AuditOutcome::Done).with_change(before, Json::Null);
        // Its sessions have ended with it.
        let puts = vec![Put::DropToken(id), common.put()];
        Ok(record_access(draft, puts, Reply::Revoked(Revoked::Done)))
    }

    pub(super) fn list_tokens(&mut self) -> Result<Vec<TokenView>, Failure> {
        let kept = self.kept()?.into_iter();
        let readable = kept.filter_map(|kept| match kept.body {
            Ok(stored) => Some(stored.view(kept.last_used)),
            Err(damaged) => {
                self.damaged("tokens", damaged);
                None
            }
        });
        Ok(readable.collect())
    }

    /// A fresh deployment gets its key.
    pub(super) fn make_token_key(&mut self) -> Result<Vec<Task>, Failure> {
        if self.common()?.is_some() {
            return Ok(vec![]);
        }
        if !self.kept()?.is_empty() {
            return Err(Failure::NoTokenKey);
        }
        let (common, _) = self.next_common()?;
        Ok(vec![Task::Write(vec![common.put()], None)])
    }

    /// The tokens, if they are newer than `revision`.
    pub(super) fn access_beyond(
        &mut self,
        revision: Revision,
    ) -> Result<Option<SavedAccess>, Failure> {
        let common = self.common()?.ok_or(Failure::NoTokenKey)?;
        if common.revision <= revision {
            return Ok(None);
        }
        let mut bootstrap = true;
        let mut tokens = Vec::new();
        for kept in self.kept()? {
            match kept.body {
                Ok(stored) => {
                    bootstrap &= stored.row.role != Role::Admin;
                    tokens.push(stored.row);
                }
                Err(damaged) => {
                    // It opens nothing. It may have been an admin's, so the bootstrap token is not let in again.
                    bootstrap = false;
                    self.damaged("tokens", damaged);
                }
            }
        }
        Ok(Some(SavedAccess {
            revision: common.revision,
            key: common.key.text(),
            tokens,
            bootstrap,
            seals: self.seals()?,
            ended: self.ended()?,
        }))
    }

    /// What regions are told of all tokens.
    pub(super) fn tell_access(&mut self) -> Result<Box<News>, Failure> {
        let rules = Rules {
            policy: None,
            access: self.access_beyond(Revision(0))?,
        };
        let regions = self.regions()?;
        Ok(Box::new(News { regions, rules }))
    }

    /// Records uses of the bootstrap token in a region: one record a minute has all of them.
    pub(super) fn record_bootstrap(&mut self, region: &str, uses: u64) -> Vec<Task> {
        let at = self.now;
        let Some(uses) = self.memory.bootstrap.add(uses, at) else {
            return vec![];
        };
        let author = Author {
            role: Some(Role::Admin),
            ..Author::named(BOOTSTRAP)
        };
        let action = Action::BootstrapUse.name();
        let draft = Draft::new(author, action, region, AuditOutcome::Done, at);
        let draft = draft.with_change(Json::Null, json!({ USES: uses }));
        let learned = Learned::BootstrapUses { uses, at };
        vec![
            Task::RecordDue,
            Recording::task(draft, vec![], Some(learned)),
        ]
    }

    /// What stands about all tokens in common; `None` when it cannot be read, or is not there yet.
    fn common(&mut self) -> Result<Option<Common>, Failure> {
        let Some(row) = self.rows.access()? else {
            return Ok(None);
        };
        let key = row.key.as_deref().and_then(TokenKey::from_text);
        if let (Some(revision), Some(key)) = (row.revision.map(Revision), key) {
            return Ok(Some(Common { revision, key }));
        }
        self.damaged("access", Damaged::column("revision or token_key"));
        Ok(None)
    }

    /// What will stand about all tokens after a change, and whether the key is a new one: where none can be read. All
    /// tokens of the old one are then void, as those that were to be revoked must be.
    pub(super) fn next_common(&mut self) -> Result<(Common, bool), Failure> {
        if let Some(Common { revision, key }) = self.common()? {
            let revision = Revision(revision.0 + 1);
            return Ok((Common { revision, key }, false));
        }
        let now = self.now.0;
        // The clock stands in where the number cannot be read: it has outrun every count of changes.
        let revision = match self.rows.access()? {
            Some(row) => row.revision.unwrap_or(0).max(now) + 1,
            None if self.kept()?.is_empty() => 1,
            None => now,
        };
        let common = Common {
            revision: Revision(revision),
            key: TokenKey::new(self.entropy.token_key),
        };
        Ok((common, true))
    }

    /// Who stands at the start of those who made one another, down to a token; `None` where the deployment itself let it in,
    /// or nothing of it is known.
    pub(super) fn root_of(&self, id: Option<&str>) -> Result<Option<Root>, Failure> {
        Ok(self.token_of(id)?.and_then(|token| token.root()))
    }

    /// The token of that id, if it can be read.
    fn token_of(&self, id: Option<&str>) -> Result<Option<StoredToken>, Failure> {
        let Some(id) = id else {
            return Ok(None);
        };
        let row = self.rows.token(id)?;
        Ok(row.and_then(|row| kept(row).body.ok()))
    }

    fn kept(&self) -> Result<Vec<ReadToken>, Failure> {
        Ok(self.rows.tokens()?.into_iter().map(kept).collect())
    }
}

fn kept(row: TokenColumns) -> ReadToken {
    let id = row.id.unwrap_or_default();
    let body = row.body.ok_or_else(|| Damaged::column("body"));
    let body = body.and_then(|body| read_row::<StoredToken>(&body));
    let body = body.and_then(|stored| {
        if stored.row.id == id {
            Ok(stored)
        } else {
            let what = "the row of one token holds another";
            Err(Damaged::Contradiction { what })
        }
    });
    ReadToken {
        last_used: row.last_used,
        id,
        body,
    }
}

fn row(token: &Token, new: NewToken) -> TokenRow {
    TokenRow {
        id: token.id().to_owned(),
        hash: token.hash(),
        role: new.role,
        tenant: new.tenant,
        prefix: new.prefix,
        expires_at: new.expires_at,
        name: new.name,
    }
}
