//! Jain's index of fairness (Jain, Chiu, Hawe: A Quantitative Measure of Fairness and Discrimination for Resource
//! Allocation in Shared Computer Systems, DEC-TR-301, 1984).

/// `(sum x)^2 / (n * sum x^2)`: 1 when all values are equal, `1 / n` when one has everything. `None` of no values, or of
/// zeroes alone.
///
/// ```
/// use weir_accounting::fairness_index::jain;
/// assert_eq!(jain([0.5, 0.5, 0.5].into_iter()), Some(1.0));
/// assert_eq!(jain([1.0, 0.0].into_iter()), Some(0.5));
/// // (1 + 2 + 3)^2 / (3 * (1 + 4 + 9)) = 36 / 42
/// assert_eq!(jain([1.0, 2.0, 3.0].into_iter()), Some(36.0 / 42.0));
/// assert_eq!(jain([].into_iter()), None);
/// ```
#[must_use]
pub fn jain(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for value in values {
        count += 1.0;
        sum += value;
        squares += value * value;
    }
    (squares > 0.0).then(|| sum * sum / (count * squares))
}
