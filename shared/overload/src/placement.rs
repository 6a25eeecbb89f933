//! Where a client lies in a structure of levels of buckets: one bucket a level, independent of those of other levels.
//!
//! A hash of 128 bits is read as a fraction of 1, and its digits in base `buckets` are the buckets. The digits of a
//! uniform fraction are independent: two clients share all `L` of `B` buckets with probability `(1/B)^L` whatever `B`
//! is, which indexes made of two hashes (`h1 + i * h2`) do not reach: for a power of two theirs is `(1/B)^2`.

use std::hash::Hasher;
use std::ops::Deref;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use siphasher::sip128::{Hasher128, SipHasher13};
use weir_core::limits::{OVERLOAD_BUCKETS_MAX, OVERLOAD_CELLS_MAX, OVERLOAD_LEVELS_MAX};

const PURPOSE: &[u8] = b"weir overload placement 1\0";

/// How many levels of how many buckets a structure has: at least 1 of each, and no more than the bounds allow.
///
/// ```
/// use weir_overload::placement::Shape;
/// let shape = Shape::new(3, 1_000).unwrap();
/// assert_eq!((shape.levels(), shape.buckets(), shape.cells()), (3, 1_000, 3_000));
/// assert_eq!(Shape::new(0, 1_000), None);
/// assert_eq!(Shape::new(8, 4_096), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    levels: u8,
    buckets: u16,
}

impl Shape {
    /// The shape; `None` when a number or the product is out of bounds.
    #[must_use]
    pub fn new(levels: usize, buckets: usize) -> Option<Self> {
        let bounded = (1..=OVERLOAD_LEVELS_MAX).contains(&levels)
            && (1..=OVERLOAD_BUCKETS_MAX).contains(&buckets)
            && levels * buckets <= OVERLOAD_CELLS_MAX;
        let levels = u8::try_from(levels).ok()?;
        let buckets = u16::try_from(buckets).ok()?;
        bounded.then_some(Self { levels, buckets })
    }

    /// Levels, from 1.
    #[must_use]
    pub fn levels(self) -> usize {
        usize::from(self.levels)
    }

    /// Buckets of each level, from 1.
    #[must_use]
    pub fn buckets(self) -> usize {
        usize::from(self.buckets)
    }

    /// Cells of all levels together.
    #[must_use]
    pub fn cells(self) -> usize {
        self.levels() * self.buckets()
    }
}

/// The cells of one client, one a level, as indexes into a structure that lists its levels one after the other.
/// They are distinct and rise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cells {
    index: [u16; OVERLOAD_LEVELS_MAX],
    levels: u8,
}

impl Cells {
    /// The cells' indexes, each below [`Shape::cells`].
    pub fn indexes(&self) -> impl Iterator<Item = usize> + '_ {
        self.iter().map(|&index| usize::from(index))
    }
}

impl Deref for Cells {
    type Target = [u16];

    fn deref(&self) -> &[u16] {
        &self.index[..usize::from(self.levels)]
    }
}

/// The secret key by which one structure places its clients.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PlacementKey([u8; 16]);

impl PlacementKey {
    /// The key that is these bytes, which have to be random.
    #[must_use]
    pub fn of(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The key of a resource's rotation period: HMAC-SHA-256 (RFC 2104) of its name and number under the deployment's
    /// secret. Whoever has the secret finds the same key; nobody else can choose a name that collides with another.
    #[must_use]
    pub fn derive(secret: &[u8; 32], resource: &str, period: u64) -> Self {
        // The block of SHA-256: longer than the secret, which RFC 2104 fills up with zeros.
        let mut block = [0; 64];
        block[..secret.len()].copy_from_slice(secret);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(PURPOSE);
        mac.update(&period.to_be_bytes());
        mac.update(resource.as_bytes());
        let tag: [u8; 32] = mac.finalize().into_bytes().into();
        let mut key = [0; 16];
        key.copy_from_slice(&tag[..16]);
        Self(key)
    }

    /// The client's cells, by SipHash-1-3 with 128 bits (Aumasson and Bernstein, 2012). Allocates nothing.
    ///
    /// ```
    /// use weir_overload::placement::{PlacementKey, Shape};
    /// let shape = Shape::new(3, 1_000).unwrap();
    /// let cells = PlacementKey::derive(&[7; 32], "origin", 5_667).place("acme", shape);
    /// assert_eq!(cells.len(), 3);
    /// assert!(cells.indexes().enumerate().all(|(level, cell)| cell / 1_000 == level));
    /// ```
    #[must_use]
    pub fn place(&self, client: &str, shape: Shape) -> Cells {
        let mut hasher = SipHasher13::new_with_key(&self.0);
        hasher.write(client.as_bytes());
        let hash = hasher.finish128();
        digits(hash.h1, hash.h2, shape)
    }
}

/// The first digits, in base `buckets`, of the fraction `(high * 2^64 + low) / 2^128`: what a multiplication carries out
/// is the next digit, what is left of it the rest of the fraction. Half and a quarter in base 10 are 7 and 5:
/// `0.75 * 10 = 7 + 0.5`, `0.5 * 10 = 5`.
fn digits(mut high: u64, mut low: u64, shape: Shape) -> Cells {
    let mut cells = Cells {
        index: [0; OVERLOAD_LEVELS_MAX],
        levels: shape.levels,
    };
    let base = u128::from(shape.buckets);
    let mut first: u16 = 0;
    for index in &mut cells.index[..shape.levels()] {
        let lower = u128::from(low) * base;
        let upper = u128::from(high) * base + (lower >> 64);
        low = lower as u64;
        high = upper as u64;
        // Below `buckets`, as the fraction is below 1; the sum is below OVERLOAD_CELLS_MAX.
        *index = first + (upper >> 64) as u16;
        first += shape.buckets;
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digits_of(high: u64, low: u64, levels: usize, buckets: usize) -> Vec<usize> {
        let cells = digits(high, low, Shape::new(levels, buckets).unwrap());
        cells.indexes().map(|cell| cell % buckets).collect()
    }

    #[test]
    fn cells_are_the_digits_of_the_hash() {
        assert_eq!(digits_of(3 << 62, 0, 3, 10), [7, 5, 0]);
        assert_eq!(digits_of(u64::MAX, u64::MAX, 8, 1_000), [999; 8]);
        assert_eq!(digits_of(0, 0, 8, 1_000), [0; 8]);
    }

    #[test]
    fn levels_of_a_power_of_two_use_disjoint_bits() {
        let hash = 0x0123_4567_89ab_cdef_u64;
        let digits = digits_of(hash, 0xfedc_ba98_7654_3210, 8, 256);
        assert_eq!(digits, [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef]);
    }

    #[test]
    fn a_carry_from_the_lower_half_counts() {
        // 0.1 in base 10, rounded down: all following digits but those beyond the 128 bits are 9 or 0.
        let tenth = u128::MAX / 10 + 1;
        let digits = digits_of((tenth >> 64) as u64, tenth as u64, 8, 10);
        assert_eq!(digits, [1, 0, 0, 0, 0, 0, 0, 0]);
    }
}
