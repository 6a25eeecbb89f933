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
        (Role::Service | Role::Admin, ..) => "any tenant".to_owned(),
        _ => "the console".to_owned(),
    }
}

/// What revoking does, for the question before it.
pub fn revoking(token: &TokenView, session: Option<&SessionReply>) -> String {
    let mut words = format!(
        "What uses the token “{}” ({}, for {}) is refused everywhere within a second. It cannot be undone: it takes a new token.",
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
        return "There are no tokens yet: you use the bootstrap token. Make an admin's token first.".to_owned();
    }
    "There are no tokens. Make one with “New token”.".to_owned()
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
