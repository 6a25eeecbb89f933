//! How a probability fades while nobody touches it.

/// `p * exp(-rate_per_s * elapsed_ms / 1000)`: what is left of `p` after so long.
///
/// At the default of 0.01 a second half is left after `ln 2 / 0.01` = 69 seconds, and 5% after 300.
///
/// ```
/// use weir_overload::decay::decayed;
/// assert!((decayed(0.8, 0.01, 69_315) - 0.4).abs() < 1e-5);
/// assert_eq!(decayed(0.8, 0.0, 86_400_000), 0.8);
/// assert_eq!(decayed(0.8, 0.01, 0), 0.8);
/// ```
#[must_use]
pub fn decayed(p: f64, rate_per_s: f64, elapsed_ms: u64) -> f64 {
    if elapsed_ms == 0 || p == 0.0 {
        return p;
    }
    p * libm::exp(-rate_per_s * elapsed_ms as f64 / 1_000.0)
}
