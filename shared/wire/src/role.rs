//! What a caller is to Weir.

use serde::{Deserialize, Serialize};

/// The role of a caller. Each permits what [`super::endpoint::ROUTES`] says, and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A program that decides beside a proxy: leases units of budgets, and does nothing else.
    Agent,
    /// A backend of the operator's: decides for any tenant, or for those whose names begin as it is told.
    Service,
    /// One tenant: decides for itself and reads its own accounting.
    Tenant,
    /// Reads what operators read, and decides nothing.
    Viewer,
    /// A viewer who also changes the policy and tenants, and resets state.
    Editor,
    /// Everything, tokens included.
    Admin,
}

impl Role {
    /// Every role, from the narrowest to the widest.
    pub const ALL: [Self; 6] = [
        Self::Agent,
        Self::Service,
        Self::Tenant,
        Self::Viewer,
        Self::Editor,
        Self::Admin,
    ];

    /// Its name, as it is written in tokens and the audit log.
    ///
    /// ```
    /// use weir_wire::role::Role;
    /// assert_eq!(Role::Editor.name(), "editor");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Service => "service",
            Self::Tenant => "tenant",
            Self::Viewer => "viewer",
            Self::Editor => "editor",
            Self::Admin => "admin",
        }
    }

    /// The role of that name.
    ///
    /// ```
    /// use weir_wire::role::Role;
    /// assert_eq!(Role::named("viewer"), Some(Role::Viewer));
    /// assert_eq!(Role::named("Viewer"), None);
    /// ```
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    /// Whether it operates the deployment: only such a role may log in to the console.
    #[must_use]
    pub fn operates(self) -> bool {
        matches!(self, Self::Viewer | Self::Editor | Self::Admin)
    }
}
