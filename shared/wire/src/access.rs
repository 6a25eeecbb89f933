//! Tokens on the wire: as a region and its isolates know them, and as the operator API shows them.

use serde::{Deserialize, Serialize};
use weir_core::units::{EpochMs, Revision};

use crate::role::Role;

/// Who may use a deployment: travels and is kept as the policy is.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedAccess {
    /// Its revision: rises with every change.
    pub revision: Revision,
    /// The key of the tokens' MAC, 32 bytes in base64url. It only keeps garbage away: without an entry in the table a
    /// token with a true MAC opens nothing.
    pub key: String,
    /// Every token that is valid.
    pub tokens: Vec<TokenRow>,
    /// Whether the bootstrap token is accepted: until there is an admin's token.
    pub bootstrap: bool,
    /// The keys of sessions, reservations and slots, the newest first. None where an earlier version wrote this.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seals: Vec<SealRow>,
    /// Sessions that were ended before their time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<EndedSession>,
}

impl SavedAccess {
    /// The revision that is told when more is asked for: none where the keys are missing, which an earlier version leaves
    /// out.
    #[must_use]
    pub fn told(&self) -> Revision {
        if self.seals.is_empty() {
            Revision(0)
        } else {
            self.revision
        }
    }

    /// Whether it says more than what is there by that revision, with or without keys.
    #[must_use]
    pub fn is_news(&self, revision: Revision, has_seals: bool) -> bool {
        let completes = !has_seals && !self.seals.is_empty();
        self.revision > revision || (completes && self.revision == revision)
    }
}

/// A key by which a deployment seals what callers keep.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealRow {
    /// Its version: rises with every rotation.
    pub version: u64,
    /// The key, 32 bytes in base64url.
    pub key: String,
    /// Until when what it sealed is opened; absent while it seals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<EpochMs>,
}

impl std::fmt::Debug for SealRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SealRow")
            .field("version", &self.version)
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}

/// A session that was ended before its time, or all of one token's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedSession {
    /// The id of the token that it was opened with, or [`BOOTSTRAP`].
    pub token: String,
    /// Its own; absent where all of the token's are meant that end no later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// When it would have ended by itself.
    pub expires_at: EpochMs,
}

impl std::fmt::Debug for SavedAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SavedAccess")
            .field("revision", &self.revision)
            .field("tokens", &self.tokens)
            .field("bootstrap", &self.bootstrap)
            .field("seals", &self.seals)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

/// A token as whoever checks it knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRow {
    /// Its id, 12 bytes in base64url.
    pub id: String,
    /// SHA-256 of its whole text, in hexadecimal.
    pub hash: String,
    /// What it permits.
    pub role: Role,
    /// The one tenant that it may name, with [`Role::Tenant`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// How the names begin that it may name, with [`Role::Service`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// From when on it opens nothing, epoch milliseconds; absent where it is valid until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<EpochMs>,
    /// What it is called, in the audit log too.
    pub name: String,
}

/// Uses of one token, on their way to the registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUse {
    /// Its id, or [`BOOTSTRAP`].
    pub id: String,
    /// The last of them.
    pub at: EpochMs,
    /// How many, since the last report.
    pub uses: u64,
}

/// The bootstrap token, among the ids of tokens: too short to be one.
pub const BOOTSTRAP: &str = "bootstrap";

/// `POST /operator/v1/tokens`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// What it is called: 1 to 64 of `a-z 0-9 _ -`, as it stands in the audit log.
    pub name: String,
    /// What it permits.
    pub role: Role,
    /// The tenant: needed with the role tenant, refused with any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// How the names begin that it may name; only with the role service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// From when on it opens nothing, epoch milliseconds; absent where it is valid until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<EpochMs>,
}

/// A token as operators see it: nothing about it is secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenView {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// What it permits.
    pub role: Role,
    /// The one tenant that it may name.
    pub tenant: Option<String>,
    /// How the names begin that it may name.
    pub prefix: Option<String>,
    /// From when on it opens nothing, epoch milliseconds; null where it is valid until it is revoked.
    pub expires_at: Option<u64>,
    /// When it was made, epoch milliseconds.
    pub created_at: u64,
    /// By whom.
    pub created_by: String,
    /// When it was last used, epoch milliseconds, to within a minute and a poll; null when never.
    pub last_used: Option<u64>,
}

/// The answer to `POST /operator/v1/tokens`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenReply {
    /// The token. It is shown this once: only its hash is kept.
    pub token: String,
    /// The rest of it.
    #[serde(flatten)]
    pub view: TokenView,
}

impl std::fmt::Debug for TokenReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenReply")
            .field("view", &self.view)
            .finish_non_exhaustive()
    }
}
