//! Instants as text, and text as instants: epoch milliseconds in UTC or in the browser's own zone. The zone's offset is
//! looked up at each instant, as it changes with the season.

use std::fmt::Write;

const MS_PER_S: i64 = 1_000;
const S_PER_MIN: i64 = 60;
const S_PER_H: i64 = 3_600;
const S_PER_DAY: i64 = 86_400;

/// Instants from here on have a year of five digits, which neither the fields nor the server take.
pub const INSTANT_MS_MAX: u64 = 253_402_300_800_000;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Where the people sit to whom an instant is shown.
#[derive(Debug, Clone, Copy)]
pub struct TimeZone(Option<fn(u64) -> i32>);

impl TimeZone {
    /// The same for everybody.
    pub const UTC: Self = Self(None);

    /// A zone of which is known how many minutes it is ahead of UTC at each instant.
    pub fn local(offset_minutes: fn(u64) -> i32) -> Self {
        Self(Some(offset_minutes))
    }

    /// Whether it is UTC by choice.
    pub fn is_utc(self) -> bool {
        self.0.is_none()
    }

    /// Minutes ahead of UTC at an instant.
    pub fn offset_minutes(self, epoch_ms: u64) -> i32 {
        self.0.map_or(0, |offset_minutes| offset_minutes(epoch_ms))
    }

    /// What stands behind a time: `UTC` or `+01:00`.
    pub fn suffix(self, epoch_ms: u64) -> String {
        if self.is_utc() {
            return "UTC".to_owned();
        }
        let minutes = self.offset_minutes(epoch_ms);
        let sign = if minutes < 0 { '-' } else { '+' };
        let minutes = minutes.unsigned_abs();
        format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }

    fn civil(self, epoch_ms: u64) -> Civil {
        let shift_ms = i64::from(self.offset_minutes(epoch_ms)) * S_PER_MIN * MS_PER_S;
        Civil::of(epoch_ms.min(INSTANT_MS_MAX) as i64 + shift_ms)
    }
}

/// A date and a time of day, in no zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Civil {
    year: i64,
    month: usize,
    day: i64,
    s_of_day: i64,
    ms: i64,
}

impl Civil {
    /// Howard Hinnant's `civil_from_days`: years begin in March, so that the leap day is the last of its year.
    fn of(epoch_ms: i64) -> Self {
        let s = epoch_ms.div_euclid(MS_PER_S);
        let day_number = s.div_euclid(S_PER_DAY) + 719_468;
        let era = day_number.div_euclid(146_097);
        let of_era = day_number.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * of_year + 2) / 153;
        let month = (month_from_march + 2) % 12;
        Self {
            year: year_of_era + era * 400 + i64::from(month < 2),
            month: month as usize,
            day: of_year - (153 * month_from_march + 2) / 5 + 1,
            s_of_day: s.rem_euclid(S_PER_DAY),
            ms: epoch_ms.rem_euclid(MS_PER_S),
        }
    }

    /// Days since 1970-01-01: the inverse of [`Self::of`].
    fn days(&self) -> i64 {
        let year = self.year - i64::from(self.month < 2);
        let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let month_from_march = (self.month as i64 + 10) % 12;
        let of_year = (153 * month_from_march + 2) / 5 + self.day - 1;
        era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
    }

    fn clock(&self) -> (i64, i64, i64) {
        let s = self.s_of_day;
        (s / S_PER_H, s % S_PER_H / S_PER_MIN, s % S_PER_MIN)
    }

    fn date(&self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month + 1, self.day)
    }
}

/// Date, time and zone: `2026-11-22 08:30:05 UTC`.
///
/// ```
/// use weir_console::instant::{TimeZone, date_time};
/// assert_eq!(date_time(1_700_000_000_000, TimeZone::UTC), "2023-11-14 22:13:20 UTC");
/// let berlin = TimeZone::local(|_| 60);
/// assert_eq!(date_time(1_700_000_000_000, berlin), "2023-11-14 23:13:20 +01:00");
/// ```
pub fn date_time(epoch_ms: u64, zone: TimeZone) -> String {
    let civil = zone.civil(epoch_ms);
    let suffix = zone.suffix(epoch_ms);
    format!("{} {} {suffix}", civil.date(), time_of_day(epoch_ms, zone))
}

