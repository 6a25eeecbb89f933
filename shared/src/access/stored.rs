//! The rows about tokens: one a token in the registry, one for all of them in a region.

use serde::{Deserialize, Serialize};

use super::token::is_id;
use crate::limits::{SEALS_MAX, SESSIONS_ENDED_MAX, TOKENS_MAX};
use crate::units::EpochMs;
use crate::wire::access::{SavedAccess, TokenRow, TokenView};
use crate::wire::exchange::VERSION;
use crate::wire::stored::{Damaged, Row};

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
        }
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
