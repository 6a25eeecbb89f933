//! The names that stand in the tenant column: a tenant's own, or one of the two that stand for no single tenant.

use weir_shared::wire::accounting::{ANONYMOUS, OTHERS};

use crate::visible::visible;

/// Whom a row of counters belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TenantName<'a> {
    /// A tenant.
    Named(&'a str),
    /// The tenants beyond the bound of names kept.
    Others,
    /// Requests that named no tenant.
    Anonymous,
}

impl<'a> TenantName<'a> {
    /// Reads a name as it stands in the counters.
    pub fn of(counted_as: &'a str) -> Self {
        match counted_as {
            OTHERS => Self::Others,
            ANONYMOUS => Self::Anonymous,
            name => Self::Named(name),
        }
    }

    /// Whether it is one tenant's.
    pub fn is_named(self) -> bool {
        matches!(self, Self::Named(_))
    }

    /// What to show. A tenant may have the same name as a label: [`Self::kind`] and [`Self::note`] keep them apart.
    pub fn label(self) -> String {
        match self {
            Self::Named(name) => visible(name),
            Self::Others => "others".to_owned(),
            Self::Anonymous => "no tenant".to_owned(),
        }
    }

    /// The kind, for the page's hooks and styles.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Named(_) => "tenant",
            Self::Others => "others",
            Self::Anonymous => "anonymous",
        }
    }

    /// What a row that is not one tenant's stands for.
    pub fn note(self) -> Option<&'static str> {
        match self {
            Self::Named(_) => None,
            Self::Others => Some("tenants not listed by name, counted together"),
            Self::Anonymous => Some("requests that named no tenant"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_kinds() {
        for (counted_as, label, kind, noted) in [
            ("acme", "acme", "tenant", false),
            (OTHERS, "others", "others", true),
            (ANONYMOUS, "no tenant", "anonymous", true),
            ("ac\u{200b}me", "ac⟨U+200B⟩me", "tenant", false),
            ("others", "others", "tenant", false),
            ("no tenant", "no tenant", "tenant", false),
        ] {
            let name = TenantName::of(counted_as);
            assert_eq!(
                (name.label(), name.kind(), name.note().is_some()),
                (label.to_owned(), kind, noted)
            );
        }
    }

    #[test]
    fn what_is_no_single_tenant_comes_last() {
        assert!(TenantName::of("zzz") < TenantName::of(OTHERS));
        assert!(TenantName::of("zzz") < TenantName::of(ANONYMOUS));
    }
}