/// Date and time to the minute, without the zone: what the fields of a range hold.
pub fn date_minute(epoch_ms: u64, zone: TimeZone) -> String {
    format!(
        "{} {}",
        zone.civil(epoch_ms).date(),
        minute_of_day(epoch_ms, zone)
    )
}

/// `08:30:05`.
pub fn time_of_day(epoch_ms: u64, zone: TimeZone) -> String {
    let (h, min, s) = zone.civil(epoch_ms).clock();
    format!("{h:02}:{min:02}:{s:02}")
}

/// `08:30`.
pub fn minute_of_day(epoch_ms: u64, zone: TimeZone) -> String {
    let (h, min, _) = zone.civil(epoch_ms).clock();
    format!("{h:02}:{min:02}")
}

/// `22 Nov`.
pub fn day(epoch_ms: u64, zone: TimeZone) -> String {
    let civil = zone.civil(epoch_ms);
    format!("{} {}", civil.day, MONTHS[civil.month])
}

/// As machines write it: `2026-11-22T08:30:05Z`, with milliseconds where there are any.
pub fn rfc3339(epoch_ms: u64) -> String {
    let civil = TimeZone::UTC.civil(epoch_ms);
    let mut text = format!("{}T{}", civil.date(), time_of_day(epoch_ms, TimeZone::UTC));
    if civil.ms > 0 {
        let _ = write!(text, ".{:03}", civil.ms);
    }
    text.push('Z');
    text
}

/// How long ago, or how far ahead, in its largest unit.
///
/// ```
/// use weir_console::instant::age;
/// assert_eq!(age(1_000, 13_999), "12 s ago");
/// assert_eq!(age(60_000, 0), "in 1 min");
/// ```
pub fn age(at_ms: u64, now_ms: u64) -> String {
    let s = at_ms.abs_diff(now_ms) / MS_PER_S as u64;
    let length = match s {
        0 => return "now".to_owned(),
        1..60 => format!("{s} s"),
        60..3_600 => format!("{} min", s / 60),
        3_600..172_800 => format!("{} h", s / 3_600),
        _ => format!("{} days", s / 86_400),
    };
    if at_ms > now_ms {
        format!("in {length}")
    } else {
        format!("{length} ago")
    }
}

/// The instant that a text says, UTC unless it names an offset: see [`parse_in`].
pub fn parse(text: &str) -> Option<u64> {
    parse_in(text, TimeZone::UTC)
}

/// The instant that a text says: `2026-11-22`, `2026-11-22 08:30`, `2026-11-22T08:30:05.123Z`, `… +01:00`. Without an
/// offset of its own it is in `zone`. None for what is no date, or none that the calendar has.
///
/// ```
/// use weir_console::instant::{TimeZone, parse_in};
/// let berlin = TimeZone::local(|_| 60);
/// assert_eq!(parse_in("2023-11-14 23:13", berlin), Some(1_699_999_980_000));
/// assert_eq!(parse_in("2023-11-14 22:13Z", berlin), Some(1_699_999_980_000));
/// assert_eq!(parse_in("2023-02-29", berlin), None);
/// ```
pub fn parse_in(text: &str, zone: TimeZone) -> Option<u64> {
    let text = text.trim();
    let (date, rest) = match text.split_once(['T', 't', ' ']) {
        Some((date, rest)) => (date, rest.trim_start()),
        None => (text, ""),
    };
    let day_ms = read_date(date)? * S_PER_DAY * MS_PER_S;
    let (clock, offset_minutes) = split_offset(rest)?;
    let ms = day_ms + read_clock(clock)?;
    let ms = match offset_minutes {
        Some(minutes) => ms - minutes * S_PER_MIN * MS_PER_S,
        None => in_zone(ms, zone),
    };
    u64::try_from(ms).ok().filter(|ms| *ms < INSTANT_MS_MAX)
}

