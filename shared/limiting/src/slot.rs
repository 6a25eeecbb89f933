//! What the text of a slot of a guard says.

use serde::{Deserialize, Serialize};

/// A slot of a guard, as its holder keeps it. It travels as text with a MAC, so that any isolate can renew and release
/// it and nobody can make one up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// The guard.
    pub guard: String,
    /// Whose it is.
    pub tenant: String,
    /// Where it is held; absent where the call was let through without one, as the guard does not deny or was out of
    /// reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldSlot>,
}

/// Where a slot is held.
///
/// ```
/// use weir_limiting::slot::{HeldSlot, Slot};
/// let slot = |region: Option<&str>| Slot {
///     guard: "queries".to_owned(),
///     tenant: "acme".to_owned(),
///     held: Some(HeldSlot { region: region.map(str::to_owned), id: 7, kept: None }),
/// };
/// let text = |slot| serde_json::to_string(&slot).unwrap();
/// assert_eq!(text(slot(None)), r#"{"guard":"queries","tenant":"acme","held":{"id":7}}"#);
/// assert_eq!(text(slot(Some("weur"))), r#"{"guard":"queries","tenant":"acme","held":{"region":"weur","id":7}}"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldSlot {
    /// The region whose shard holds it; absent where a shard of the whole deployment does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Its number there.
    pub id: u64,
    /// The key under which it is held, where that is not the tenant's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}
