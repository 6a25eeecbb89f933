//! The keys of limits: how tenant and key make one, and which shard of a region keeps it.

use weir_core::limits::KEY_SHARDS;
use weir_core::name::SEPARATOR;
use weir_core::units::HolderId;
use weir_overload::placement::{PlacementKey, Shape};
use weir_wire::shard_key::ShardKey;

/// The shard that keeps a key: chosen by its tenant where each tenant has its own keys, else by the key, whatever the
/// limit. So the keys of one tenant, and several limits on one key, lie together and are charged in one step.
///
/// Without a secret, as in a deployment whose registry has none, anyone can tell which keys lie together.
///
/// ```
/// use weir_limiting::key::shard;
/// use weir_wire::shard_key::ShardKey;
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
    let cells = level.map(|level| PlacementKey::of(secret.bytes()).place(part, level));
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