/// The offset before and behind a change of the clocks differ: the one that leads back to the same time is right. A time
/// that the clocks skip is taken by the offset before.
fn in_zone(civil_ms: i64, zone: TimeZone) -> i64 {
    let shifted = |at_ms: i64| {
        let at = u64::try_from(at_ms).unwrap_or(0);
        civil_ms - i64::from(zone.offset_minutes(at)) * S_PER_MIN * MS_PER_S
    };
    let before = shifted(civil_ms - S_PER_DAY * MS_PER_S);
    let after = shifted(civil_ms + S_PER_DAY * MS_PER_S);
    if shifted(before) == before {
        before
    } else if shifted(after) == after {
        after
    } else {
        before
    }
}

fn read_date(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let year = digits(parts.next()?, 4)?;
    let month = digits(parts.next()?, 2)?;
    let day = digits(parts.next()?, 2)?;
    if parts.next().is_some() || !(1..=12).contains(&month) || year < 1970 {
        return None;
    }
    let civil = Civil {
        year,
        month: month as usize - 1,
        day,
        s_of_day: 0,
        ms: 0,
    };
    let days = civil.days();
    let same = Civil::of(days * S_PER_DAY * MS_PER_S) == civil;
    same.then_some(days)
}

fn read_clock(text: &str) -> Option<i64> {
    if text.is_empty() {
        return Some(0);
    }
    let mut parts = text.split(':');
    let h = digits(parts.next()?, 2)?;
    let min = digits(parts.next()?, 2)?;
    let (s, ms) = parts.next().map_or(Some((0, 0)), read_seconds)?;
    let fits = parts.next().is_none() && h < 24 && min < 60 && s < 60;
    fits.then_some((h * S_PER_H + min * S_PER_MIN + s) * MS_PER_S + ms)
}

fn read_seconds(text: &str) -> Option<(i64, i64)> {
    let Some((s, fraction)) = text.split_once('.') else {
        return Some((digits(text, 2)?, 0));
    };
    let known = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let ms: String = fraction.chars().chain("00".chars()).take(3).collect();
    Some((digits(s, 2)?, known.then(|| digits(&ms, 3))??))
}

/// The time of day, and the offset in minutes that stands behind it.
fn split_offset(text: &str) -> Option<(&str, Option<i64>)> {
    if let Some(clock) = text.strip_suffix(['Z', 'z']) {
        return Some((clock.trim_end(), Some(0)));
    }
    let Some(place) = text.rfind(['+', '-']) else {
        return Some((text, None));
    };
    let (clock, offset) = text.split_at(place);
    let (h, min) = offset[1..].split_once(':')?;
    let (h, min) = (digits(h, 2)?, digits(min, 2)?);
    let minutes = h * 60 + min;
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    (h < 24 && min < 60).then_some((clock.trim_end(), Some(sign * minutes)))
}

