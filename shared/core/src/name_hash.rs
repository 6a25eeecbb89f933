//! A fast hash of names, the same everywhere. Whoever likes can find names that share it: it may only decide where to
//! look first.

/// Odd, and without a pattern: the fraction of the golden ratio, as Knuth proposes for multiplicative hashing.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Another such number: the fraction of the square root of two.
const ROOT: u64 = 0x6a09_e667_f3bc_c909;

/// 64 bits that all bytes have a part in.
pub fn hash(bytes: &[u8]) -> u64 {
    let mut hash = folded(bytes.len() as u64 + 1, ROOT);
    if let Some(last) = bytes.last_chunk::<8>() {
        for chunk in bytes.chunks_exact(8) {
            let chunk = chunk.first_chunk::<8>().unwrap_or(last);
            hash = folded(hash ^ u64::from_be_bytes(*chunk), ROOT);
        }
        // Overlaps with what was before where the length is no multiple of eight.
        hash = folded(hash ^ u64::from_be_bytes(*last), ROOT);
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let (first, last) = (u32::from_be_bytes(*first), u32::from_le_bytes(*last));
        let word = u64::from(first) << 32 | u64::from(last);
        hash = folded(hash ^ word, ROOT);
    } else {
        let fold = |word, byte: &u8| word << 8 | u64::from(*byte);
        let word = bytes.iter().fold(0, fold);
        hash = folded(hash ^ word, ROOT);
    }
    folded(hash, GOLDEN)
}

/// The two halves of a product, one upon the other: each bit of what comes out depends on all that went in.
fn folded(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of names that are thrown into twice as many groups of four, those for which there is no room.
    fn crowded(names: impl Iterator<Item = String>) -> usize {
        let mut groups = [0_u8; 4_096];
        let mut crowded = 0;
        for name in names {
            let group = &mut groups[hash(name.as_bytes()) as usize % 4_096];
            *group += 1;
            crowded += usize::from(*group > 4);
        }
        crowded
    }

    #[test]
    fn names_that_differ_little_are_spread_out() {
        let forms: [fn(usize) -> String; 6] = [
            |index| index.to_string(),
            |index| format!("t{index}"),
            |index| format!("tenant-{index}"),
            |index| format!("10.0.{}.{}", index / 256, index % 256),
            |index| format!("{index}-acme-corporation-eu"),
            |index| "x".repeat(index % 40) + &index.to_string(),
        ];
        for form in forms {
            // By chance 3.7% have no room: of a Poisson distribution of mean 2 what is above 4, over 2.
            let crowded = crowded((0..8_192).map(form));
            assert!(crowded < 400, "{}: {crowded}", form(17));
        }
    }
}
