//! What weights are worth in a window, in parts of a unit: fixed-point numbers of 128 bits in which the sum over a
//! million weights is exact.

use weir_core::limits::{JSON_INTEGER_MAX, WINDOW_MS_MAX};

use super::ask::Moment;

/// Bits of a unit's fraction.
const FRACTION_BITS: u32 = 64;

/// Units as parts.
pub(super) fn parts(units: u64) -> u128 {
    u128::from(units) << FRACTION_BITS
}

/// Whole units in `parts`.
pub(super) fn units(parts: u128) -> u64 {
    u64::try_from(parts >> FRACTION_BITS).unwrap_or(u64::MAX)
}

/// What of a limit is still to come at an even pace with `left_ms` left, rounded up, in units of half the fraction's
/// bits: below 2^86.
fn to_come(moment: &Moment, left_ms: u64) -> u128 {
    let limit = u128::from(moment.limit.min(JSON_INTEGER_MAX));
    let window_ms = u128::from(moment.window_ms.clamp(1, WINDOW_MS_MAX));
    let left_ms = u128::from(left_ms).min(window_ms);
    ((limit * left_ms) << (FRACTION_BITS / 2)).div_ceil(window_ms)
}

/// Of so many units of a window, the parts that are still to come at an even pace, rounded up.
pub(super) fn even(units: u64, moment: &Moment) -> u128 {
    if units == 0 {
        return 0;
    }
    let of = Moment {
        limit: units,
        ..*moment
    };
    // Whoever asks at an even pace asks no more in this millisecond than it has asked for now.
    to_come(&of, moment.left_ms.saturating_sub(1)) << (FRACTION_BITS / 2)
}

/// What one micro-unit of weight is worth: parts of the whole window, and of an even pace from now on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Rate {
    pub full: u128,
    pub now: u128,
}

impl Rate {
    /// At `moment`, where weights come to `sum`. With `most`, the members of this rate weigh `most.1` and count as
    /// `most.0` together.
    pub fn at(moment: &Moment, sum: u128, most: Option<(u64, u128)>) -> Self {
        let of = |left_ms| {
            let all = to_come(moment, left_ms);
            let (share, weight) = match most {
                Some((most, weight)) => ((all * u128::from(most)).div_ceil(sum.max(1)), weight),
                None => (all, sum),
            };
            (share << (FRACTION_BITS / 2)).div_ceil(weight.max(1))
        };
        Self {
            full: of(u64::MAX),
            // Whoever asks at an even pace asks no more in this millisecond than it has asked for now.
            now: of(moment.left_ms.saturating_sub(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(left_ms: u64) -> Moment {
        Moment {
            limit: JSON_INTEGER_MAX,
            unlent: 0,
            left_ms,
            window_ms: WINDOW_MS_MAX,
        }
    }

    #[test]
    fn nothing_overflows_at_the_bounds() {
        let most = u128::from(u64::MAX >> 4);
        for left_ms in [0, 1, WINDOW_MS_MAX / 2, WINDOW_MS_MAX, u64::MAX] {
            for sum in [1, 1_000_000, most] {
                let rate = Rate::at(&moment(left_ms), sum, None);
                assert!(rate.now <= rate.full);
                let all = units(rate.full * sum);
                assert!((JSON_INTEGER_MAX..=JSON_INTEGER_MAX + 1).contains(&all));
                let half = Rate::at(&moment(left_ms), sum.max(2), Some((1, sum)));
                assert!(half.full <= rate.full);
            }
        }
    }

    #[test]
    fn in_the_last_millisecond_nothing_more_is_to_come() {
        assert_eq!(Rate::at(&moment(1), 7, None).now, 0);
        assert_eq!(Rate::at(&moment(0), 7, None).now, 0);
    }
}
