//! The list of tokens.

use std::cmp::Ordering;

use weir_wire::access::TokenView;
use weir_wire::operator::tokens::TokensReply;

use crate::paging::{Paging, SortKey};

/// By what tokens can be sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Their names.
    Name,
    /// What they permit.
    Role,
    /// When they were made.
    CreatedAt,
    /// When they were last used.
    LastUsed,
}

impl SortKey for By {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("name", Self::Name),
        ("role", Self::Role),
        ("created_at", Self::CreatedAt),
        ("last_used", Self::LastUsed),
    ];
    const SERVED: &'static str = "name, role, created_at, last_used";
}

/// One page of the list, searched by name. Names may be equal; ids never are.
#[must_use]
pub fn list(tokens: Vec<TokenView>, paging: &Paging<By>) -> TokensReply {
    let matching = tokens
        .into_iter()
        .filter(|token| paging.matches(&token.name));
    let (tokens, page) = paging.cut(
        matching.collect(),
        |token| token.id.as_str(),
        |by, one, other| -> Ordering {
            match by {
                By::Name => one.name.cmp(&other.name),
                By::Role => one.role.cmp(&other.role),
                By::CreatedAt => one.created_at.cmp(&other.created_at),
                By::LastUsed => one.last_used.cmp(&other.last_used),
            }
        },
    );
    TokensReply { page, tokens }
}
