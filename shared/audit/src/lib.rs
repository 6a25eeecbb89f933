//! The audit log: who changed what, when and why, as a chain of hashes in which any change is found.

pub mod chain;
pub mod changes;
pub mod draft;
pub mod export;
pub mod summary;
pub mod tag;

use sha2::{Digest, Sha256};
use weir_core::hex::hex;
use weir_core::limits::{AUDIT_IN_FULL_PER_DAY_MAX, POLICIES_PER_DAY_MAX, TOKENS_PER_DAY_MAX};

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
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::PolicyShip,
        Self::PolicySave,
        Self::TenantPatch,
        Self::TenantDelete,
        Self::TokenCreate,
        Self::TokenRevoke,
        Self::BootstrapUse,
        Self::SessionOpen,
        Self::SessionClose,
        Self::SessionsRevoke,
        Self::StateReset,
    ];

    /// The one of that name.
    ///
    /// ```
    /// use weir_audit::Action;
    /// assert_eq!(Action::of_name("tenant.patch"), Some(Action::TenantPatch));
    /// assert_eq!(Action::of_name("tenant.rename"), None);
    /// ```
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.name() == name)
    }

    /// Its name.
    ///
    /// ```
    /// assert_eq!(weir_audit::Action::TenantPatch.name(), "tenant.patch");
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

    /// How many that one actor has done the log takes in full within a day; `None` where it takes them all: no more tokens
    /// are revoked than were made.
    ///
    /// ```
    /// use weir_audit::Action;
    /// assert_eq!(Action::StateReset.in_full_per_day_max(), Some(200));
    /// assert_eq!(Action::TokenRevoke.in_full_per_day_max(), None);
    /// ```
    #[must_use]
    pub fn in_full_per_day_max(self) -> Option<u64> {
        match self {
            Self::PolicySave | Self::TenantPatch | Self::TenantDelete => Some(POLICIES_PER_DAY_MAX),
            Self::TokenCreate => Some(TOKENS_PER_DAY_MAX),
            Self::TokenRevoke => None,
            _ => Some(AUDIT_IN_FULL_PER_DAY_MAX),
        }
    }

    /// Whether it is refused where the log would only sum it up: a sum does not say what the policy was, or who was let in.
    /// The policy that is shipped is one, and tokens that are revoked have no bound. Of the others a sum says enough: they
    /// change neither who may do what nor what is enforced, or the same each time (sessions ended), or no more than where a
    /// state stands within its limit (a reset).
    #[must_use]
    pub fn is_always_told(self) -> bool {
        match self {
            Self::PolicySave | Self::TenantPatch | Self::TenantDelete | Self::TokenCreate => true,
            Self::PolicyShip
            | Self::TokenRevoke
            | Self::BootstrapUse
            | Self::SessionOpen
            | Self::SessionClose
            | Self::SessionsRevoke
            | Self::StateReset => false,
        }
    }
}

/// SHA-256 (FIPS 180-4) of a text, in hexadecimal.
///
/// ```
/// let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
/// assert_eq!(weir_audit::sha256_hex("abc"), abc);
/// ```
#[must_use]
pub fn sha256_hex(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}
