//! Which mutants are tried: a sample that a seed draws, or a part of it.

use super::list::Mutant;

/// The `count` mutants whose names come first in an order that the seed draws: it does not depend on how many there are, so
/// a change of the code changes few of a sample.
pub(super) fn sample(all: &[Mutant], count: usize, seed: u64) -> Vec<Mutant> {
    let ranked = all.iter().map(|mutant| (rank(&mutant.name, seed), mutant));
    let mut drawn: Vec<(u64, &Mutant)> = ranked.collect();
    drawn.sort_unstable_by_key(|(rank, mutant)| (*rank, &mutant.name));
    let drawn = drawn.into_iter().take(count);
    drawn.map(|(_, mutant)| mutant.clone()).collect()
}

/// FNV-1a of the name, mixed with the seed (Vigna's finalizer of SplitMix64).
fn rank(name: &str, seed: u64) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Every `of`-th mutant, from the `index`-th on, counted from 1.
pub(super) fn shard(drawn: Vec<Mutant>, (index, of): (usize, usize)) -> Vec<Mutant> {
    let drawn = drawn.into_iter().skip(index - 1);
    drawn.step_by(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::list::Genre;
    use super::super::list::tests::mutant_of;
    use super::*;

    fn all(count: usize) -> Vec<Mutant> {
        let one = mutant_of("f", Genre::Return, "f", "true");
        let named = |index| Mutant {
            name: format!("shared/src/a.rs:{index}:5: replace f -> bool with true"),
            ..one.clone()
        };
        (0..count).map(named).collect()
    }

    #[test]
    fn a_sample_is_the_same_for_a_seed_and_another_for_another() {
        let all = all(1_000);
        let one = sample(&all, 50, 1);
        assert_eq!(one.len(), 50);
        assert_eq!(one, sample(&all, 50, 1));
        assert_eq!(one[..20], sample(&all, 20, 1)[..]);
        let both = |other: &[Mutant]| one.iter().filter(|one| other.contains(one)).count();
        assert!(both(&sample(&all, 50, 2)) < 15);
        // A mutant more changes one of a sample at most.
        let more = self::all(1_001);
        assert!(both(&sample(&more, 50, 1)) >= 49);
        assert_eq!(sample(&all, 2_000, 1).len(), 1_000);
    }

    #[test]
    fn shards_are_apart_and_are_the_whole_together() {
        let drawn = sample(&all(100), 50, 1);
        let mut together = Vec::new();
        for index in 1..=3 {
            together.extend(shard(drawn.clone(), (index, 3)));
        }
        assert_eq!(together.len(), 50);
        assert!(drawn.iter().all(|one| together.contains(one)));
        assert_eq!(shard(drawn.clone(), (1, 1)), drawn);
    }
}
