//! Where values and instants are in a chart, and what is written along its edges.

use crate::format::count;
use crate::instant::{TimeZone, day, minute_of_day, time_of_day};

const S_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60 * S_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// What is between two marks along the time.
const TIME_STEPS_MS: [u64; 20] = [
    S_MS,
    5 * S_MS,
    10 * S_MS,
    15 * S_MS,
    30 * S_MS,
    MINUTE_MS,
    2 * MINUTE_MS,
    5 * MINUTE_MS,
    10 * MINUTE_MS,
    15 * MINUTE_MS,
    30 * MINUTE_MS,
    HOUR_MS,
    2 * HOUR_MS,
    3 * HOUR_MS,
    6 * HOUR_MS,
    12 * HOUR_MS,
    DAY_MS,
    2 * DAY_MS,
    7 * DAY_MS,
    14 * DAY_MS,
];

/// One mark at an edge.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Where, of the edge's length: from the left, or from the bottom.
    pub place: f64,
    /// What is written there.
    pub label: String,
}

/// Where a value is between 0 and the largest, of the height: never outside.
pub fn place(value: f64, max: f64) -> f64 {
    if max > 0.0 && value.is_finite() {
        (value / max).clamp(0.0, 1.0)
    } else {
        0.0
    }
}

/// Where an instant is in a span, of its length: never outside.
pub fn time_place(at_ms: u64, (from_ms, to_ms): (u64, u64)) -> f64 {
    let length_ms = to_ms.saturating_sub(from_ms);
    let since_ms = at_ms.saturating_sub(from_ms);
    place(since_ms as f64, length_ms as f64)
}

