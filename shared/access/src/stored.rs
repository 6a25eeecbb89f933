//! The rows about tokens: one a token in the registry, one for all of them in a region.

use serde::{Deserialize, Serialize};
use weir_core::limits::{SEALS_MAX, SESSIONS_ENDED_MAX, TOKENS_MAX};
use weir_core::units::EpochMs;
use weir_wire::access::{BOOTSTRAP, SavedAccess, TokenRow, TokenView};
use weir_wire::audit::Author;
use weir_wire::exchange::VERSION;
use weir_wire::stored::{Damaged, Row};

use super::token::is_id;

/// Hexadecimal digits of a hash.
const HASH_DIGITS: usize = 64;

/// What the registry keeps of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredToken {
    v: u16,
    /// The token, as it travels.
    pub row: TokenRow,
    /// When it was made.
    pub created_at: EpochMs,
    /// By whom.
    pub created_by: String,
    /// Who stands at the start of those who made one another, down to this. None where the bootstrap token made it, and in a
    /// row of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    root: Option<Root>,
}

/// An admin whom the deployment itself let in: by the bootstrap token, or by an identity provider. All tokens that come from
/// one, however many admins are in between, count as one where the audit log is concerned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// The id of its token, which nobody else ever has; its name where it has none.
    pub id: String,
    /// What it is called.
    pub name: String,
}

impl StoredToken {
    /// A row of the present version.
    #[must_use]
    pub fn new(row: TokenRow, created_at: EpochMs, created_by: String) -> Self {
        Self {
            v: VERSION,
            row,
            created_at,
            created_by,
            root: None,
        }
    }

    /// The same with who stands at its start.
    #[must_use]
    pub fn with_root(self, root: Option<Root>) -> Self {
        Self { root, ..self }
    }

    /// Who stands at its start: whoever made it, where an earlier version did not say more.
    #[must_use]
    pub fn root(&self) -> Option<Root> {
        let maker = || Root {
            id: self.created_by.clone(),
            name: self.created_by.clone(),
        };
        let made = self.created_by != BOOTSTRAP;
        self.root.clone().or_else(|| made.then(maker))
    }

    /// Who stands at the start of a token that `author` makes; `maker` is the row of the author's own, where it has one.
    ///
    /// ```
    /// use weir_access::stored::StoredToken;
    /// use weir_wire::access::BOOTSTRAP;
    /// use weir_wire::audit::Author;
    /// let by = |name: &str, token: &str| Author { token: Some(token.to_owned()), ..Author::named(name) };
    /// assert_eq!(StoredToken::root_of_made(&by(BOOTSTRAP, BOOTSTRAP), None), None);
    /// let root = StoredToken::root_of_made(&by("ada", "k1"), None).unwrap();
    /// assert_eq!((root.id.as_str(), root.name.as_str()), ("k1", "ada"));
    /// ```
    #[must_use]
    pub fn root_of_made(author: &Author, maker: Option<&Self>) -> Option<Root> {
        if author.token.as_deref() == Some(BOOTSTRAP) {
            return None;
        }
        let own = || Root {
            id: author.token.as_ref().unwrap_or(&author.actor).clone(),
            name: author.actor.clone(),
        };
        Some(maker.and_then(Self::root).unwrap_or_else(own))
    }

    /// What operators see of it. `last_used` is kept beside the row, in epoch milliseconds.
    #[must_use]
    pub fn view(&self, last_used: Option<u64>) -> TokenView {
        let row = self.row.clone();
        TokenView {
            id: row.id,
            name: row.name,
            role: row.role,
            tenant: row.tenant,
            prefix: row.prefix,
            expires_at: row.expires_at.map(|end| end.0),
            created_at: self.created_at.0,
            created_by: self.created_by.clone(),
            last_used,
        }
    }
}

impl Row for StoredToken {
    fn version(&self) -> u16 {
        self.v
    }

    fn consistent(&self) -> Result<(), Damaged> {
        let what = if !is_id(&self.row.id) {
            "an id that no token has"
        } else if self.row.hash.len() != HASH_DIGITS {
            "a hash of another length"
        } else {
            return Ok(());
        };
        Err(Damaged::Contradiction { what })
    }
}

/// What a region keeps of all tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredAccess {
    v: u16,
    /// The tokens, as they travel.
    pub access: SavedAccess,
}

impl StoredAccess {
    /// A row of the present version.
    #[must_use]
    pub fn new(access: SavedAccess) -> Self {
        Self { v: VERSION, access }
    }
}

impl Row for StoredAccess {
    fn version(&self) -> u16 {
        self.v
    }

    fn consistent(&self) -> Result<(), Damaged> {
        let access = &self.access;
        let what = if access.tokens.len() > TOKENS_MAX {
            "more tokens than there may be"
        } else if access.seals.len() > SEALS_MAX {
            "more keys than there may be"
        } else if access.ended.len() > SESSIONS_ENDED_MAX {
            "more ended sessions than there may be"
        } else {
            return Ok(());
        };
        Err(Damaged::Contradiction { what })
    }
}

#[cfg(test)]
mod tests {
    use weir_core::units::Revision;
    use weir_wire::access::{EndedSession, SealRow};

    use super::*;

    #[test]
    fn a_row_with_more_than_there_may_be_is_damaged() {
        let seal = SealRow {
            version: 1,
            key: String::new(),
            until: None,
        };
        let ended = EndedSession {
            token: "token".to_owned(),
            id: None,
            expires_at: EpochMs(1),
        };
        let row = |seals: usize, sessions: usize| {
            let access = SavedAccess {
                revision: Revision(1),
                key: String::new(),
                tokens: Vec::new(),
                bootstrap: false,
                seals: vec![seal.clone(); seals],
                ended: vec![ended.clone(); sessions],
            };
            StoredAccess::new(access).consistent().is_ok()
        };
        assert!(row(SEALS_MAX, SESSIONS_ENDED_MAX));
        for more in [1, 2] {
            assert!(!row(SEALS_MAX + more, 0));
            assert!(!row(0, SESSIONS_ENDED_MAX + more));
        }
    }
}
