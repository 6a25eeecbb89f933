//! What many measurements say together.

use std::fmt;

/// The median of some measurements, and between which bounds the middle half of them lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// A quarter of them is below.
    pub low: f64,
    /// The median.
    pub median: f64,
    /// A quarter of them is above.
    pub high: f64,
}

impl Spread {
    /// Of at least one measurement; none of them may be NaN.
    ///
    /// # Panics
    /// Without measurements, which would be a table about nothing.
    #[must_use]
    pub fn of(measurements: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = measurements.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        Self {
            low: quantile(&sorted, 0.25),
            median: quantile(&sorted, 0.5),
            high: quantile(&sorted, 0.75),
        }
    }
}

/// `0.97 [0.95 to 0.99]`, with as many decimals as the format says.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(0);
        let Self { low, median, high } = self;
        write!(f, "{median:.digits$} [{low:.digits$} to {high:.digits$}]")
    }
}

/// The value below which that part of the ascending values lies, by the nearest rank.
///
/// # Panics
/// Without values.
#[must_use]
pub fn quantile<T: Copy>(ascending: &[T], part: f64) -> T {
    let rank = (part * ascending.len() as f64).ceil() as usize;
    ascending[rank.clamp(1, ascending.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_half_is_between_the_bounds() {
        let spread = Spread::of([5.0, 1.0, 4.0, 2.0, 3.0, 8.0, 7.0, 6.0]);
        assert_eq!((spread.low, spread.median, spread.high), (2.0, 4.0, 6.0));
        assert_eq!(format!("{spread:.1}"), "4.0 [2.0 to 6.0]");
    }

    #[test]
    fn a_quantile_is_one_of_the_values() {
        let values: Vec<u32> = (1..=1_000).collect();
        let at = |part| quantile(&values, part);
        assert_eq!(
            (at(0.0), at(0.5), at(0.99), at(0.999), at(1.0)),
            (1, 500, 990, 999, 1_000)
        );
        assert_eq!(quantile(&[7], 0.999), 7);
    }
}
