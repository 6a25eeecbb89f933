//! Who may use the deployment, as an isolate knows it: looked up for each request, without asking anyone.

use std::collections::BTreeMap;

use super::ended::EndedSessions;
use super::grant::Principal;
use super::seal::SealKeys;
use super::session::{Judged, Session};
use super::token::{Refusal, Token, TokenKey};
use crate::gather::gathered;
use crate::invalid::{Fault, Invalid};
use crate::limits::TOKENS_MAX;
use crate::units::{EpochMs, Revision};
use crate::wire::access::SavedAccess;

/// Every token that is valid, by id.
#[derive(Clone)]
pub struct AccessTable {
    revision: Revision,
    key: TokenKey,
    bootstrap: bool,
    tokens: BTreeMap<String, (String, Principal)>,
    seals: SealKeys,
    ended: EndedSessions,
}

impl AccessTable {
    /// Which revision this is.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Whether the bootstrap token is accepted.
    #[must_use]
    pub fn bootstrap(&self) -> bool {
        self.bootstrap
    }

    /// Whose token a text is, with the token itself.
    ///
    /// # Errors
    /// Why it opens nothing.
    pub fn open(&self, text: &str, now: EpochMs) -> Result<(Token, &Principal), Refusal> {
        let token = Token::open(&self.key, text)?;
        let Some((hash, principal)) = self.tokens.get(token.id()) else {
            let id = token.id().to_owned();
            return Err(Refusal::Unknown { id });
        };
        if !token.has_hash(hash) {
            return Err(Refusal::Forged);
        }
        if principal.has_expired(now) {
            return Err(Refusal::Expired);
        }
        Ok((token, principal))
    }

    /// Whose token the one of that id is, unless it has expired.
    #[must_use]
    pub fn principal(&self, id: &str, now: EpochMs) -> Option<&Principal> {
        let (_, principal) = self.tokens.get(id)?;
        (!principal.has_expired(now)).then_some(principal)
    }

    /// A MAC of `message` by the key of the tokens; `purpose` keeps one use apart from another.
    #[must_use]
    pub fn mac(&self, purpose: &str, message: &str) -> Option<[u8; 32]> {
        self.key.mac_of(purpose, message)
    }

    /// The keys of what callers keep.
    #[must_use]
    pub fn seals(&self) -> &SealKeys {
        &self.seals
    }

    /// What a text that may be a session's comes to.
    #[must_use]
    pub fn session(&self, text: &str, now: EpochMs) -> Judged {
        Session::judge(text, &self.seals, &self.ended, now)
    }

    /// Whether a session was ended before its time.
    #[must_use]
    pub fn has_ended(&self, session: &Session) -> bool {
        self.ended.has(session)
    }

    /// Whether it has a token of that id.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.tokens.contains_key(id)
    }
}

impl TryFrom<&SavedAccess> for AccessTable {
    type Error = Invalid;

    fn try_from(saved: &SavedAccess) -> Result<Self, Invalid> {
        if saved.tokens.len() > TOKENS_MAX {
            let fault = Fault::TooMany {
                got: saved.tokens.len(),
                max: TOKENS_MAX,
                what: "tokens",
            };
            return Err(Invalid::new("/tokens", fault));
        }
        let key = TokenKey::from_text(&saved.key).ok_or_else(|| {
            let message = "must be 32 bytes in base64url".to_owned();
            Invalid::new("/key", Fault::Form { message })
        })?;
        let rows = saved.tokens.iter();
        let tokens = rows.map(|row| (row.id.clone(), (row.hash.clone(), Principal::from(row))));
        Ok(Self {
            revision: saved.revision,
            key,
            bootstrap: saved.bootstrap,
            tokens: gathered(tokens),
            seals: SealKeys::try_from(saved.seals.as_slice())?,
            ended: saved.ended.iter().collect(),
        })
    }
}
