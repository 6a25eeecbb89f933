//! Figures as people read them, in the console and in a terminal: never a digit dropped from a count.

/// What stands where a figure is not known.
pub const UNKNOWN: &str = "–";

/// The sign of what is less.
const MINUS: char = '\u{2212}';

/// A count with thousands separators, in full.
///
/// ```
/// assert_eq!(weir_core::figures::count(1_234_567), "1,234,567");
/// ```
#[must_use]
pub fn count(value: u128) -> String {
    group(&value.to_string())
}

/// `1 tenant`, `2 tenants`, `1,000 tenants`.
///
/// ```
/// assert_eq!(weir_core::figures::counted(2, "tenant"), "2 tenants");
/// ```
#[must_use]
pub fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(number.into()))
}

/// A difference with its sign: `+600`, `−600`, `0`.
#[must_use]
pub fn change(before: u128, after: u128) -> String {
    signed(before, after, count(before.abs_diff(after)))
}

/// A difference as a part of what was there before: `+60.0%`.
#[must_use]
pub fn change_percent(before: u128, after: u128) -> String {
    if before == 0 {
        return UNKNOWN.to_owned();
    }
    let part = before.abs_diff(after) as f64 / before as f64;
    signed(before, after, percent(part))
}

fn signed(before: u128, after: u128, by: String) -> String {
    match after.cmp(&before) {
        std::cmp::Ordering::Greater => format!("+{by}"),
        std::cmp::Ordering::Less => format!("{MINUS}{by}"),
        std::cmp::Ordering::Equal => by,
    }
}

/// A share of one as a percentage with one decimal.
#[must_use]
pub fn percent(fraction: f64) -> String {
    format!("{:.1}%", fraction * 100.0)
}

/// A rate with one decimal, so that the decimal points of a column are under one another.
#[must_use]
pub fn rate(per_s: f64) -> String {
    if !per_s.is_finite() {
        return UNKNOWN.to_owned();
    }
    let text = format!("{per_s:.1}");
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, "0"));
    format!("{}.{decimals}", group(whole))
}

/// A weight, with as many decimals as it has (at most six).
#[must_use]
pub fn weight(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn group(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
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
}
