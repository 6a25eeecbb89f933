//! Cells as they travel: those that are not 0, each with the distance to the one before and its value, as variable-length
//! integers of seven bits a byte (LEB128), the whole in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// Bytes of one cell: two of the distance and ten of the value, at most.
const ENTRY_BYTES_MAX: usize = 12;

/// Packs cells that are given in rising order.
///
/// ```
/// use weir_overload::packed::{pack, unpack};
/// let text = pack([(3, 5), (700, -1)]);
/// assert_eq!(text, "Awq5BQE");
/// assert_eq!(unpack(&text, 1_000), Some(vec![(3, 5), (700, -1)]));
/// ```
#[must_use]
pub fn pack(cells: impl IntoIterator<Item = (u16, i64)>) -> String {
    let mut bytes = Vec::new();
    let mut next = 0;
    for (cell, value) in cells {
        put(&mut bytes, u64::from(cell) - next);
        // Small numbers of either sign become small: 0, -1, 1, -2 are 0, 1, 2, 3.
        put(&mut bytes, ((value << 1) ^ (value >> 63)) as u64);
        next = u64::from(cell);
    }
    STANDARD_NO_PAD.encode(bytes)
}

/// The cells of a text; `None` when it is none of [`pack`], or names a cell that is not below `cells` or not above the
/// one before.
#[must_use]
pub fn unpack(text: &str, cells: usize) -> Option<Vec<(u16, i64)>> {
    if text.len() > cells * ENTRY_BYTES_MAX * 4 / 3 + 4 {
        return None;
    }
    let bytes = STANDARD_NO_PAD.decode(text).ok()?;
    let mut bytes = bytes.as_slice();
    let mut unpacked: Vec<(u16, i64)> = Vec::new();
    while !bytes.is_empty() {
        let distance = take(&mut bytes)?;
        let value = take(&mut bytes)?;
        let before = unpacked.last().map(|&(cell, _)| u64::from(cell));
        let cell = before.unwrap_or(0).checked_add(distance)?;
        if cell >= cells as u64 || before.is_some_and(|before| cell <= before) {
            return None;
        }
        let value = (value >> 1) as i64 ^ -((value & 1) as i64);
        unpacked.push((u16::try_from(cell).ok()?, value));
    }
    Some(unpacked)
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number: u64 = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Bits of a short float's fraction: a value is off by at most one part in 512.
const FRACTION_BITS: u32 = 8;

/// What is added to a short float's exponent of two.
const BIAS: i32 = 64;

/// The nearest short float: a sign, seven bits of exponent and eight of fraction. 0 for what is less than 2^-63, and the
/// largest for what is above 2^63.
///
/// ```
/// use weir_overload::packed::{short, value};
/// assert_eq!(value(short(37.0)), 37.0);
/// assert_eq!(value(short(-0.3)), -0.299_804_687_5);
/// assert_eq!(short(0.0), 0);
/// ```
#[must_use]
pub fn short(value: f64) -> i64 {
    let size = value.abs();
    if size.is_nan() || size < 2.0_f64.powi(1 - BIAS) {
        return 0;
    }
    let size = size.min(2.0_f64.powi(BIAS - 1));
    let exponent = size.log2().floor() as i32;
    let fraction =
        ((size / 2.0_f64.powi(exponent) - 1.0) * f64::from(1 << FRACTION_BITS)).round() as i64;
    // A fraction that is rounded up to 1 makes the exponent one more.
    let code = (i64::from(exponent + BIAS) << FRACTION_BITS) + fraction.max(0);
    if value < 0.0 { -code } else { code }
}

/// The value of a short float; what is none has that of the nearest.
#[must_use]
pub fn value(short: i64) -> f64 {
    let code = short.unsigned_abs().min(0x7fff);
    if code == 0 {
        return 0.0;
    }
    let exponent = (code >> FRACTION_BITS) as i32 - BIAS;
    let fraction = (code & ((1 << FRACTION_BITS) - 1)) as f64 / f64::from(1 << FRACTION_BITS);
    let size = (1.0 + fraction) * 2.0_f64.powi(exponent);
    if short < 0 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_come_back_as_they_were() {
        let cells = vec![(0, i64::MAX), (1, i64::MIN), (8_191, 0), (8_192, -12_345)];
        assert_eq!(unpack(&pack(cells.clone()), 8_193), Some(cells.clone()));
        assert_eq!(
            unpack(&pack(cells), 8_192),
            None,
            "a cell that is not there"
        );
        assert_eq!(unpack("", 10), Some(vec![]));
    }

    #[test]
    fn a_text_that_is_no_list_of_cells_is_refused() {
        for text in ["?", "gA", "AwqAAAA", "//////////////////8", "AA"] {
            assert_eq!(unpack(text, 1_000), None, "{text}");
        }
        let twice = STANDARD_NO_PAD.encode([3, 2, 0, 2]);
        assert_eq!(unpack(&twice, 1_000), None, "a cell that is given twice");
        assert_eq!(
            unpack(&"A".repeat(1_000), 10),
            None,
            "longer than ten cells can be"
        );
    }

    #[test]
    fn a_short_float_is_off_by_at_most_one_part_in_512() {
        for exponent in -60..60 {
            for step in 0..100 {
                let exact = 2.0_f64.powi(exponent) * (1.0 + f64::from(step) / 99.9);
                for exact in [exact, -exact] {
                    let error = (value(short(exact)) / exact - 1.0).abs();
                    assert!(error <= 1.0 / 512.0, "{exact}: {error}");
                }
            }
        }
        assert_eq!(short(f64::NAN), 0);
        assert!(value(short(f64::INFINITY)) > 9e18);
        assert!(value(i64::MAX).is_finite());
    }

    #[test]
    fn a_short_float_is_the_nearest_also_below_a_power_of_two() {
        for (exact, near) in [
            (1.0, 1.0),
            (1.99, 1.988_281_25),
            (1.998_1, 2.0),
            (1.999_9, 2.0),
            (2.01, 2.007_812_5),
            (0.499_9, 0.5),
            (2.0_f64.powi(70), 2.0_f64.powi(63)),
        ] {
            assert_eq!(value(short(exact)), near, "{exact}");
            assert_eq!(value(short(-exact)), -near, "{exact}");
        }
    }
}
