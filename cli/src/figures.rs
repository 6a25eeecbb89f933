//! Figures as text, as the console writes them.

use jiff::Timestamp;
use weir_shared::units::EpochMs;

/// What stands where a figure is not known.
pub const UNKNOWN: &str = "–";

/// The sign of what is less.
const MINUS: char = '\u{2212}';

/// A count with thousands separators, in full.
///
/// ```
/// assert_eq!(weir_cli::figures::count(1_234_567), "1,234,567");
/// ```
#[must_use]
pub fn count(value: u128) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 tenant`, `2 tenants`.
///
/// ```
/// assert_eq!(weir_cli::figures::counted(2, "tenant"), "2 tenants");
/// ```
#[must_use]
pub fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(number.into()))
}

/// A difference with its sign: `+600`, `−600`, `0`.
#[must_use]
pub fn change(before: u128, after: u128) -> String {
    let by = count(before.abs_diff(after));
    match after.cmp(&before) {
        std::cmp::Ordering::Greater => format!("+{by}"),
        std::cmp::Ordering::Less => format!("{MINUS}{by}"),
        std::cmp::Ordering::Equal => by,
    }
}

/// A difference as a part of what was there before: `+60.0%`.
#[must_use]
pub fn change_percent(before: u128, after: u128) -> String {
    if before == 0 {
        return UNKNOWN.to_owned();
    }
    let part = format!(
        "{:.1}%",
        before.abs_diff(after) as f64 * 100.0 / before as f64
    );
    match after.cmp(&before) {
        std::cmp::Ordering::Greater => format!("+{part}"),
        std::cmp::Ordering::Less => format!("{MINUS}{part}"),
        std::cmp::Ordering::Equal => part,
    }
}

/// A rate with one decimal.
#[must_use]
pub fn rate(per_s: f64) -> String {
    let text = format!("{per_s:.1}");
    let (whole, decimal) = text.split_once('.').unwrap_or((&text, "0"));
    match whole.parse() {
        Ok(whole) => format!("{}.{decimal}", count(whole)),
        Err(_) => UNKNOWN.to_owned(),
    }
}

/// A weight, with as many decimals as it has.
#[must_use]
pub fn weight(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// An instant in UTC, to the millisecond where it has any (RFC 3339).
///
/// ```
/// use weir_cli::figures::instant;
/// use weir_shared::units::EpochMs;
/// assert_eq!(instant(EpochMs(0)), "1970-01-01T00:00:00Z");
/// ```
#[must_use]
pub fn instant(at: EpochMs) -> String {
    let ms = i64::try_from(at.0).ok();
    let found = ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    found.map_or_else(|| UNKNOWN.to_owned(), |instant| instant.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_their_sign() {
        for (before, after, by, part) in [
            (1_000, 1_600, "+600", "+60.0%"),
            (1_000, 400, "−600", "−60.0%"),
            (7, 7, "0", "0.0%"),
            (0, 5, "+5", "–"),
            (2_000, 0, "−2,000", "−100.0%"),
        ] {
            assert_eq!(change(before, after), by);
            assert_eq!(change_percent(before, after), part);
        }
    }

    #[test]
    fn rates_and_weights_are_read_at_a_glance() {
        assert_eq!(rate(1_234.56), "1,234.6");
        assert_eq!(rate(f64::NAN), UNKNOWN);
        assert_eq!(weight(4.0), "4");
        assert_eq!(weight(0.5), "0.5");
        assert_eq!(counted(1, "value"), "1 value");
    }

    #[test]
    fn an_instant_that_is_none_is_not_known() {
        assert_eq!(instant(EpochMs(u64::MAX)), UNKNOWN);
        assert_eq!(instant(EpochMs(1_500)), "1970-01-01T00:00:01.5Z");
    }
}
