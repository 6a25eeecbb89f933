//! A token in the list.

use weir_shared::wire::access::{BOOTSTRAP, TokenView};
use weir_shared::wire::operator::SessionReply;
use weir_shared::wire::role::Role;

use crate::visible::visible;

/// By whom a token was made: an identity provider's word, where it was no token of Weir's.
pub fn made_by(token: &TokenView) -> String {
    visible(&token.created_by)
}

/// For whom or what a token is.
pub fn scope(token: &TokenView) -> String {
    match (token.role, &token.tenant, &token.prefix) {
        (Role::Tenant, Some(tenant), _) => format!("tenant {}", visible(tenant)),
        (Role::Service, _, Some(prefix)) => format!("tenants beginning with {}", visible(prefix)),
        (Role::Agent | Role::Service | Role::Admin, ..) => "any tenant".to_owned(),
        _ => "the console".to_owned(),
    }
}

/// How much longer a token is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// Until it is revoked.
    Never,
    /// For more than [`SOON_MS`], or it was made for no longer than that: then who made it knows.
    Later,
    /// For no more than [`SOON_MS`].
    Soon,
    /// Not any more.
    Over,
}

/// What expires within this time is to be replaced soon: a week.
pub const SOON_MS: u64 = 7 * 86_400_000;

impl Expiry {
    /// Of a token, at an instant.
    pub fn of(token: &TokenView, now_ms: u64) -> Self {
        match token.expires_at {
            None => Self::Never,
            Some(at) if at <= now_ms => Self::Over,
            Some(at) if at.saturating_sub(token.created_at) <= SOON_MS => Self::Later,
            Some(at) if at - now_ms <= SOON_MS => Self::Soon,
            Some(_) => Self::Later,
        }
    }

    /// The mark that it stands with.
    pub fn mark(self) -> Option<&'static str> {
        match self {
            Self::Never | Self::Later => None,
            Self::Soon => Some("expires soon"),
            Self::Over => Some("expired"),
        }
    }
}

/// What is to be done about tokens that expire, in a sentence; none where nothing is.
pub fn expiring(tokens: &[TokenView], now_ms: u64) -> Option<String> {
    let soon = tokens
        .iter()
        .filter(|token| Expiry::of(token, now_ms) == Expiry::Soon)
        .count();
    let verb = if soon == 1 { "expires" } else { "expire" };
    (soon > 0).then(|| {
        format!(
            "{} of this list {verb} within a week. Make new ones before then, and hand them to whoever uses these.",
            crate::format::counted(soon, "token")
        )
    })
}

/// What revoking does, for the question before it.
pub fn revoking(token: &TokenView, session: Option<&SessionReply>) -> String {
    let mut words = format!(
        "What uses the token “{}” ({}, for {}) is refused everywhere within a second. This cannot be undone: you would need a new token.",
        visible(&token.name),
        token.role.name(),
        scope(token)
    );
    if is_own(token, session) {
        words.push_str(
            " You are logged in with a token of this name: if it is this one, your session ends.",
        );
    }
    words
}

/// Whether the session may have been opened with it: names of tokens need not differ.
pub fn is_own(token: &TokenView, session: Option<&SessionReply>) -> bool {
    session.is_some_and(|session| session.name == token.name && session.role == token.role)
}

/// Whether the session was opened with the bootstrap token, which is refused once there is an admin's token.
pub fn is_bootstrap(session: Option<&SessionReply>) -> bool {
    session.is_some_and(|session| session.name == BOOTSTRAP)
}

