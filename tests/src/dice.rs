//! Numbers that come again with their seed, so that a run can be played again.

/// A xorshift generator (Marsaglia 2003). Its seed is not 0.
#[derive(Debug, Clone)]
pub struct Dice(pub u64);

impl Dice {
    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // The lower bits are the poorer ones.
        (self.0 >> 11) % bound
    }

    /// One of them.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_each_is_below_its_bound() {
        let rolls = |seed| {
            let mut dice = Dice(seed);
            (0..1_000).map(|_| dice.below(6)).collect::<Vec<_>>()
        };
        assert_eq!(rolls(7), rolls(7));
        assert_ne!(rolls(7), rolls(8));
        assert!((0..6).all(|side| rolls(7).contains(&side)));
        assert!(rolls(7).iter().all(|roll| *roll < 6));
    }
}
