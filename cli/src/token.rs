//! Tokens: listed, made, revoked.

use weir_shared::units::EpochMs;
use weir_shared::wire::access::{TokenReply, TokenRequest, TokenView};

use crate::client::Client;
use crate::failure::Failure;
use crate::figures::instant;
use crate::table::{Side, Table};

/// Milliseconds of a day.
const DAY_MS: u64 = 24 * 3_600_000;

/// Every token, without what is secret about it.
///
/// # Errors
/// As every question.
pub fn all(client: &Client) -> Result<Vec<TokenView>, Failure> {
    let mut found = Vec::new();
    let mut page = 1;
    loop {
        let reply = client.tokens(page)?;
        found.extend(reply.tokens);
        if page >= reply.page.pages {
            return Ok(found);
        }
        page += 1;
    }
}

/// As a table.
#[must_use]
pub fn text(tokens: &[TokenView]) -> String {
    let heads = [
        "id",
        "name",
        "role",
        "for",
        "made",
        "by",
        "last used",
        "ends",
    ];
    let mut table = Table::new(&heads.map(|head| (head, Side::Left)));
    for token in tokens {
        table.row([
            token.id.clone(),
            token.name.clone(),
            token.role.name().to_owned(),
            whom(token),
            instant(EpochMs(token.created_at)),
            token.created_by.clone(),
            at(token.last_used),
            at(token.expires_at),
        ]);
    }
    table.text()
}

fn at(time: Option<u64>) -> String {
    time.map_or_else(|| "never".to_owned(), |at| instant(EpochMs(at)))
}

fn whom(token: &TokenView) -> String {
    match (&token.tenant, &token.prefix) {
        (Some(tenant), _) => tenant.clone(),
        (_, Some(prefix)) => format!("{prefix}…"),
        _ => "all".to_owned(),
    }
}

/// The same request with an end so many days from now.
///
/// # Errors
/// For more days than an instant has room for.
pub fn ending(
    token: TokenRequest,
    days: Option<u64>,
    now: EpochMs,
) -> Result<TokenRequest, Failure> {
    let Some(days) = days else {
        return Ok(token);
    };
    let end = days
        .checked_mul(DAY_MS)
        .and_then(|ms| now.0.checked_add(ms));
    let end = end.ok_or_else(|| Failure::Option {
        option: "--days",
        why: format!("{days} days end after all time."),
    })?;
    Ok(TokenRequest {
        expires_at: Some(EpochMs(end)),
        ..token
    })
}

/// What is said of a token beside its text.
#[must_use]
pub fn made(token: &TokenReply) -> String {
    let view = &token.view;
    format!(
        "{} is created: id {}, role {}, for {}, ends {}. It is never shown again.",
        view.name,
        view.id,
        view.role.name(),
        whom(view),
        at(view.expires_at)
    )
}

#[cfg(test)]
mod tests {
    use weir_shared::wire::role::Role;

    use super::*;

    fn view(role: Role, tenant: Option<&str>, prefix: Option<&str>) -> TokenView {
        TokenView {
            id: "AbC-1".to_owned(),
            name: "ci".to_owned(),
            role,
            tenant: tenant.map(str::to_owned),
            prefix: prefix.map(str::to_owned),
            expires_at: None,
            created_at: 0,
            created_by: "ops".to_owned(),
            last_used: Some(1_000),
        }
    }

    #[test]
    fn a_line_a_token() {
        let tokens = [
            view(Role::Viewer, None, None),
            view(Role::Tenant, Some("acme"), None),
            view(Role::Service, None, Some("eu:")),
        ];
        let text = text(&tokens);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(
            lines[1].contains("viewer   all") && lines[1].ends_with("never"),
            "{text}"
        );
        assert!(
            lines[2].contains(" acme ") && lines[3].contains(" eu:… "),
            "{text}"
        );
    }

    #[test]
    fn a_token_ends_days_from_now() {
        let asked = || TokenRequest {
            name: "ci".to_owned(),
            role: Role::Viewer,
            tenant: None,
            prefix: None,
            expires_at: None,
        };
        let end = |days| ending(asked(), days, EpochMs(5)).map(|token| token.expires_at);
        assert_eq!(end(None).unwrap(), None);
        assert_eq!(end(Some(2)).unwrap(), Some(EpochMs(5 + 2 * DAY_MS)));
        assert!(end(Some(u64::MAX)).is_err());
    }

    #[test]
    fn what_is_said_of_a_token_does_not_hold_it() {
        let reply = TokenReply {
            token: "secret".to_owned(),
            view: view(Role::Admin, None, None),
        };
        let said = made(&reply);
        assert!(
            said.contains("id AbC-1") && !said.contains("secret"),
            "{said}"
        );
    }
}