/// What to say where there is no token.
pub fn empty(search: &str, session: Option<&SessionReply>) -> String {
    if !search.is_empty() {
        return format!("No token has “{}” in its name.", visible(search));
    }
    if is_bootstrap(session) {
        return "There are no tokens yet: you use the bootstrap token. Create an admin's token first.".to_owned();
    }
    "There are no tokens. Create one with “New token”.".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(role: Role, tenant: Option<&str>, prefix: Option<&str>) -> TokenView {
        TokenView {
            id: "AAAAAAAAAAAAAAAA".to_owned(),
            name: "gateway".to_owned(),
            role,
            tenant: tenant.map(str::to_owned),
            prefix: prefix.map(str::to_owned),
            expires_at: None,
            created_at: 1,
            created_by: BOOTSTRAP.to_owned(),
            last_used: None,
        }
    }

    #[test]
    fn what_expires_within_a_week_is_said_in_time() {
        let at = |expires_at| TokenView {
            expires_at,
            ..token(Role::Service, None, None)
        };
        let now_ms = 2 * SOON_MS;
        for (expires_at, expiry) in [
            (None, Expiry::Never),
            (Some(now_ms), Expiry::Over),
            (Some(now_ms + 1), Expiry::Soon),
            (Some(now_ms + SOON_MS), Expiry::Soon),
            (Some(now_ms + SOON_MS + 1), Expiry::Later),
        ] {
            assert_eq!(
                Expiry::of(&at(expires_at), now_ms),
                expiry,
                "{expires_at:?}"
            );
        }
        // Made for a day.
        let short = TokenView {
            created_at: now_ms,
            ..at(Some(now_ms + SOON_MS / 7))
        };
        assert_eq!(Expiry::of(&short, now_ms), Expiry::Later);
        assert_eq!(expiring(&[at(None), short], now_ms), None);
        let told = expiring(&[at(Some(now_ms + 5)), at(Some(1))], now_ms).unwrap();
        assert!(
            told.starts_with("1 token of this list expires within a week."),
            "{told}"
        );
    }

    fn session(name: &str, role: Role) -> SessionReply {
        SessionReply {
            role,
            name: name.to_owned(),
            expires_at: 5,
        }
    }

    #[test]
    fn names_are_shown_with_what_nobody_sees_of_them() {
        let hidden = TokenView {
            name: "a\u{200b}da".to_owned(),
            created_by: "\u{202e}eve@example.com".to_owned(),
            ..token(Role::Tenant, Some("ac\u{2066}me"), None)
        };
        assert_eq!(made_by(&hidden), "⟨U+202E⟩eve@example.com");
        assert_eq!(scope(&hidden), "tenant ac⟨U+2066⟩me");
        assert!(revoking(&hidden, None).contains("“a⟨U+200B⟩da”"));
        assert!(empty("\u{202e}x", None).contains("⟨U+202E⟩x"));
    }

    #[test]
    fn a_token_says_for_whom_it_speaks() {
        for (token, scope_words) in [
            (token(Role::Tenant, Some("acme"), None), "tenant acme"),
            (
                token(Role::Service, None, Some("eu:")),
                "tenants beginning with eu:",
            ),
            (token(Role::Service, None, None), "any tenant"),
            (token(Role::Agent, None, None), "any tenant"),
            (token(Role::Admin, None, None), "any tenant"),
            (token(Role::Viewer, None, None), "the console"),
            (token(Role::Editor, None, None), "the console"),
        ] {
            assert_eq!(scope(&token), scope_words);
        }
    }

    #[test]
    fn who_revokes_their_own_token_is_told_so() {
        let token = token(Role::Admin, None, None);
        for (session, own) in [
            (None, false),
            (Some(session("gateway", Role::Admin)), true),
            (Some(session("gateway", Role::Viewer)), false),
            (Some(session("other", Role::Admin)), false),
        ] {
            let words = revoking(&token, session.as_ref());
            assert!(
                words.contains("“gateway” (admin, for any tenant)"),
                "{words}"
            );
            assert_eq!(words.contains("your session ends"), own, "{session:?}");
        }
    }

    #[test]
    fn an_empty_list_says_what_would_fill_it() {
        let bootstrap = session(BOOTSTRAP, Role::Admin);
        assert!(empty("x", Some(&bootstrap)).contains("“x”"));
        assert!(empty("", Some(&bootstrap)).contains("bootstrap"));
        assert!(empty("", None).contains("New token"));
    }
}
