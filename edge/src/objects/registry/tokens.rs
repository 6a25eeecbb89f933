//! Tokens: a row each, with the hash of its text, and one row that says which revision of them this is.

use std::collections::BTreeSet;

use futures_util::future::{join, join_all};
use serde_json::{Value as Json, json};
use weir_shared::access::grant::NewToken;
use weir_shared::access::stored::{Root, StoredToken};
use weir_shared::access::token::{Token, TokenKey};
use weir_shared::audit::Action;
use weir_shared::audit::draft::Draft;
use weir_shared::audit::summary::USES;
use weir_shared::limits::{REFRESH_MS_MAX, TOKEN_USE_MS, TOKENS_MAX};
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::access::{
    BOOTSTRAP, SavedAccess, TokenReply, TokenRow, TokenUse, TokenView,
};
use weir_shared::wire::audit::{Author, Outcome};
use weir_shared::wire::role::Role;
use weir_shared::wire::stored::{Damaged, read_row};

use worker::console_error;

use super::{DEPLOYMENT, Registry, parts};
use crate::objects::binding::{Address, call};
use crate::objects::calls::{
    CreateToken, Created, ListTokens, ReadPolicy, RevokeToken, Revoked, Rules, TakeAccess,
};
use crate::objects::server::Refused;
use crate::objects::storage::{
    Statement, Value, integer, number, report_damaged, text, wrong_type,
};

pub(super) const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS access (id INTEGER PRIMARY KEY, revision INTEGER, token_key TEXT)",
    "CREATE TABLE IF NOT EXISTS tokens (id TEXT PRIMARY KEY, last_used INTEGER, body TEXT)",
];

/// Uses of the bootstrap token that are not in the audit log yet.
#[derive(Default)]
pub(super) struct BootstrapUses {
    recorded_at: Option<EpochMs>,
    uses: u64,
}

impl BootstrapUses {
    /// Adds uses; `Some` with all that are not in the log when it is time to record them.
    fn add(&mut self, uses: u64, now: EpochMs) -> Option<u64> {
        self.uses = self.uses.saturating_add(uses);
        let recent = |at: EpochMs| now.since(at) < TOKEN_USE_MS && now >= at;
        if self.uses == 0 || self.recorded_at.is_some_and(recent) {
            return None;
        }
        self.recorded_at = Some(now);
        Some(std::mem::take(&mut self.uses))
    }
}

/// What stands about all tokens in common.
pub(super) struct Common {
    pub(super) revision: Revision,
    key: TokenKey,
}

/// A row of a token, as far as it can be read.
struct Kept {
    id: String,
    last_used: Option<u64>,
    body: Result<StoredToken, Damaged>,
}

/// Whether the audit log would take another for one of that name. That of the bootstrap token is no token's at all.
fn is_taken(name: &str, kept: &[Kept]) -> bool {
    let mut live = kept.iter().filter_map(|kept| kept.body.as_ref().ok());
    name == DEPLOYMENT || live.any(|token| token.row.name == name)
}

impl Registry {
    pub(super) async fn create_token(&self, call: CreateToken) -> Result<Created, Refused> {
        let now = self.now()?;
        let asked = json!(&call.token);
        let draft = |outcome, target: &str| {
            Draft::new(
                call.author.clone(),
                Action::TokenCreate.name(),
                target,
                outcome,
                now,
            )
        };
        let new = match NewToken::try_from(call.token).and_then(|new| new.made_at(now)) {
            Ok(new) => new,
            Err(refused) => {
                let (field, message) = parts(refused);
                let why = json!({ "refused": "invalid", "asked": asked, "field": field, "message": message });
                self.record_refused(draft(Outcome::Refused, ""), Json::Null, why)?;
                return Ok(Created::Invalid { field, message });
            }
        };
        let kept = self.kept()?;
        if is_taken(&new.name, &kept) {
            let why = json!({ "refused": "taken", "asked": asked });
            self.record_refused(draft(Outcome::Refused, ""), Json::Null, why)?;
            return Ok(Created::Taken { name: new.name });
        }
        if kept.len() >= TOKENS_MAX {
            let why = json!({ "refused": "full", "asked": asked, "max": TOKENS_MAX });
            self.record_refused(draft(Outcome::Refused, ""), Json::Null, why)?;
            return Ok(Created::Full { max: TOKENS_MAX });
        }
        if let Some(after_ms) = self.in_full_after_ms(&draft(Outcome::Done, ""), now)? {
            let why = json!({ "refused": "too often", "asked": asked, "after_ms": after_ms });
            self.record_refused(draft(Outcome::Refused, ""), Json::Null, why)?;
            return Ok(Created::TooOften { after_ms });
        }
        let (common, fresh) = self.common_or_new()?;
        let Some(token) = Token::make(&common.key, random()?, random()?) else {
            return Err(Refused("no token".to_owned()));
        };
        let maker = self.token_of(call.author.token.as_deref())?;
        let root = StoredToken::root_of_made(&call.author, maker.as_ref());
        let stored = StoredToken::new(row(&token, new), now, call.author.actor.clone());
        let stored = stored.with_root(root);
        let mut after = json!(stored.view(None));
        if fresh && let Some(after) = after.as_object_mut() {
            after.insert("key".to_owned(), json!("made anew"));
        }
        let draft = draft(Outcome::Done, token.id()).with_change(Json::Null, after);
        let insert = "INSERT INTO tokens (id, body) VALUES (?, ?)";
        let values = vec![token.id().into(), serde_json::to_string(&stored)?.into()];
        let statements = vec![(insert, values), replace(&common)];
        self.record(draft, statements)?;
        self.push_access().await?;
        Ok(Created::Done(TokenReply {
            token: token.text().to_owned(),
            view: stored.view(None),
        }))
    }

