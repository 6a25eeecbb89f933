//! Numbers that may differ by what two mathematics libraries round differently.

/// How far apart equal numbers may be.
const ABSOLUTE_MAX: f64 = 1e-12;
/// And in parts of themselves, so that small numbers are compared too.
const RELATIVE_MAX: f64 = 1e-9;

/// Below this, a 64-bit float has fewer digits than that.
const SMALLEST: f64 = 1e-290;

pub fn near(a: f64, b: f64) -> bool {
    let apart = (a - b).abs();
    apart <= ABSOLUTE_MAX && apart <= RELATIVE_MAX * a.abs().max(b.abs()).max(SMALLEST)
}

pub fn all_near(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| near(*a, *b))
}

/// The float of sixteen hexadecimal digits.
pub fn from_bits(hex: &str) -> Option<f64> {
    u64::from_str_radix(hex, 16).ok().map(f64::from_bits)
}
