//! The keys of limits: how tenant and key make one, and which shard of a region keeps it.

use crate::limits::KEY_SHARDS;
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

/// The shard that keeps a key: chosen by its tenant where each tenant has its own keys, else by the key, whatever the
/// limit. So the keys of one tenant, and several limits on one key, lie together and are charged in one step.
///
/// ```
/// use weir_shared::limiting::key::shard;
/// assert_eq!(shard("acme\u{1}login"), shard("acme\u{1}search"));
/// assert_eq!(shard("acme\u{1}login"), shard("acme"));
/// ```
#[must_use]
pub fn shard(full_key: &str) -> u32 {
    let part = full_key.split(SEPARATOR).next().unwrap_or_default();
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
        for form in ["key", "k", "203.0.113.", "user-000"] {
            let mut counts = [0_u32; KEY_SHARDS as usize];
            for number in 0..4_000 {
                counts[shard(&format!("{form}{number}")) as usize] += 1;
            }
            let even = 4_000 / KEY_SHARDS;
            let near = |count: &u32| count.abs_diff(even) < even / 5;
            assert!(counts.iter().all(near), "{form}: {counts:?}");
        }
    }
}
