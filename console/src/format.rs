//! Figures as text: equal widths for equal magnitudes, and never a digit dropped from a count.

use weir_shared::figures;
pub use weir_shared::figures::{UNKNOWN, count, percent, weight};

const MS_PER_S: u64 = 1_000;
const S_PER_MIN: u64 = 60;
const S_PER_H: u64 = 3_600;
const S_PER_DAY: u64 = 86_400;

/// A rate with one decimal, so that the decimal points of a column are under one another.
pub fn rate(per_s: Option<f64>) -> String {
    per_s.map_or_else(|| UNKNOWN.to_owned(), figures::rate)
}

/// A weight, and as what it counts where that is less.
///
/// ```
/// use weir_console::format::counted_weight;
/// assert_eq!((counted_weight(2.0, 2.0), counted_weight(1.0, 0.32)), ("2".into(), "1, counted as 0.32".into()));
/// ```
pub fn counted_weight(own: f64, counts_as: f64) -> String {
    match counts_as < own {
        true => format!("{}, counted as {}", weight(own), weight(counts_as)),
        false => weight(own),
    }
}

/// Why a tenant that the policy does not name counts as less than it weighs.
///
/// ```
/// assert_eq!(weir_console::format::unnamed_bound(8.0), "unnamed tenants weigh at most 8 together");
/// ```
pub fn unnamed_bound(bound: f64) -> String {
    format!("unnamed tenants weigh at most {} together", weight(bound))
}

/// A length of time in its two largest units, the smaller one rounded down.
pub fn duration(ms: u64) -> String {
    let s = ms / MS_PER_S;
    if s < S_PER_MIN {
        format!("{s} s")
    } else if s < S_PER_H {
        format!("{} min {:02} s", s / S_PER_MIN, s % S_PER_MIN)
    } else if s < S_PER_DAY {
        format!("{} h {:02} min", s / S_PER_H, s % S_PER_H / S_PER_MIN)
    } else {
        format!("{} d {:02} h", s / S_PER_DAY, s % S_PER_DAY / S_PER_H)
    }
}

/// A length of time that was chosen, exactly: `1 min`, `90 s`, `250 ms`.
///
/// ```
/// use weir_console::format::length;
/// assert_eq!((length(60_000), length(90_000), length(250)), ("1 min".into(), "90 s".into(), "250 ms".into()));
/// ```
pub fn length(ms: u64) -> String {
    let units = [
        (S_PER_DAY * MS_PER_S, "d"),
        (S_PER_H * MS_PER_S, "h"),
        (S_PER_MIN * MS_PER_S, "min"),
        (MS_PER_S, "s"),
    ];
    let fits = |(unit_ms, _): &(u64, &str)| ms >= *unit_ms && ms.is_multiple_of(*unit_ms);
    match units.into_iter().find(fits) {
        Some((unit_ms, unit)) => format!("{} {unit}", count((ms / unit_ms).into())),
        None => format!("{} ms", count(ms.into())),
    }
}

/// A length of time as people type it, in milliseconds: numbers each with a unit, or a bare number of milliseconds. None
/// for what is none, or is no whole number of milliseconds.
///
/// ```
/// use weir_console::format::{length, parse_length};
/// assert_eq!(parse_length("1 min"), Some(60_000));
/// assert_eq!(parse_length("1 h 30 min"), Some(5_400_000));
/// assert_eq!(parse_length("0.5s"), Some(500));
/// assert_eq!(parse_length("2 parsecs"), None);
/// assert_eq!(parse_length(&length(90_000)), Some(90_000));
/// ```
pub fn parse_length(text: &str) -> Option<u64> {
    let mut rest = text.trim();
    let mut sum_ms = 0.0_f64;
    let mut parts = 0;
    while !rest.is_empty() {
        let digits = |one: char| one.is_ascii_digit() || matches!(one, '.' | ',' | '_');
        let number_ends = rest.find(|one| !digits(one)).unwrap_or(rest.len());
        let number: f64 = rest[..number_ends].replace([',', '_'], "").parse().ok()?;
        rest = rest[number_ends..].trim_start();
        let unit_ends = rest
            .find(|one: char| !one.is_alphabetic())
            .unwrap_or(rest.len());
        let unit_ms = match (&*rest[..unit_ends].to_lowercase(), parts) {
            // A bare number stands alone.
            ("", 0) if rest.is_empty() => 1.0,
            ("ms", _) => 1.0,
            ("s" | "sec" | "second" | "seconds", _) => 1e3,
            ("min" | "m" | "minute" | "minutes", _) => 6e4,
            ("h" | "hour" | "hours", _) => 3.6e6,
            ("d" | "day" | "days", _) => 8.64e7,
            _ => return None,
        };
        sum_ms += number * unit_ms;
        rest = rest[unit_ends..].trim_start();
        parts += 1;
    }
    let whole = parts > 0 && sum_ms.fract() == 0.0 && sum_ms <= 9_007_199_254_740_991.0;
    whole.then_some(sum_ms as u64)
}

