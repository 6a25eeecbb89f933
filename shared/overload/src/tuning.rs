//! How many levels keep innocent clients apart from heavy ones.

use std::fmt;

use weir_core::limits::ADVISED_LEVELS_MAX;

/// The fewest levels that are advised: one that is shared by accident still leaves two.
pub const LEVELS_MIN: u32 = 3;

/// One in so many clients is expected to be heavy.
const CLIENTS_PER_HEAVY: f64 = 0.001;

/// With what probability an innocent client may be covered by heavy ones.
const COVERED: f64 = 0.000_1;

/// Why no number of levels is advised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Untunable {
    /// A probability that is not above 0 and below 1.
    Probability,
    /// Levels without buckets.
    NoBuckets,
    /// So many are heavy that every bucket is covered, up to rounding: no number of levels helps.
    Covered,
    /// It would take more than [`ADVISED_LEVELS_MAX`].
    TooManyLevels {
        /// So many.
        levels: f64,
    },
}

/// The levels of `buckets` each at which an innocent client shares all of its buckets with some of `heavy` others with
/// at most the probability `p`: `ln p / ln(1 - (1 - 1/buckets)^heavy)`, rounded up, and at least [`LEVELS_MIN`] (Feng
/// et al., "Stochastic Fair Blue", INFOCOM 2001).
///
/// 100 heavy clients cover `1 - (511/512)^100` = 17.8% of 512 buckets: all of 4 levels with probability `0.178^4` =
/// 0.1%, and `ln 0.001 / ln 0.178` = 3.998.
///
/// ```
/// use weir_overload::tuning::{Untunable, levels_for};
/// assert_eq!(levels_for(512, 100, 0.001), Ok(4));
/// assert_eq!(levels_for(1_000, 1, 0.000_1), Ok(3));
/// assert_eq!(levels_for(64, 5_000, 0.000_1), Err(Untunable::Covered));
/// assert!(matches!(levels_for(500, 10_000, 0.000_1), Err(Untunable::TooManyLevels { .. })));
/// ```
///
/// # Errors
///
/// A probability outside (0, 1), no buckets, or numbers that no reasonable number of levels serves.
pub fn levels_for(buckets: u32, heavy: u32, p: f64) -> Result<u32, Untunable> {
    let levels = exact_levels(buckets, heavy, p)?.ceil();
    if levels > f64::from(ADVISED_LEVELS_MAX) {
        return Err(Untunable::TooManyLevels { levels });
    }
    Ok((levels as u32).max(LEVELS_MIN))
}

/// The same before rounding, from 0.
///
/// # Errors
///
/// As [`levels_for`], but however many they are.
pub fn exact_levels(buckets: u32, heavy: u32, p: f64) -> Result<f64, Untunable> {
    if !(p > 0.0 && p < 1.0) {
        return Err(Untunable::Probability);
    }
    if buckets == 0 {
        return Err(Untunable::NoBuckets);
    }
    let covered = 1.0 - libm::pow(1.0 - 1.0 / f64::from(buckets), f64::from(heavy));
    if covered >= 1.0 {
        return Err(Untunable::Covered);
    }
    Ok(libm::log(p) / libm::log(covered))
}

/// How many of `clients` are expected to be heavy: one in a thousand, rounded up.
///
/// ```
/// use weir_overload::tuning::heavy_of;
/// assert_eq!([1, 1_000, 1_001].map(heavy_of), [1, 1, 2]);
/// ```
#[must_use]
pub fn heavy_of(clients: u32) -> u32 {
    (f64::from(clients) * CLIENTS_PER_HEAVY).ceil() as u32
}

/// The levels of `buckets` each for so many clients, at which one of them that is not heavy shares all of its buckets with
/// heavy ones with a probability of 1 in 10,000 at most.
///
/// ```
/// use weir_overload::tuning::levels_of;
/// // 300 of 300,000 are heavy: ln 0.0001 / ln(1 - 0.999^300) = 6.8.
/// assert_eq!(levels_of(300_000, 1_000), Ok(7));
/// ```
///
/// # Errors
///
/// As [`levels_for`].
pub fn levels_of(clients: u32, buckets: u32) -> Result<u32, Untunable> {
    levels_for(buckets, heavy_of(clients), COVERED)
}

impl fmt::Display for Untunable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Probability => out.write_str("must be a probability above 0 and below 1"),
            Self::NoBuckets => out.write_str("must have buckets"),
            Self::Covered => out.write_str("must have more buckets: all of them would be covered"),
            Self::TooManyLevels { levels } => {
                write!(out, "must have more buckets: it would take {levels} levels")
            }
        }
    }
}
