//! How the probabilities of a client's cells become one.

use weir_wire::overload::Final;

/// The probability of all levels together, at most 1; of no level 1.
///
/// With the least, a client is denied for what another did only if they share a bucket in every level; with the mean, a
/// little for each level that they share.
///
/// ```
/// use weir_overload::combine::combined;
/// use weir_wire::overload::Final;
/// assert_eq!(combined(Final::Min, [0.5, 0.25, 0.75].into_iter()), 0.25);
/// assert_eq!(combined(Final::Mean, [0.5, 0.25, 0.75].into_iter()), 0.5);
/// ```
#[must_use]
pub fn combined(rule: Final, levels: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = levels.len();
    match rule {
        Final::Mean if count > 0 => levels.sum::<f64>() / count as f64,
        Final::Min | Final::Mean => levels.fold(1.0, f64::min),
    }
}