    pub(super) async fn revoke_token(&self, call: RevokeToken) -> Result<Revoked, Refused> {
        let now = self.now()?;
        let action = Action::TokenRevoke.name();
        let draft = |outcome| Draft::new(call.author.clone(), action, &call.id, outcome, now);
        let kept = self.kept()?.into_iter().find(|kept| kept.id == call.id);
        let Some(kept) = kept else {
            let why = json!({ "refused": "unknown" });
            self.record_refused(draft(Outcome::Refused), Json::Null, why)?;
            return Ok(Revoked::Unknown);
        };
        let before = match &kept.body {
            Ok(stored) => json!(stored.view(kept.last_used)),
            Err(damaged) => json!({ "damaged": damaged.to_string() }),
        };
        let (common, _) = self.common_or_new()?;
        let delete = "DELETE FROM tokens WHERE id = ?";
        // Its sessions have ended with it.
        let ended = "DELETE FROM ended_sessions WHERE token = ?";
        let id = || vec![call.id.as_str().into()];
        let statements = vec![(delete, id()), (ended, id()), replace(&common)];
        let draft = draft(Outcome::Done).with_change(before, Json::Null);
        self.record(draft, statements)?;
        self.push_access().await?;
        Ok(Revoked::Done)
    }

    pub(super) fn list_tokens(&self, _call: ListTokens) -> Result<Vec<TokenView>, Refused> {
        let kept = self.kept()?.into_iter();
        let readable = kept.filter_map(|kept| match kept.body {
            Ok(stored) => Some(stored.view(kept.last_used)),
            Err(damaged) => {
                report_damaged("tokens", &damaged);
                None
            }
        });
        Ok(readable.collect())
    }

