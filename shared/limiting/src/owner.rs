//! On whose account a key is kept. Keys can be invented; whoever may invent them has a part of the room, and no more.

use serde::{Deserialize, Serialize};
use weir_access::grant::Principal;
use weir_algorithms::composite::StateKey;
use weir_core::name::SEPARATOR;
use weir_core::units::HolderId;

/// Who keeps keys, as a short text: a letter for its kind, a colon, and its name.
///
/// ```
/// use weir_limiting::owner::Owner;
/// let text = |owner: Owner| owner.as_str().to_owned();
/// assert_eq!(text(Owner::tenant("acme")), "t:acme");
/// assert_eq!(text(Owner::route("api")), "r:api");
/// assert_ne!(Owner::tenant("203.0.113.9"), Owner::address("203.0.113.9"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Owner(String);

impl Owner {
    /// A tenant.
    #[must_use]
    pub fn tenant(name: &str) -> Self {
        Self(format!("t:{name}"))
    }

    /// Whoever comes from an address, or from a network of them.
    #[must_use]
    pub fn address(name: &str) -> Self {
        Self(format!("a:{name}"))
    }

    /// Whoever has a token, by its id.
    #[must_use]
    pub fn token(id: &str) -> Self {
        Self(format!("c:{id}"))
    }

    /// Whoever has no token of Weir's, by the name that the audit log knows.
    #[must_use]
    pub fn actor(name: &str) -> Self {
        Self(format!("n:{name}"))
    }

    /// All who come by a route of the gateway.
    #[must_use]
    pub fn route(name: &str) -> Self {
        Self(format!("r:{name}"))
    }

    /// An owner as it was stored.
    #[must_use]
    pub fn stored(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Who asks a question, as far as it matters to whose account its keys go.
#[derive(Debug, Clone, Copy)]
pub enum Asking<'a> {
    /// Who was let in at the API.
    Principal(&'a Principal),
    /// Somebody at a route of the gateway.
    Route {
        /// The route.
        name: &'a str,
        /// Whose the place is that the request comes from, where that is known.
        from: Option<&'a Owner>,
        /// Whether somebody other than the client says which tenant it is.
        vouched: bool,
    },
}

/// On whose accounts one key is kept: a smaller one within a larger.
///
/// ```
/// use weir_access::grant::Principal;
/// use weir_limiting::owner::{Account, Asking, Owner};
/// use weir_wire::role::Role;
/// let principal = Principal { token: Some("k1".to_owned()), ..Principal::new("shop", Role::Service) };
/// let by_token = Account::of(Asking::Principal(&principal), Some("acme"), false);
/// assert_eq!((by_token.owner, by_token.caller), (Some(Owner::tenant("acme")), Some(Owner::token("k1"))));
/// // A name in a header is the client's own word.
/// let from = Owner::address("203.0.113.9");
/// let at_route = Asking::Route { name: "api", from: Some(&from), vouched: false };
/// let by_header = Account::of(at_route, Some("acme"), true);
/// assert_eq!((by_header.owner, by_header.caller), (Some(from), Some(Owner::route("api"))));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Whose key it is: a tenant, or an address where nobody vouches for the tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// Who brings it: a token or a route. None for a tenant that the policy names, which no caller invented.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Owner>,
    /// Whether the policy names the tenant.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub named: bool,
    /// Whether the key is the only one of a tenant that the policy names, though nobody vouches for who asks: as many of
    /// those as there are names in the policy can be brought, and no more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only: bool,
}

impl Account {
    /// Nobody's, as in a message of an older version.
    pub const NOBODY: Self = Self {
        owner: None,
        caller: None,
        named: false,
        only: false,
    };

    /// The account of a question for `tenant`, which the policy names or not.
    #[must_use]
    pub fn of(asking: Asking<'_>, tenant: Option<&str>, named: bool) -> Self {
        let tenant = tenant.map(Owner::tenant);
        let (owner, caller) = match asking {
            Asking::Principal(principal) => match &principal.token {
                Some(id) => (tenant, Owner::token(id)),
                None => (tenant, Owner::actor(&principal.actor)),
            },
            Asking::Route {
                name,
                vouched: true,
                ..
            } if tenant.is_some() => (tenant, Owner::route(name)),
            Asking::Route { name, from, .. } => {
                return Self {
                    owner: from.cloned(),
                    caller: Some(Owner::route(name)),
                    ..Self::NOBODY
                };
            }
        };
        let named = named && owner.is_some();
        Self {
            owner,
            caller: (!named).then_some(caller),
            named,
            only: false,
        }
    }

