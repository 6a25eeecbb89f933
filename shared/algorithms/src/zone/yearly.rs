//! What a zone's clocks do from some year on: nothing, or the same two changes every year.

use crate::calendar::{EPOCH_WEEKDAY, civil_from_days, days_from_civil};

const DAY_MIN: i64 = 24 * 60;

/// A zone's offset at any instant.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Rule {
    Always {
        offset_min: i64,
    },
    /// The earlier and the later change of each year. Neither is near its end.
    Twice([Yearly; 2]),
}

/// A change of each year: on the first such weekday of a month that is not before a day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Yearly {
    /// 1 to 12.
    month: u32,
    /// 1 to 31.
    first_day: u32,
    /// 0 (Sunday) to 6.
    weekday: i64,
    /// What the clocks show before they are set, in minutes of the day.
    local_min: i64,
    /// Minutes ahead of UTC from then on.
    offset_min: i64,
}

impl Rule {
    /// Reads `-240`, or `3/8/0@120=-240 11/1/0@120=-300`: month, first day and weekday, the time, and the offset.
    pub(super) fn read(text: &str) -> Option<Self> {
        if let Ok(offset_min) = text.parse() {
            return Some(Self::Always { offset_min });
        }
        let (earlier, later) = text.split_once(' ')?;
        Some(Self::Twice([Yearly::read(earlier)?, Yearly::read(later)?]))
    }

    /// How far ahead of UTC the zone is, `at_min` minutes after the epoch.
    pub(super) fn offset_min(&self, at_min: i64) -> i64 {
        let [earlier, later] = match self {
            Self::Always { offset_min } => return *offset_min,
            Self::Twice(changes) => changes,
        };
        let (year, ..) = civil_from_days(at_min.div_euclid(DAY_MIN));
        let between = earlier.at_min(year, later) <= at_min && at_min < later.at_min(year, earlier);
        if between {
            earlier.offset_min
        } else {
            later.offset_min
        }
    }
}

impl Yearly {
    /// `3/8/0@120=-240`.
    fn read(text: &str) -> Option<Self> {
        let (day, time) = text.split_once('@')?;
        let (local, offset) = time.split_once('=')?;
        let mut day = day.split('/');
        Some(Self {
            month: day.next()?.parse().ok()?,
            first_day: day.next()?.parse().ok()?,
            weekday: day.next()?.parse().ok()?,
            local_min: local.parse().ok()?,
            offset_min: offset.parse().ok()?,
        })
    }

    /// Minutes after the epoch at which it comes in a year. The clocks show the offset of the `other` change until then.
    fn at_min(&self, year: i64, other: &Self) -> i64 {
        let first = days_from_civil(year, self.month, self.first_day);
        let weekday = (first + EPOCH_WEEKDAY).rem_euclid(7);
        let day = first + (self.weekday - weekday).rem_euclid(7);
        day * DAY_MIN + self.local_min - other.offset_min
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_comes_on_its_weekday_at_the_time_that_the_clocks_show() {
        // New York: on the second Sunday of March at 2:00, on the first of November at 2:00.
        let rule = Rule::read("3/8/0@120=-240 11/1/0@120=-300").unwrap();
        let forward_min = days_from_civil(2026, 3, 8) * DAY_MIN + 7 * 60;
        let back_min = days_from_civil(2026, 11, 1) * DAY_MIN + 6 * 60;
        let instants = [forward_min - 1, forward_min, back_min - 1, back_min];
        let offsets = instants.map(|at_min| rule.offset_min(at_min));
        assert_eq!(offsets, [-300, -240, -240, -300]);
    }

    #[test]
    fn what_is_no_rule_is_not_read() {
        for text in [
            "",
            "x",
            "3/8/0@120=-240",
            "3/8@120=-240 11/1/0@120=-300",
            "3/8/0=-240 11/1/0@120=-300",
        ] {
            assert_eq!(Rule::read(text), None, "{text}");
        }
    }
}
