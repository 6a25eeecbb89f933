//! One structure: levels of buckets, each a probability and when it was last visited.

use weir_shared::overload::combine::combined;
use weir_shared::overload::decay::decayed;
use weir_shared::units::EpochMs;

use super::config::{Config, Fault};
use crate::murmur3;

#[derive(Debug, Clone, Copy, PartialEq)]
struct Bucket {
    probability: f64,
    visited_at: EpochMs,
}

/// The buckets of all levels, and the seed by which clients are placed.
#[derive(Debug, Clone)]
pub struct Structure {
    config: Config,
    seed: u32,
    buckets: Vec<Bucket>,
}

/// What a request met.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Registered {
    /// The probability with which it is throttled, from 0 to 1.
    pub probability: f64,
    /// Whether it is: the coin is not above the probability.
    pub throttled: bool,
}

impl Structure {
    /// A structure in which every probability is 0.
    ///
    /// # Errors
    ///
    /// The configuration's fault.
    pub fn new(config: Config, seed: u32, now: EpochMs) -> Result<Self, Fault> {
        let config = config.checked()?;
        let fresh = Bucket {
            probability: 0.0,
            visited_at: now,
        };
        let cells = config.levels as usize * config.buckets as usize;
        Ok(Self {
            config,
            seed,
            buckets: vec![fresh; cells],
        })
    }

    /// A structure of the same configuration, as if never used.
    pub(super) fn fresh(&self, seed: u32, now: EpochMs) -> Self {
        let fresh = Bucket {
            probability: 0.0,
            visited_at: now,
        };
        Self {
            config: self.config,
            seed,
            buckets: vec![fresh; self.buckets.len()],
        }
    }

    /// The seed by which clients are placed.
    #[must_use]
    pub fn seed(&self) -> u32 {
        self.seed
    }

    /// A request of `client`; `coin` is uniform in [0, 1).
    pub fn register(&mut self, client: &[u8], coin: f64, now: EpochMs) -> Registered {
        self.visit(client, now, |p| p);
        let probability = self.probability(client);
        Registered {
            probability,
            throttled: coin <= probability,
        }
    }

    /// A request of `client` failed for want of the resource.
    pub fn failure(&mut self, client: &[u8], now: EpochMs) {
        let increase = self.config.increase;
        self.visit(client, now, |p| p + increase);
    }

    /// A request of `client` was served.
    pub fn success(&mut self, client: &[u8], now: EpochMs) {
        let decrease = self.config.decrease;
        self.visit(client, now, |p| p - decrease);
    }

    /// The client's bucket in each level with its probability as of its last visit.
    pub fn read(&self, client: &[u8]) -> impl ExactSizeIterator<Item = (u32, f64)> + '_ {
        let places = Places::of(client, self.seed);
        let buckets = self.config.buckets;
        // The levels are 64 at most, so that every range of a u32 has an exact length.
        (0..self.config.levels as u16).map(move |level| {
            let bucket = places.bucket(u32::from(level), buckets);
            (
                bucket,
                self.buckets[cell(level.into(), bucket, buckets)].probability,
            )
        })
    }

    /// The probability with which the client's next request is throttled, as of the last visits of its buckets.
    #[must_use]
    pub fn probability(&self, client: &[u8]) -> f64 {
        combined(self.config.combine, self.read(client).map(|(_, p)| p))
    }

    fn visit(&mut self, client: &[u8], now: EpochMs, step: impl Fn(f64) -> f64) {
        let places = Places::of(client, self.seed);
        let Config {
            levels,
            buckets,
            decay_per_s,
            ..
        } = self.config;
        for level in 0..levels {
            let index = cell(level, places.bucket(level, buckets), buckets);
            let bucket = &mut self.buckets[index];
            let idle_ms = now.since(bucket.visited_at);
            let left = decayed(bucket.probability, decay_per_s, idle_ms);
            bucket.probability = step(left).clamp(0.0, 1.0);
            bucket.visited_at = bucket.visited_at.max(now);
        }
    }
}

/// A client's buckets by two halves of one hash (Kirsch and Mitzenmacher, 2006): `first + level * second`, modulo the
/// number of buckets.
///
/// ```
/// use weir_reference::compatible::structure::Places;
/// let places = Places::of(b"hello_world", 42);
/// assert_eq!((places.first, places.second), (0xeba5_5b8b, 0xdb28_d62f));
/// assert_eq!([0, 1, 2].map(|level| places.bucket(level, 1_000)), [635, 914, 193]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Places {
    /// The low 32 bits of the hash.
    pub first: u32,
    /// The high 32 bits.
    pub second: u32,
}

impl Places {
    /// The two halves of the first 64 bits of the client's MurmurHash3.
    #[must_use]
    pub fn of(client: &[u8], seed: u32) -> Self {
        let (hash, _) = murmur3::x64_128(client, seed);
        Self {
            first: hash as u32,
            second: (hash >> 32) as u32,
        }
    }

    /// The hash of a level.
    #[must_use]
    pub fn hash(&self, level: u32) -> u32 {
        self.first.wrapping_add(level.wrapping_mul(self.second))
    }

    /// The bucket in a level of so many, which are at least 1.
    #[must_use]
    pub fn bucket(&self, level: u32, buckets: u32) -> u32 {
        self.hash(level) % buckets
    }
}

fn cell(level: u32, bucket: u32, buckets: u32) -> usize {
    level as usize * buckets as usize + bucket as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_shared::wire::overload::Final;

    const NOW: EpochMs = EpochMs(1_700_000_000_000);

    fn structure(combine: Final) -> Structure {
        let config = Config {
            levels: 3,
            buckets: 1_000,
            increase: 0.5,
            decrease: 0.1,
            decay_per_s: 0.01,
            combine,
        };
        Structure::new(config, 42, NOW).unwrap()
    }

    #[test]
    fn a_clock_that_steps_back_empties_no_bucket() {
        let mut structure = structure(Final::Min);
        structure.failure(b"a", NOW);
        let back = EpochMs(NOW.0 - 1);
        assert_eq!(structure.register(b"a", 0.9, back).probability, 0.5);
        let later = structure.register(b"a", 0.9, NOW.plus(69_315));
        assert!((later.probability - 0.25).abs() < 1e-6, "{later:?}");
    }

    #[test]
    fn a_coin_on_the_probability_throttles() {
        for combine in [Final::Min, Final::Mean] {
            let mut structure = structure(combine);
            structure.failure(b"a", NOW);
            for (coin, throttled) in [(0.0, true), (0.5, true), (0.500_001, false)] {
                assert_eq!(structure.register(b"a", coin, NOW).throttled, throttled);
            }
        }
    }
}