/// A number of exactly so many digits.
fn digits(text: &str, count: usize) -> Option<i64> {
    let fits = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    fits.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Central European time of 2026: an hour ahead, two from 29 March to 25 October, 01:00 UTC each.
    fn berlin(epoch_ms: u64) -> i32 {
        let summer = 1_774_746_000_000..1_792_890_000_000;
        if summer.contains(&epoch_ms) { 120 } else { 60 }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (epoch_ms, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399_000, "2000-02-28 23:59:59 UTC"),
            (951_782_400_000, "2000-02-29 00:00:00 UTC"),
            (951_868_800_000, "2000-03-01 00:00:00 UTC"),
            (1_709_164_800_000, "2024-02-29 00:00:00 UTC"),
            (1_767_225_599_999, "2025-12-31 23:59:59 UTC"),
            (4_107_542_400_000, "2100-03-01 00:00:00 UTC"),
            (253_402_300_799_999, "9999-12-31 23:59:59 UTC"),
        ] {
            assert_eq!(date_time(epoch_ms, TimeZone::UTC), text);
            let minute = &text[..16];
            assert_eq!(date_minute(epoch_ms, TimeZone::UTC), minute);
            assert_eq!(
                parse(&text.replace(" UTC", "Z")),
                Some(epoch_ms / 1_000 * 1_000)
            );
        }
    }

    #[test]
    fn every_day_of_four_centuries_is_read_as_it_is_written() {
        let day_ms = 86_400_000;
        for number in 0..146_097 {
            let at = number * day_ms;
            assert_eq!(parse(&rfc3339(at)), Some(at));
        }
    }

    #[test]
    fn a_local_time_has_the_offset_of_its_own_instant() {
        let zone = TimeZone::local(berlin);
        for (epoch_ms, text) in [
            (1_774_745_999_000, "2026-03-29 01:59:59 +01:00"),
            (1_774_746_000_000, "2026-03-29 03:00:00 +02:00"),
            (1_792_889_999_000, "2026-10-25 02:59:59 +02:00"),
            (1_792_890_000_000, "2026-10-25 02:00:00 +01:00"),
        ] {
            assert_eq!(date_time(epoch_ms, zone), text);
        }
        let west = TimeZone::local(|_| -210);
        assert_eq!(date_time(0, west), "1969-12-31 20:30:00 -03:30");
        assert_eq!(day(1_774_742_400_000, zone), "29 Mar");
        assert_eq!(minute_of_day(1_774_746_000_000, zone), "03:00");
    }

    #[test]
    fn a_local_time_is_read_by_the_offset_that_holds_then() {
        let zone = TimeZone::local(berlin);
        for (text, epoch_ms) in [
            ("2026-03-29 01:59", 1_774_745_940_000),
            ("2026-03-29 03:00", 1_774_746_000_000),
            // Skipped by the clocks: the offset before.
            ("2026-03-29 02:30", 1_774_747_800_000),
            // There twice: the first.
            ("2026-10-25 02:30", 1_792_888_200_000),
            ("2026-10-25 03:30", 1_792_895_400_000),
            ("2026-10-25T03:30+02:00", 1_792_891_800_000),
        ] {
            assert_eq!(parse_in(text, zone), Some(epoch_ms), "{text}");
        }
    }

    #[test]
    fn instants_are_read_in_the_forms_that_people_and_machines_write() {
        for text in [
            "2026-11-22 08:30",
            " 2026-11-22T08:30:00 ",
            "2026-11-22 08:30:00.000Z",
            "2026-11-22 09:30 +01:00",
            "2026-11-22T03:00:00-05:30",
        ] {
            assert_eq!(parse(text), Some(1_795_336_200_000), "{text}");
        }
        assert_eq!(parse("2026-11-22"), Some(1_795_305_600_000));
        assert_eq!(parse("1970-01-01T00:00:00.5Z"), Some(500));
        assert_eq!(rfc3339(500), "1970-01-01T00:00:00.500Z");
        assert_eq!(rfc3339(1_795_336_200_000), "2026-11-22T08:30:00Z");
    }

    #[test]
    fn what_is_no_instant_is_not_read_as_one() {
        for text in [
            "",
            "today",
            "2026",
            "2026-11",
            "26-11-22",
            "2026-13-01",
            "2026-00-10",
            "2026-02-30",
            "2025-02-29",
            "2026-11-00",
            "2026-11-22 24:00",
            "2026-11-22 08:60",
            "2026-11-22 8:30",
            "2026-11-22 08:30:61",
            "2026-11-22 08:30:00.",
            "2026-11-22 08:30:00.x",
            "2026-11-22 08:30 +1",
            "2026-11-22 08:30 +25:00",
            "2026-11-22-01",
            "1969-12-31",
            "+026-11-22",
            "２０２６-11-22",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse_in("1970-01-01", TimeZone::local(berlin)), None);
    }

    #[test]
    fn ages_are_in_their_largest_unit_and_look_both_ways() {
        for (at_ms, now_ms, text) in [
            (5_000, 5_999, "now"),
            (5_000, 4_500, "now"),
            (0, 1_000, "1 s ago"),
            (0, 59_999, "59 s ago"),
            (0, 60_000, "1 min ago"),
            (0, 3_599_999, "59 min ago"),
            (0, 3_600_000, "1 h ago"),
            (0, 172_799_000, "47 h ago"),
            (0, 172_800_000, "2 days ago"),
            (4_000, 0, "in 4 s"),
            (7_200_000, 0, "in 2 h"),
        ] {
            assert_eq!(age(at_ms, now_ms), text);
        }
    }
}
