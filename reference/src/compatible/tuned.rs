//! A configuration for a number of clients.

use weir_shared::overload::tuning::{Untunable, levels_of};
use weir_shared::wire::overload::Final;

use super::config::Config;

/// What a success takes off of what a failure adds.
const DECREASE_OF_INCREASE: f64 = 0.001;

/// After how long structures rotate: for at most so long one client suffers for another.
pub const ROTATE_MS: u64 = 300_000;

const DECAY_PER_S: f64 = 0.01;

/// Why there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Untuned {
    /// No number of levels is advised.
    Levels(Untunable),
    /// A tolerance of fewer than two failures: the first would add 1, which makes no structure.
    Tolerance,
}

/// The configuration for so many clients, that throttles one in full after about `tolerated` failures in a row.
///
/// 25 tolerated failures add `1/25` = 0.04 each; a success takes off a thousandth of that.
///
/// # Errors
///
/// As [`levels_of`], and a tolerance of less than 2.
///
/// ```
/// use weir_reference::compatible::tuned::{Untuned, tuned};
/// // 2,000,000 clients, of whom 2,000 are heavy: ln 0.0001 / ln(1 - 0.999^2,000) = 63.4 levels.
/// let config = tuned(2_000_000, 1_000, 25).unwrap();
/// assert_eq!((config.levels, config.buckets, config.increase), (64, 1_000, 0.04));
/// assert_eq!(tuned(100, 1_000, 1), Err(Untuned::Tolerance));
/// ```
pub fn tuned(clients: u32, buckets: u32, tolerated: u32) -> Result<Config, Untuned> {
    let levels = levels_of(clients, buckets).map_err(Untuned::Levels)?;
    if tolerated < 2 {
        return Err(Untuned::Tolerance);
    }
    let increase = 1.0 / f64::from(tolerated);
    Ok(Config {
        levels,
        buckets,
        increase,
        decrease: DECREASE_OF_INCREASE * increase,
        decay_per_s: DECAY_PER_S,
        combine: Final::Min,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_failures_in_a_row_are_the_fewest_that_can_be_tolerated() {
        let increase = |tolerated| tuned(100, 1_000, tolerated).map(|config| config.increase);
        assert_eq!(
            [0, 1, 2, 4].map(increase),
            [
                Err(Untuned::Tolerance),
                Err(Untuned::Tolerance),
                Ok(0.5),
                Ok(0.25),
            ]
        );
    }
}