/// A fairness index, 0 to 1, with three decimals.
pub fn index(value: Option<f64>) -> String {
    match value {
        Some(value) if value.is_finite() => format!("{value:.3}"),
        _ => UNKNOWN.to_owned(),
    }
}

/// `1 tenant`, `2 tenants`, `1,000 tenants`.
pub fn counted(number: usize, noun: &str) -> String {
    figures::counted(number as u64, noun)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_keep_every_digit() {
        for (value, text) in [
            (0, "0"),
            (7, "7"),
            (999, "999"),
            (1_000, "1,000"),
            (12_345, "12,345"),
            (9_007_199_254_740_993, "9,007,199,254,740,993"),
            (
                u128::MAX,
                "340,282,366,920,938,463,463,374,607,431,768,211,455",
            ),
        ] {
            assert_eq!(count(value), text);
        }
    }

    #[test]
    fn rates_have_one_decimal() {
        for (per_s, text) in [
            (None, "–"),
            (Some(f64::NAN), "–"),
            (Some(0.0), "0.0"),
            (Some(0.04), "0.0"),
            (Some(0.96), "1.0"),
            (Some(12.34), "12.3"),
            (Some(999.96), "1,000.0"),
            (Some(1_234_567.89), "1,234,567.9"),
        ] {
            assert_eq!(rate(per_s), text, "{per_s:?}");
        }
    }

    #[test]
    fn weights_have_the_decimals_they_need() {
        for (value, text) in [
            (4.0, "4"),
            (0.5, "0.5"),
            (1.25, "1.25"),
            (0.000_001, "0.000001"),
            (100.0, "100"),
        ] {
            assert_eq!(weight(value), text);
        }
    }

    #[test]
    fn shares_are_percentages() {
        for (fraction, text) in [(0.0, "0.0%"), (0.1234, "12.3%"), (1.0, "100.0%")] {
            assert_eq!(percent(fraction), text);
        }
    }

    #[test]
    fn durations_have_two_units() {
        for (ms, text) in [
            (0, "0 s"),
            (999, "0 s"),
            (1_000, "1 s"),
            (59_999, "59 s"),
            (60_000, "1 min 00 s"),
            (125_000, "2 min 05 s"),
            (3_600_000, "1 h 00 min"),
            (86_399_999, "23 h 59 min"),
            (90_000_000, "1 d 01 h"),
        ] {
            assert_eq!(duration(ms), text);
        }
    }

    #[test]
    fn lengths_are_exact() {
        for (ms, text) in [
            (0, "0 ms"),
            (1, "1 ms"),
            (1_000, "1 s"),
            (1_500, "1,500 ms"),
            (3_600_000, "1 h"),
            (5_400_000, "90 min"),
            (86_400_000, "1 d"),
            (90_000_000, "25 h"),
        ] {
            assert_eq!(length(ms), text);
        }
    }

    #[test]
    fn lengths_are_read_as_they_are_written() {
        for ms in [
            0, 1, 250, 1_000, 1_500, 60_000, 90_000, 3_600_000, 86_400_000, 90_000_000,
        ] {
            assert_eq!(parse_length(&length(ms)), Some(ms));
        }
        for (text, ms) in [
            ("30000", Some(30_000)),
            (" 30,000 ", Some(30_000)),
            ("1m", Some(60_000)),
            ("1 day 2 hours", Some(93_600_000)),
            ("1.5 min", Some(90_000)),
            ("0.5", None),
            ("0.0001 s", None),
            ("", None),
            ("min", None),
            ("1 min 30", None),
            ("1 x", None),
            ("-1 s", None),
            ("1e3", None),
            ("1 d 99999999999999 d", None),
        ] {
            assert_eq!(parse_length(text), ms, "{text:?}");
        }
    }

    #[test]
    fn indices_have_three_decimals() {
        for (value, text) in [
            (None, "–"),
            (Some(f64::NAN), "–"),
            (Some(0.0), "0.000"),
            (Some(0.98765), "0.988"),
            (Some(1.0), "1.000"),
        ] {
            assert_eq!(index(value), text);
        }
    }

    #[test]
    fn nouns_agree_with_numbers() {
        for (number, text) in [
            (0, "0 tenants"),
            (1, "1 tenant"),
            (2, "2 tenants"),
            (1_500, "1,500 tenants"),
        ] {
            assert_eq!(counted(number, "tenant"), text);
        }
    }
}
