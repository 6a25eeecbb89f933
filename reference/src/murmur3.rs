//! MurmurHash3 for 64-bit machines with 128 bits (Austin Appleby, `MurmurHash3_x64_128`, public domain).
//!
//! It has no secret: who knows the seed can make two names collide. Only what must agree with another limiter's figures
//! uses it; Weir places clients by [a hash with a secret](weir_shared::overload::placement).

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;
const BLOCK_BYTES: usize = 16;

/// The two halves of the hash of `bytes`, the first one first.
///
/// ```
/// use weir_reference::murmur3::x64_128;
/// assert_eq!(x64_128(b"", 0), (0, 0));
/// assert_eq!(x64_128(b"hello_world", 42).0, 0xdb28_d62f_eba5_5b8b);
/// ```
#[must_use]
pub fn x64_128(bytes: &[u8], seed: u32) -> (u64, u64) {
    let mut h1 = u64::from(seed);
    let mut h2 = u64::from(seed);
    let mut blocks = bytes.chunks_exact(BLOCK_BYTES);
    for block in &mut blocks {
        let (k1, k2) = halves(block);
        h1 ^= scramble(k1, C1, 31, C2);
        h1 = stir(h1, 27, h2, 0x52dc_e729);
        h2 ^= scramble(k2, C2, 33, C1);
        h2 = stir(h2, 31, h1, 0x3849_5ab5);
    }
    // A half without bytes is 0, which scrambles to 0.
    let (k1, k2) = halves(blocks.remainder());
    h2 ^= scramble(k2, C2, 33, C1);
    h1 ^= scramble(k1, C1, 31, C2);
    finish(h1, h2, bytes.len() as u64)
}

/// The first and the second eight bytes, little endian; absent ones are 0.
fn halves(bytes: &[u8]) -> (u64, u64) {
    let mut padded = [0; BLOCK_BYTES];
    padded[..bytes.len()].copy_from_slice(bytes);
    let both = u128::from_le_bytes(padded);
    (both as u64, (both >> 64) as u64)
}

fn scramble(k: u64, first: u64, turn: u32, second: u64) -> u64 {
    k.wrapping_mul(first).rotate_left(turn).wrapping_mul(second)
}

fn stir(h: u64, turn: u32, other: u64, constant: u64) -> u64 {
    let sum = h.rotate_left(turn).wrapping_add(other);
    sum.wrapping_mul(5).wrapping_add(constant)
}

fn finish(mut h1: u64, mut h2: u64, length_bytes: u64) -> (u64, u64) {
    h1 ^= length_bytes;
    h2 ^= length_bytes;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = avalanche(h1);
    h2 = avalanche(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1, h2)
}

fn avalanche(mut k: u64) -> u64 {
    k = (k ^ (k >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    k = (k ^ (k >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text that the reference values are of: so many bytes of 0123456789abcdef, over and over.
    fn digits(length: usize) -> Vec<u8> {
        (b"0123456789abcdef".iter().copied().cycle())
            .take(length)
            .collect()
    }

    #[test]
    fn hashes_are_those_of_the_reference() {
        let known: [(&[u8], u32, u64); 6] = [
            (b"\0", 42, 0x323e_fed3_0b22_6dc8),
            (b"a", u32::MAX, 0xbef3_85fa_ead1_6340),
            (b"client-1", 42, 0x30cb_e9e4_cc63_c40d),
            (b"client_id", u32::MAX, 0xf171_199b_afb0_34e1),
            (b"hello_world", 42, 0xdb28_d62f_eba5_5b8b),
            (&digits(255), u32::MAX, 0x6555_717a_0614_806c),
        ];
        for (bytes, seed, first) in known {
            assert_eq!(x64_128(bytes, seed).0, first, "{bytes:?}");
        }
    }

    #[test]
    fn a_zero_at_the_end_changes_the_hash() {
        for length in 0..40 {
            let zeros = vec![0; length + 1];
            assert_ne!(x64_128(&zeros[..length], 7), x64_128(&zeros, 7), "{length}");
        }
    }
}