    /// The tokens, if they are newer than `revision`. A fresh deployment gets its key first.
    pub(super) fn access_beyond(&self, revision: Revision) -> Result<Option<SavedAccess>, Refused> {
        let common = match self.common()? {
            Some(common) => common,
            None if self.kept()?.is_empty() => {
                let (common, _) = self.common_or_new()?;
                self.database.atomically(vec![replace(&common)])?;
                common
            }
            None => return Err(Refused("the key of the tokens cannot be read".to_owned())),
        };
        let common = self.with_seals(common)?;
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
                    report_damaged("tokens", &damaged);
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

    /// Takes in which tokens a region saw: when each was last used, to within a minute, and the uses of the bootstrap
    /// token, one record a minute.
    pub(super) fn note_uses(&self, call: &ReadPolicy) -> Result<(), Refused> {
        let now = self.now()?;
        let of_bootstrap = |told: &&TokenUse| told.id == BOOTSTRAP;
        let told = call.tokens_used.iter().take(TOKENS_MAX + 1);
        let uses = told
            .clone()
            .filter(of_bootstrap)
            .map(|told| told.uses)
            .sum();
        if let Some(uses) = self.with(|memory, now| memory.bootstrap.add(uses, now))? {
            let author = Author {
                role: Some(Role::Admin),
                ..Author::named(BOOTSTRAP)
            };
            let action = Action::BootstrapUse.name();
            let draft = Draft::new(author, action, &call.region, Outcome::Done, now);
            self.record(draft.with_change(Json::Null, json!({ USES: uses })), vec![])?;
        }
        let marks = told.filter(|told| !of_bootstrap(told));
        let marks: Vec<_> = marks
            .map(|told| json!([told.id, told.at.0.min(now.0)]))
            .collect();
        if marks.is_empty() {
            return Ok(());
        }
        let statement = "UPDATE tokens SET last_used = told.at FROM (SELECT json_extract(value, '$[0]') AS id, \
             json_extract(value, '$[1]') AS at FROM json_each(?)) AS told \
             WHERE tokens.id = told.id AND told.at >= coalesce(tokens.last_used, 0) + ?";
        let values = vec![Json::from(marks).to_string().into(), number(TOKEN_USE_MS)];
        self.database.run(statement, values)
    }

    pub(super) async fn push_access(&self) -> Result<(), Refused> {
        let access = self.access_beyond(Revision(0))?;
        let rules = Rules {
            policy: None,
            access: access.clone(),
        };
        let regions = self.regions()?;
        join(
            self.push(regions.clone(), &rules),
            self.push_to_ledgers(regions, access),
        )
        .await;
        Ok(())
    }

    /// Ledgers hold live sockets, which end with what let them in.
    async fn push_to_ledgers(&self, regions: BTreeSet<String>, access: Option<SavedAccess>) {
        let Some(body) = access.map(|access| TakeAccess { access }) else {
            return;
        };
        let told = regions.iter().map(async |region| {
            let address = Address::ledger(region);
            if let Err(error) = call(&self.env, address, &body, REFRESH_MS_MAX).await {
                console_error!("the ledger of {region} was not told: {error}");
            }
        });
        join_all(told).await;
    }

    /// What stands about all tokens in common; `None` when it cannot be read, or is not there yet.
    fn common(&self) -> Result<Option<Common>, Refused> {
        let query = "SELECT revision, token_key FROM access WHERE id = 1";
        let Some(row) = self.database.first(query, vec![])? else {
            return Ok(None);
        };
        let revision = integer(row.first()).map(Revision);
        let key = text(row.get(1)).and_then(TokenKey::from_text);
        if let (Some(revision), Some(key)) = (revision, key) {
            return Ok(Some(Common { revision, key }));
        }
        report_damaged("access", &wrong_type("revision or token_key"));
        Ok(None)
    }

    /// What will stand about all tokens after a change, and whether the key is a new one: where none can be read. All
    /// tokens of the old one are then void, as those that were to be revoked must be.
    pub(super) fn common_or_new(&self) -> Result<(Common, bool), Refused> {
        if let Some(Common { revision, key }) = self.common()? {
            let revision = Revision(revision.0 + 1);
            return Ok((Common { revision, key }, false));
        }
        let row = "SELECT revision FROM access WHERE id = 1";
        // The clock stands in where the number cannot be read: it has outrun every count of changes.
        let revision = match self.database.first(row, vec![])? {
            Some(row) => integer(row.first()).unwrap_or(0).max(self.now()?.0) + 1,
            None if self.kept()?.is_empty() => 1,
            None => self.now()?.0,
        };
        let key = TokenKey::new(random()?);
        let revision = Revision(revision);
        Ok((Common { revision, key }, true))
    }

    /// Who stands at the start of those who made one another, down to a token; `None` where the deployment itself let it in,
    /// or nothing of it is known.
    pub(super) fn root_of(&self, id: Option<&str>) -> Result<Option<Root>, Refused> {
        Ok(self.token_of(id)?.and_then(|token| token.root()))
    }

    /// The token of that id, if it can be read.
    fn token_of(&self, id: Option<&str>) -> Result<Option<StoredToken>, Refused> {
        let Some(id) = id else {
            return Ok(None);
        };
        let query = "SELECT id, last_used, body FROM tokens WHERE id = ?";
        let row = self.database.first(query, vec![id.into()])?;
        Ok(row.and_then(|row| kept(&row).body.ok()))
    }

    fn kept(&self) -> Result<Vec<Kept>, Refused> {
        let query = "SELECT id, last_used, body FROM tokens ORDER BY id";
        let rows = self.database.rows(query, vec![])?;
        Ok(rows.iter().map(|row| kept(row)).collect())
    }
}

fn kept(row: &[Value]) -> Kept {
    let id = text(row.first()).unwrap_or_default().to_owned();
    let body = text(row.get(2)).ok_or_else(|| wrong_type("body"));
    let body = body.and_then(read_row::<StoredToken>).and_then(|stored| {
        if stored.row.id == id {
            Ok(stored)
        } else {
            let what = "the row of one token holds another";
            Err(Damaged::Contradiction { what })
        }
    });
    Kept {
        last_used: integer(row.get(1)),
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

pub(super) fn replace(common: &Common) -> Statement {
    let statement = "INSERT OR REPLACE INTO access (id, revision, token_key) VALUES (1, ?, ?)";
    let values = vec![number(common.revision.0), common.key.text().into()];
    (statement, values)
}

/// Bytes from the platform's source of randomness.
pub(super) fn random<const N: usize>() -> Result<[u8; N], Refused> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}