/// The step between marks: 1, 2 or 5 and zeros, so that no more than `marks` of them reach `max`.
fn step(max: f64, marks: u32) -> f64 {
    let least = max / f64::from(marks.max(1));
    let power = 10.0_f64.powf(least.log10().floor());
    let nice = [1.0, 2.0, 5.0, 10.0];
    let factor = nice
        .into_iter()
        .find(|factor| factor * power >= least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// The upper end of a scale on which values up to `max` are drawn: a whole number of its marks.
///
/// ```
/// use weir_console::chart::scale::nice_max;
/// assert_eq!([0.0, 7.0, 430.0, 1_000.0].map(nice_max), [1.0, 8.0, 600.0, 1_000.0]);
/// ```
pub fn nice_max(max: f64) -> f64 {
    if !max.is_finite() || max <= 0.0 {
        return 1.0;
    }
    let step = step(max, MARKS);
    (max / step * (1.0 - 1e-9)).ceil() * step
}

const MARKS: u32 = 4;

/// The marks of a scale that ends at [`nice_max`].
pub fn ticks(max: f64) -> Vec<Tick> {
    let max = nice_max(max);
    let step = step(max, MARKS);
    let count = (max / step).round() as u32;
    (0..=count)
        .map(|number| Tick {
            place: f64::from(number) / f64::from(count.max(1)),
            label: short(f64::from(number) * step),
        })
        .collect()
}

/// A value in at most three digits and a prefix: `12.3 k`.
///
/// ```
/// use weir_console::chart::scale::short;
/// assert_eq!(short(12_300.0), "12.3 k");
/// assert_eq!(short(0.25), "0.25");
/// ```
pub fn short(value: f64) -> String {
    let prefixes = [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    for (unit, prefix) in prefixes {
        if rounded(value) >= unit {
            return format!("{} {prefix}", digits(value / unit));
        }
    }
    digits(value)
}

/// A value in full, with at most three decimals.
///
/// ```
/// use weir_console::chart::scale::full;
/// assert_eq!([1_234_567.0, 0.98765, 2.5].map(full), ["1,234,567", "0.988", "2.5"]);
/// ```
pub fn full(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
    if decimals.is_empty() {
        whole
    } else {
        format!("{whole}.{decimals}")
    }
}

/// What an interval is called that begins at an instant: its time, and its day where more than a day is shown.
pub fn interval_label(at_ms: u64, span: (u64, u64), step_ms: u64, zone: TimeZone) -> String {
    let time = if step_ms < MINUTE_MS {
        time_of_day(at_ms, zone)
    } else {
        minute_of_day(at_ms, zone)
    };
    let suffix = zone.suffix(at_ms);
    if step_ms >= DAY_MS {
        format!("{} {suffix}", day(at_ms, zone))
    } else if day(span.0, zone) == day(span.1, zone) {
        format!("{time} {suffix}")
    } else {
        format!("{} {time} {suffix}", day(at_ms, zone))
    }
}

/// To three digits, so that 999,960 is a million and not a thousand thousands.
fn rounded(value: f64) -> f64 {
    if value < 1.0 {
        return value;
    }
    let unit = 10.0_f64.powf(value.log10().floor() - 2.0);
    (value / unit).round() * unit * (1.0 + 1e-12)
}

fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 99.95 || size == 0.0 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.1 => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Marks along a span of time, at round times of the zone, no more than `marks` of them.
pub fn time_ticks(span: (u64, u64), zone: TimeZone, marks: u64) -> Vec<Tick> {
    let (from_ms, to_ms) = span;
    let length_ms = to_ms.saturating_sub(from_ms);
    if length_ms == 0 {
        return Vec::new();
    }
    let most = marks.max(1);
    let step_ms = TIME_STEPS_MS
        .into_iter()
        .find(|step_ms| length_ms / step_ms < most)
        .unwrap_or_else(|| length_ms.div_ceil(most).div_ceil(DAY_MS) * DAY_MS);
    // Rounded in the zone's own time, in which days begin at midnight.
    let offset_ms = i64::from(zone.offset_minutes(from_ms)) * MINUTE_MS as i64;
    let local = from_ms as i64 + offset_ms;
    let step = step_ms as i64;
    let mut at = local.div_euclid(step) * step - offset_ms;
    if at < from_ms as i64 {
        at += step;
    }
    let mut found = Vec::new();
    while let Ok(at_ms) = u64::try_from(at)
        && at_ms <= to_ms
    {
        found.push(Tick {
            place: time_place(at_ms, span),
            label: time_label(at_ms, step_ms, zone),
        });
        at += step;
    }
    found
}

fn time_label(at_ms: u64, step_ms: u64, zone: TimeZone) -> String {
    let offset_ms = i64::from(zone.offset_minutes(at_ms)) * MINUTE_MS as i64;
    let midnight = (at_ms as i64 + offset_ms).rem_euclid(DAY_MS as i64) == 0;
    if step_ms >= DAY_MS || midnight {
        day(at_ms, zone)
    } else if step_ms >= MINUTE_MS {
        minute_of_day(at_ms, zone)
    } else {
        time_of_day(at_ms, zone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_ends_at_a_round_number_that_no_value_exceeds() {
        let mut value = 0.000_123;
        while value < 1e16 {
            let max = nice_max(value);
            assert!(
                max >= value * (1.0 - 1e-9) && max <= value * 2.5,
                "{value} {max}"
            );
            let marks = ticks(value);
            assert!((2..=6).contains(&marks.len()), "{value}: {marks:?}");
            assert_eq!((marks[0].place, marks[0].label.as_str()), (0.0, "0"));
            assert_eq!(marks.last().unwrap().place, 1.0);
            assert_eq!(marks.last().unwrap().label, short(max));
            value *= 1.37;
        }
    }

    #[test]
    fn nothing_at_all_has_a_scale_too() {
        for max in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(nice_max(max), 1.0);
            assert_eq!(ticks(max).last().unwrap().label, "1");
        }
    }

    #[test]
    fn marks_are_evenly_spaced_and_named() {
        let labels = |max| {
            ticks(max)
                .into_iter()
                .map(|tick| tick.label)
                .collect::<Vec<_>>()
        };
        assert_eq!(labels(100.0), ["0", "50", "100"]);
        assert_eq!(labels(70.0), ["0", "20", "40", "60", "80"]);
        assert_eq!(labels(1.0), ["0", "0.5", "1"]);
        assert_eq!(labels(3.0), ["0", "1", "2", "3"]);
        assert_eq!(labels(18_000.0), ["0", "5 k", "10 k", "15 k", "20 k"]);
    }

    #[test]
    fn values_are_written_in_three_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.0123, "0.012"),
            (0.5, "0.5"),
            (0.999, "1"),
            (9.994, "9.99"),
            (9.996, "10"),
            (12.34, "12.3"),
            (99.96, "100"),
            (999.4, "999"),
            (999.6, "1 k"),
            (1_000.0, "1 k"),
            (1_234.0, "1.23 k"),
            (999_960.0, "1 M"),
            (2_500_000.0, "2.5 M"),
            (7e9, "7 G"),
            (1e12, "1 T"),
            (3e15, "3 P"),
            (-5.0, "-5"),
        ] {
            assert_eq!(short(value), text, "{value}");
        }
    }

    #[test]
    fn values_in_full_keep_every_digit_before_the_point() {
        for (value, text) in [
            (0.0, "0"),
            (10.0, "10"),
            (1_000.0, "1,000"),
            (12_345.678_9, "12,345.679"),
            (0.000_4, "0"),
            (-1.5, "-1.5"),
            (1e20, "100,000,000,000,000,000,000"),
        ] {
            assert_eq!(full(value), text);
        }
    }

    #[test]
    fn an_interval_is_called_by_what_tells_it_apart() {
        let at = 1_795_336_200_000;
        let utc = TimeZone::UTC;
        let label = |to_ms, step_ms, zone| interval_label(at, (at, to_ms), step_ms, zone);
        assert_eq!(label(at + HOUR_MS, MINUTE_MS, utc), "08:30 UTC");
        assert_eq!(label(at + MINUTE_MS, 1_000, utc), "08:30:00 UTC");
        assert_eq!(label(at + DAY_MS, HOUR_MS, utc), "22 Nov 08:30 UTC");
        assert_eq!(label(at + 90 * DAY_MS, DAY_MS, utc), "22 Nov UTC");
        let india = TimeZone::local(|_| 330);
        assert_eq!(label(at + HOUR_MS, MINUTE_MS, india), "14:00 +05:30");
    }

    #[test]
    fn places_never_leave_the_chart() {
        for (value, max, at) in [
            (5.0, 10.0, 0.5),
            (11.0, 10.0, 1.0),
            (-1.0, 10.0, 0.0),
            (1.0, 0.0, 0.0),
            (f64::NAN, 1.0, 0.0),
            (f64::INFINITY, 1.0, 0.0),
        ] {
            assert_eq!(place(value, max), at);
        }
        assert_eq!(time_place(150, (100, 200)), 0.5);
        assert_eq!(time_place(50, (100, 200)), 0.0);
        assert_eq!(time_place(300, (100, 200)), 1.0);
        assert_eq!(time_place(1, (5, 5)), 0.0);
    }

    #[test]
    fn times_are_marked_at_round_times_of_the_zone() {
        let labels = |length_ms: u64, zone, marks| {
            let span = (1_795_336_212_345, 1_795_336_212_345 + length_ms);
            let ticks = time_ticks(span, zone, marks);
            let inside = ticks.iter().all(|tick| (0.0..=1.0).contains(&tick.place));
            assert!(inside && ticks.len() <= marks as usize, "{ticks:?}");
            ticks.into_iter().map(|tick| tick.label).collect::<Vec<_>>()
        };
        let utc = TimeZone::UTC;
        assert_eq!(labels(HOUR_MS, utc, 4), ["09:00", "09:30"]);
        assert_eq!(labels(15 * MINUTE_MS, utc, 4), ["08:35", "08:40", "08:45"]);
        assert_eq!(
            labels(DAY_MS, utc, 5),
            ["12:00", "18:00", "23 Nov", "06:00"]
        );
        assert_eq!(labels(90 * DAY_MS, utc, 7).len(), 6);
        assert_eq!(labels(60 * S_MS, utc, 6)[0], "08:30:15");
        let west = TimeZone::local(|_| -300);
        assert_eq!(
            labels(DAY_MS, west, 5),
            ["06:00", "12:00", "18:00", "23 Nov"]
        );
        let years = labels(2_000 * DAY_MS, utc, 5);
        assert!((3..=5).contains(&years.len()), "{years:?}");
        assert_eq!(time_ticks((7, 7), utc, 5), []);
    }
}