    /// Whether it is nobody's.
    #[must_use]
    pub fn is_nobody(&self) -> bool {
        *self == Self::NOBODY
    }

    /// The account of the only key of a tenant that the policy names.
    #[must_use]
    pub fn of_only_key(&self) -> Self {
        Self {
            only: true,
            ..self.clone()
        }
    }

    /// Whether a key is the only one of a tenant that the policy names: the tenant's name alone.
    #[must_use]
    pub fn is_only_key(&self, key: &str) -> bool {
        let is_owner = |owner: &Owner| *owner == Owner::tenant(key);
        self.only || (self.named && self.owner.as_ref().is_some_and(is_owner))
    }

    /// The owners of it, the smaller one first.
    pub fn owners(&self) -> impl Iterator<Item = &Owner> {
        self.owner.iter().chain(&self.caller)
    }
}

/// The key of all of an owner's keys that have none of their own; without an owner, of all such keys of nobody.
///
/// ```
/// use weir_limiting::owner::{Owner, overflow_key};
/// assert_eq!(overflow_key(Some(&Owner::tenant("acme"))), "\u{1}t:acme");
/// assert_eq!(overflow_key(None), "\u{1}");
/// ```
#[must_use]
pub fn overflow_key(owner: Option<&Owner>) -> String {
    format!("{SEPARATOR}{}", owner.map_or("", Owner::as_str))
}

/// A number for rules as text, which tells them from others in [`by_rules`]. It is part of keys that are stored.
#[must_use]
pub fn print_of(rules: &str) -> u64 {
    HolderId::of_name(rules).0
}

/// Where a key is kept whose place is an overflow: in that of its rules, as keys of different rules that shared a state would
/// be charged by one another's. A tenant's own has its rules alone.
///
/// ```
/// use weir_algorithms::composite::StateKey;
/// use weir_limiting::owner::{Owner, by_rules, overflow_key};
/// let key = |key: String| StateKey { limit: "hourly".to_owned(), key };
/// let asked = key("acme".to_owned());
/// let placed = |owner: Owner, rules| by_rules(key(overflow_key(Some(&owner))), &asked, rules).key;
/// assert_eq!(placed(Owner::route("api"), Some(7)), "\u{1}r:api\u{1}7");
/// assert_eq!(placed(Owner::route("api"), None), "\u{1}r:api");
/// assert_eq!(placed(Owner::tenant("acme"), Some(7)), "\u{1}t:acme");
/// assert_eq!(by_rules(asked.clone(), &asked, Some(7)), asked);
/// ```
#[must_use]
pub fn by_rules(place: StateKey, asked: &StateKey, rules: Option<u64>) -> StateKey {
    let is_tenants = place.key.get(1..).is_some_and(|key| key.starts_with("t:"));
    match rules {
        Some(rules) if place != *asked && !is_tenants => StateKey {
            key: format!("{}{SEPARATOR}{rules:x}", place.key),
            ..place
        },
        _ => place,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_key_is_that_with_the_name_of_a_tenant_that_the_policy_names() {
        let account = |owner: Owner, named| Account {
            owner: Some(owner),
            named,
            ..Account::NOBODY
        };
        let acme = Owner::tenant("acme");
        for (account, key, is_only) in [
            (account(acme.clone(), true), "acme", true),
            (account(acme.clone(), true), "acme:7", false),
            (account(acme.clone(), false), "acme", false),
            (account(Owner::address("acme"), true), "acme", false),
            (Account::NOBODY, "acme", false),
            (account(acme, false).of_only_key(), "acme:7", true),
        ] {
            assert_eq!(account.is_only_key(key), is_only, "{account:?} {key}");
        }
    }
}
