//! What a new token is to be, checked by the same code as at the edge.

use weir_shared::access::grant::NewToken;
use weir_shared::invalid::{Fault, Invalid};
use weir_shared::limits::DAY_MS;
use weir_shared::units::EpochMs;
use weir_shared::wire::access::TokenRequest;
use weir_shared::wire::role::Role;

/// What is typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenDraft {
    /// What it is called.
    pub name: String,
    /// The name of its role.
    pub role: String,
    /// The one tenant that it may name.
    pub tenant: String,
    /// How the names begin that it may name.
    pub prefix: String,
    /// The days that it is valid, as one of [`EXPIRIES`] has them.
    pub expiry: String,
}

/// How long a new token may be valid: the days, and what is said of them.
pub const EXPIRIES: [(&str, &str); 6] = [
    ("90", "90 days"),
    ("1", "1 day"),
    ("7", "7 days"),
    ("30", "30 days"),
    ("365", "1 year"),
    ("", "until it is revoked"),
];

/// When a token ends that is made now and valid for these days; none for one that is valid until it is revoked.
pub fn ends_at(expiry: &str, now: EpochMs) -> Option<EpochMs> {
    let days = expiry.parse::<u64>().ok()?;
    Some(now.plus(days * DAY_MS))
}

/// What is wrong with a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftFault {
    /// Where, as a JSON pointer.
    pub field: String,
    /// What.
    pub message: String,
}

impl TokenDraft {
    /// The role, once one is chosen.
    pub fn role(&self) -> Option<Role> {
        Role::named(&self.role)
    }

    /// The request that makes the token. A field that the role has no use for is left out.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn request(&self, now: EpochMs) -> Result<TokenRequest, DraftFault> {
        let Some(role) = self.role() else {
            return Err(DraftFault {
                field: "/role".to_owned(),
                message: "Choose a role.".to_owned(),
            });
        };
        let said = |text: &str, of: Role| {
            let text = text.trim();
            (role == of && !text.is_empty()).then(|| text.to_owned())
        };
        let request = TokenRequest {
            name: self.name.trim().to_owned(),
            role,
            tenant: said(&self.tenant, Role::Tenant),
            prefix: said(&self.prefix, Role::Service),
            expires_at: ends_at(&self.expiry, now),
        };
        match NewToken::try_from(request.clone()) {
            Ok(_) => Ok(request),
            Err(invalid) => Err(fault(&invalid)),
        }
    }
}

fn fault(invalid: &Invalid) -> DraftFault {
    let message = match &invalid.fault {
        Fault::Missing => "It cannot be empty.".to_owned(),
        Fault::Duplicate { got } => format!("“{got}” is the name of the deployment's own token."),
        Fault::TooMany { max, what, .. } => format!("It has more than {max} {what}."),
        other => format!("It {other}."),
    };
    DraftFault {
        field: invalid.field.clone(),
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(name: &str, role: &str, tenant: &str, prefix: &str) -> TokenDraft {
        TokenDraft {
            name: name.to_owned(),
            role: role.to_owned(),
            tenant: tenant.to_owned(),
            prefix: prefix.to_owned(),
            expiry: String::new(),
        }
    }

    #[test]
    fn a_good_draft_becomes_a_request_with_what_its_role_has_a_use_for() {
        for (draft, tenant, prefix) in [
            (draft(" ops ", "viewer", "acme", "eu:"), None, None),
            (draft("t", "tenant", " acme ", "eu:"), Some("acme"), None),
            (draft("s", "service", "acme", "eu:"), None, Some("eu:")),
            (draft("s", "service", "acme", " "), None, None),
        ] {
            let request = draft.request(EpochMs(0)).unwrap();
            assert_eq!(request.name, draft.name.trim());
            assert_eq!(request.tenant.as_deref(), tenant);
            assert_eq!(request.prefix.as_deref(), prefix);
        }
    }

    #[test]
    fn a_token_expires_so_many_days_from_now_or_never() {
        let expires_at = |expiry: &str| {
            let draft = TokenDraft {
                expiry: expiry.to_owned(),
                ..draft("ops", "viewer", "", "")
            };
            draft.request(EpochMs(1_000)).unwrap().expires_at
        };
        assert_eq!(expires_at("30"), Some(EpochMs(1_000 + 2_592_000_000)));
        for (expiry, _) in EXPIRIES {
            assert_eq!(expires_at(expiry).is_none(), expiry.is_empty());
        }
    }

    #[test]
    fn a_bad_draft_says_where_and_what() {
        for (draft, field, part) in [
            (draft("ops", "", "", ""), "/role", "Choose"),
            (draft("ops", "king", "", ""), "/role", "Choose"),
            (draft("", "viewer", "", ""), "/name", "empty"),
            (draft("Ops", "viewer", "", ""), "/name", "'O'"),
            (
                draft("bootstrap", "admin", "", ""),
                "/name",
                "deployment's own",
            ),
            (draft(&"x".repeat(65), "viewer", "", ""), "/name", "64"),
            (draft("t", "tenant", "", ""), "/tenant", "empty"),
            (draft("t", "tenant", "a\tb", ""), "/tenant", "control"),
            (
                draft("s", "service", "", &"x".repeat(129)),
                "/prefix",
                "128",
            ),
        ] {
            let fault = draft.request(EpochMs(0)).unwrap_err();
            assert_eq!(fault.field, field, "{draft:?}");
            assert!(fault.message.contains(part), "{}", fault.message);
        }
    }
}
