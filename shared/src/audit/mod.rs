//! The audit log: who changed what, when and why, as a chain of hashes in which any change is found.

pub mod chain;
pub mod changes;
pub mod csv;
pub mod draft;
pub mod export;
pub mod summary;
pub mod tag;

use sha2::{Digest, Sha256};

/// What can be done, as the log calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The first policy, by the deployment itself.
    PolicyShip,
    /// A whole policy.
    PolicySave,
    /// Fields of one tenant.
    TenantPatch,
    /// One tenant out of the policy.
    TenantDelete,
    /// A token made.
    TokenCreate,
    /// A token revoked.
    TokenRevoke,
    /// The bootstrap token used.
    BootstrapUse,
    /// A login.
    SessionOpen,
    /// A logout.
    SessionClose,
    /// All sessions ended at once.
    SessionsRevoke,
    /// State of a limit, a meter or a tenant put back to its start.
    StateReset,
}

impl Action {
    /// Its name.
    ///
    /// ```
    /// assert_eq!(weir_shared::audit::Action::TenantPatch.name(), "tenant.patch");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PolicyShip => "policy.ship",
            Self::PolicySave => "policy.save",
            Self::TenantPatch => "tenant.patch",
            Self::TenantDelete => "tenant.delete",
            Self::TokenCreate => "token.create",
            Self::TokenRevoke => "token.revoke",
            Self::BootstrapUse => "bootstrap.use",
            Self::SessionOpen => "session.open",
            Self::SessionClose => "session.close",
            Self::SessionsRevoke => "sessions.revoke",
            Self::StateReset => "state.reset",
        }
    }
}

/// SHA-256 (FIPS 180-4) of a text, in hexadecimal.
///
/// ```
/// let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
/// assert_eq!(weir_shared::audit::sha256_hex("abc"), abc);
/// ```
#[must_use]
pub fn sha256_hex(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// Bytes in hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let digits = bytes.iter().flat_map(|byte| {
        let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied();
        [digit(byte >> 4), digit(byte & 15)]
    });
    digits.flatten().collect()
}
