//! Who asks, in an order that is always the same.

/// Marsaglia's xorshift of 64 bits.
pub struct Random(u64);

impl Random {
    pub fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// How often each of many asks.
#[derive(Debug, Clone, Copy)]
pub enum Access {
    /// All alike.
    Uniform,
    /// The one of rank `r` in proportion to `1 / r` (Zipf's law).
    Zipf,
}

impl Access {
    pub const ALL: [Self; 2] = [Self::Uniform, Self::Zipf];

    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Zipf => "Zipf",
        }
    }

    /// So many draws among `count`.
    pub fn draws(self, count: u64, draws: usize) -> Vec<u64> {
        let mut random = Random::new();
        let harmonic = match self {
            Self::Uniform => Vec::new(),
            Self::Zipf => (1..=count)
                .scan(0.0, |sum, rank| {
                    *sum += 1.0 / rank as f64;
                    Some(*sum)
                })
                .collect(),
        };
        let draw = |_| match self {
            Self::Uniform => random.next() % count,
            Self::Zipf => {
                let total = harmonic.last().copied().unwrap_or(1.0);
                let at = (random.next() >> 11) as f64 / (1_u64 << 53) as f64 * total;
                let rank = harmonic.partition_point(|sum: &f64| *sum <= at) as u64;
                // Those who ask most are spread over all: an odd multiple is a permutation of what it is coprime to.
                rank * 7_919 % count
            }
        };
        (0..draws).map(draw).collect()
    }
}
