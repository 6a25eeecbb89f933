//! Who may use the deployment, as an isolate knows it: looked up for each request, without asking anyone.

use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::TOKENS_MAX;
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, Revision};
use weir_wire::access::SavedAccess;

use super::ended::EndedSessions;
use super::grant::Principal;
use super::seal::SealKeys;
use super::session::{Judged, Session};
use super::token::{Refusal, Token, TokenKey};

/// Every token that is valid, by id.
#[derive(Clone)]
pub struct AccessTable {
    revision: Revision,
    key: TokenKey,
    bootstrap: bool,
    tokens: OrderedMap<String, (String, Principal)>,
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
            tokens: OrderedMap::from_iter(tokens),
            seals: SealKeys::try_from(saved.seals.as_slice())?,
            ended: saved.ended.iter().collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use weir_wire::access::TokenRow;
    use weir_wire::role::Role;

    use super::*;
    use crate::token::KEY_BYTES;

    fn table(key: u8) -> AccessTable {
        let row = TokenRow {
            id: "k1".to_owned(),
            hash: String::new(),
            role: Role::Viewer,
            tenant: None,
            prefix: None,
            expires_at: Some(EpochMs(1_000)),
            name: "ada".to_owned(),
        };
        let saved = SavedAccess {
            revision: Revision(1),
            key: TokenKey::new([key; KEY_BYTES]).text(),
            tokens: vec![row],
            bootstrap: false,
            seals: Vec::new(),
            ended: Vec::new(),
        };
        AccessTable::try_from(&saved).unwrap()
    }

    #[test]
    fn a_token_that_has_expired_is_in_the_table_and_nobodys() {
        let table = table(7);
        assert_eq!([table.has("k1"), table.has("k2")], [true, false]);
        let whose = |now| table.principal("k1", EpochMs(now)).map(|one| &*one.actor);
        assert_eq!([999, 1_000].map(whose), [Some("ada"), None]);
        assert_eq!(table.principal("k2", EpochMs(0)), None);
    }

    #[test]
    fn a_mac_is_that_of_the_key_for_one_purpose_and_one_message() {
        let mac = |key, purpose, message| table(key).mac(purpose, message);
        let due = TokenKey::new([7; KEY_BYTES]).mac_of("placement", "a");
        assert!(due.is_some());
        assert_eq!(mac(7, "placement", "a"), due);
        for other in [
            mac(8, "placement", "a"),
            mac(7, "slots", "a"),
            mac(7, "placement", "b"),
        ] {
            assert_ne!(other, due);
        }
    }
}
