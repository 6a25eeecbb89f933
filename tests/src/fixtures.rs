//! Policies and names.

use serde_json::{Value, json};
use weir_shared::wire::access::TokenRequest;
use weir_shared::wire::role::Role;

/// The budget of [`policy`].
pub const BUDGET: &str = "tokens";

/// The limit of [`policy`].
pub const LIMIT: &str = "per_ip";

/// `printf %s key-of-acme | sha256sum`
pub const KEY_OF_ACME: &str = "689febd264f8b977e29c0fdb75f839eb248ba07d1561b14f2b95f42756943245";

/// A token that is bound to nobody and does not expire.
pub fn token_request(name: &str, role: Role) -> TokenRequest {
    TokenRequest {
        name: name.to_owned(),
        role,
        tenant: None,
        prefix: None,
        expires_at: None,
    }
}

/// A policy with one global `first_come` budget and one regional gcra limit of 100 a minute in bursts of 20.
pub fn policy(limit: u64, window_ms: u64) -> Value {
    json!({
        "enforcing": true,
        "regions": ["wnam", "enam", "weur", "eeur", "apac", "oc"],
        "home": "enam",
        "tiers": { "enterprise": { "weight": 4 }, "pro": { "weight": 2 }, "free": { "weight": 1 } },
        "tier_rules": [
            { "prefix": "enterprise:", "tier": "enterprise" },
            { "prefix": "pro:", "tier": "pro" },
            { "prefix": "free:", "tier": "free" }
        ],
        "default_tier": "free",
        // The origins of the tests are on this machine.
        "allow_private_origins": true,
        "budgets": { BUDGET: { "limit": limit, "window_ms": window_ms, "sharing": "first_come", "scope": "global" } },
        "limits": { LIMIT: gcra(100, 60_000, 20) }
    })
}

/// A regional gcra limit that is not per tenant.
pub fn gcra(limit: u64, period_ms: u64, burst: u64) -> Value {
    json!({ "algorithm": "gcra", "limit": limit, "period_ms": period_ms, "burst": burst, "scope": "region", "per_tenant": false })
}

/// The document with the value at a JSON pointer replaced or, below an existing object, added.
///
/// # Panics
/// When the pointer leads nowhere: a test that changes nothing would prove nothing.
pub fn with(mut document: Value, pointer: &str, value: Value) -> Value {
    let (parent, name) = pointer
        .rsplit_once('/')
        .expect("a JSON pointer begins with a slash");
    match document.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            members.insert(name.to_owned(), value);
        }
        Some(Value::Array(items)) => {
            items[name.parse::<usize>().expect("an index into the array")] = value
        }
        _ => panic!("{parent} is neither an object nor an array"),
    }
    document
}

/// The document without the member at a JSON pointer.
///
/// # Panics
/// When there is no such member.
pub fn without(mut document: Value, pointer: &str) -> Value {
    let (parent, name) = pointer
        .rsplit_once('/')
        .expect("a JSON pointer begins with a slash");
    let members = document
        .pointer_mut(parent)
        .and_then(Value::as_object_mut)
        .expect("an object");
    members.remove(name).expect("the member to remove");
    document
}
