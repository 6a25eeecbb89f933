//! The keys of limits: how tenant and key make one, and which shard of a region keeps it.

use serde::{Deserialize, Serialize};

use crate::limits::KEY_SHARDS;
use crate::overload::placement::{PlacementKey, Shape};
use crate::units::HolderId;

/// Stands between tenant and key, and before the owner in the key of what that owner has too many of: no name that a
/// request brings contains a control character.
pub const SEPARATOR: char = '\u{1}';

/// The key under which a state is kept: the tenant alone where each has one and no key was given.
///
/// ```
/// use weir_shared::limiting::key::full_key;
/// assert_eq!(full_key(None, "203.0.113.9"), "203.0.113.9");
/// assert_eq!(full_key(Some("acme"), "login"), "acme\u{1}login");
/// assert_eq!(full_key(Some("acme"), ""), "acme");
/// ```
#[must_use]
pub fn full_key(tenant: Option<&str>, key: &str) -> String {
    match tenant {
        Some(tenant) if key.is_empty() => tenant.to_owned(),
        Some(tenant) => format!("{tenant}{SEPARATOR}{key}"),
        None => key.to_owned(),
    }
}

/// The name under which a meter's states are kept: no limit of the policy has it.
///
/// ```
/// use weir_shared::limiting::key::meter_name;
/// assert_eq!(meter_name("results"), "meter\u{1}results");
/// ```
#[must_use]
pub fn meter_name(name: &str) -> String {
    format!("meter{SEPARATOR}{name}")
}

/// The name under which a guard's states are kept: no limit of the policy has it.
///
/// ```
/// use weir_shared::limiting::key::guard_name;
/// assert_eq!(guard_name("queries"), "guard\u{1}queries");
/// ```
#[must_use]
pub fn guard_name(name: &str) -> String {
    format!("guard{SEPARATOR}{name}")
}

/// The secret by which shards are chosen: without it nobody can tell which keys lie together. As text 32 hexadecimal
/// digits.
///
/// ```
/// use weir_shared::limiting::key::ShardKey;
/// let key = ShardKey::new([7; 16]);
/// let text = serde_json::to_string(&key).unwrap();
/// assert_eq!(text, format!("\"{}\"", "07".repeat(16)));
/// assert_eq!(serde_json::from_str::<ShardKey>(&text).unwrap(), key);
/// assert!(serde_json::from_str::<ShardKey>("\"07\"").is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ShardKey([u8; 16]);

impl ShardKey {
    /// The secret that is these bytes, which have to be random.
    #[must_use]
    pub fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl std::fmt::Debug for ShardKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ShardKey")
    }
}

impl From<ShardKey> for String {
    fn from(key: ShardKey) -> Self {
        format!("{:032x}", u128::from_be_bytes(key.0))
    }
}

/// A text that is no [`ShardKey`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoShardKey;

impl std::fmt::Display for NoShardKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("not 32 hexadecimal digits")
    }
}

impl TryFrom<String> for ShardKey {
    type Error = NoShardKey;

    fn try_from(text: String) -> Result<Self, NoShardKey> {
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bytes = digits.then(|| u128::from_str_radix(&text, 16).ok());
        let bytes = bytes.flatten().ok_or(NoShardKey)?;
        Ok(Self(bytes.to_be_bytes()))
    }
}

/// The shard that keeps a key: chosen by its tenant where each tenant has its own keys, else by the key, whatever the
/// limit. So the keys of one tenant, and several limits on one key, lie together and are charged in one step.
///
/// Without a secret, as in a deployment whose registry has none, anyone can tell which keys lie together.
///
/// ```
/// use weir_shared::limiting::key::{ShardKey, shard};
/// for secret in [None, Some(ShardKey::new([7; 16]))] {
///     assert_eq!(shard("acme\u{1}login", secret), shard("acme\u{1}search", secret));
///     assert_eq!(shard("acme\u{1}login", secret), shard("acme", secret));
/// }
/// ```
#[must_use]
pub fn shard(full_key: &str, secret: Option<ShardKey>) -> u32 {
    let part = full_key.split(SEPARATOR).next().unwrap_or_default();
    match secret {
        Some(secret) => keyed(part, secret),
        None => unkeyed(part),
    }
}

/// By SipHash-1-3: the first digit, in base [`KEY_SHARDS`], of the hash as a fraction of 1.
fn keyed(part: &str, secret: ShardKey) -> u32 {
    let level = Shape::new(1, KEY_SHARDS as usize);
    let cells = level.map(|level| PlacementKey::of(secret.0).place(part, level));
    let cell = cells.and_then(|cells| cells.first().copied());
    cell.map_or(0, u32::from)
}

fn unkeyed(part: &str) -> u32 {
    // FNV-1a mixes its last bytes little: fold, multiply by an odd constant (2^64 / the golden ratio; Knuth, The Art of
    // Computer Programming, volume 3, section 6.4), and take the top bits.
    let hash = HolderId::of_name(part).0;
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (((mixed >> 32) * u64::from(KEY_SHARDS)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_much_alike_spread_evenly() {
        for secret in [None, Some(ShardKey::new([7; 16]))] {
            for form in ["key", "k", "203.0.113.", "user-000"] {
                let mut counts = [0_u32; KEY_SHARDS as usize];
                for number in 0..4_000 {
                    counts[shard(&format!("{form}{number}"), secret) as usize] += 1;
                }
                let even = 4_000 / KEY_SHARDS;
                let near = |count: &u32| count.abs_diff(even) < even / 5;
                assert!(counts.iter().all(near), "{form}: {counts:?}");
            }
        }
    }

    /// Keys that were chosen for one shard are spread by a secret that whoever chose them does not know.
    #[test]
    fn keys_cannot_be_aimed_at_a_shard() {
        let aimed = (0..).map(|number| format!("key{number}"));
        let aimed: Vec<_> = aimed
            .filter(|key| shard(key, None) == 2)
            .take(4_000)
            .collect();
        let secret = Some(ShardKey::new([7; 16]));
        let hit = aimed.iter().filter(|key| shard(key, secret) == 2).count();
        assert!((800..1_200).contains(&hit), "{hit} of 4,000");
    }
}
