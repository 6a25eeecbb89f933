//! What a structure is made with, checked.

use std::fmt;

use weir_shared::limits::ADVISED_LEVELS_MAX;
use weir_shared::wire::overload::Final;

use crate::limits::COMPATIBLE_CELLS_MAX;

/// The numbers of a structure. Those that are public may be anything: [`Config::checked`] says whether they make one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Levels, from 1 to [`ADVISED_LEVELS_MAX`].
    pub levels: u32,
    /// Buckets of each level, from 1; at most [`COMPATIBLE_CELLS_MAX`] of all levels.
    pub buckets: u32,
    /// What a failure adds to a probability, above 0 and below 1: FAIR refuses 1 itself.
    pub increase: f64,
    /// What a success takes off, above 0 and below the increase.
    pub decrease: f64,
    /// At what rate a probability decays by itself, as the exponent of one second, from 0.
    pub decay_per_s: f64,
    /// How the levels' probabilities become one.
    pub combine: Final,
}

/// Why numbers make no structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No level or no bucket.
    Empty,
    /// More levels or cells than are kept.
    TooLarge,
    /// An increase that is not above 0 and below 1, or a decrease that is not above 0 and at most 1.
    Step,
    /// A success that takes off as much as a failure adds, or more.
    DecreaseNotBelowIncrease,
    /// A decay that is negative or no number.
    Decay,
}

impl Config {
    /// These numbers, if they make a structure.
    ///
    /// # Errors
    ///
    /// The first fault, in the order of [`Fault`].
    pub fn checked(self) -> Result<Self, Fault> {
        let steps = self.increase > 0.0
            && self.increase < 1.0
            && self.decrease > 0.0
            && self.decrease <= 1.0;
        if self.levels == 0 || self.buckets == 0 {
            Err(Fault::Empty)
        } else if self.levels > ADVISED_LEVELS_MAX || self.cells() > COMPATIBLE_CELLS_MAX {
            Err(Fault::TooLarge)
        } else if !steps {
            Err(Fault::Step)
        } else if self.decrease >= self.increase {
            Err(Fault::DecreaseNotBelowIncrease)
        } else if !(self.decay_per_s >= 0.0 && self.decay_per_s.is_finite()) {
            Err(Fault::Decay)
        } else {
            Ok(self)
        }
    }

    fn cells(&self) -> u64 {
        u64::from(self.levels) * u64::from(self.buckets)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Empty => "must have at least one level and one bucket",
            Self::TooLarge => "must not have more levels or cells than are kept",
            Self::Step => "must raise probabilities by more than 0 and less than 1, and lower them by more than 0",
            Self::DecreaseNotBelowIncrease => {
                "must take off less for a success than a failure adds"
            }
            Self::Decay => "must decay at a rate from 0",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Config = Config {
        levels: 3,
        buckets: 1_000,
        increase: 0.04,
        decrease: 0.000_04,
        decay_per_s: 0.01,
        combine: Final::Min,
    };

    #[test]
    fn numbers_that_make_no_structure_are_refused() {
        let steep = Config {
            increase: 0.999_999_9,
            ..GOOD
        };
        for good in [GOOD, steep] {
            assert_eq!(good.checked(), Ok(good));
        }
        let refused = [
            (Config { levels: 0, ..GOOD }, Fault::Empty),
            (Config { buckets: 0, ..GOOD }, Fault::Empty),
            (
                Config {
                    levels: u32::MAX,
                    ..GOOD
                },
                Fault::TooLarge,
            ),
            (
                Config {
                    buckets: u32::MAX,
                    ..GOOD
                },
                Fault::TooLarge,
            ),
            (
                Config {
                    increase: f64::NAN,
                    ..GOOD
                },
                Fault::Step,
            ),
            (
                Config {
                    increase: 1.01,
                    ..GOOD
                },
                Fault::Step,
            ),
            (
                Config {
                    increase: 1.0,
                    ..GOOD
                },
                Fault::Step,
            ),
            (
                Config {
                    increase: 1.0,
                    decrease: 1.0,
                    ..GOOD
                },
                Fault::Step,
            ),
            (
                Config {
                    decrease: 1.0,
                    ..GOOD
                },
                Fault::DecreaseNotBelowIncrease,
            ),
            (
                Config {
                    decrease: 0.0,
                    ..GOOD
                },
                Fault::Step,
            ),
            (
                Config {
                    decrease: 0.04,
                    ..GOOD
                },
                Fault::DecreaseNotBelowIncrease,
            ),
            (
                Config {
                    decay_per_s: -0.01,
                    ..GOOD
                },
                Fault::Decay,
            ),
            (
                Config {
                    decay_per_s: f64::INFINITY,
                    ..GOOD
                },
                Fault::Decay,
            ),
        ];
        for (config, fault) in refused {
            assert_eq!(config.checked(), Err(fault), "{config:?}");
        }
    }
}
