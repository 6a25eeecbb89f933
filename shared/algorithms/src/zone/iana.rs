//! The zones of the IANA database that is compiled in (`zones.txt`); none of the machine's is ever read.

use std::sync::Arc;

use super::yearly::Rule;
use super::{DAY_MS, MINUTE_MS};

/// A line for all zones that have been alike since 2010. `shared/tests/time_zones.rs` writes it from the database that
/// the library `jiff` brings along, and compares the two.
const ZONES: &str = include_str!("zones.txt");

/// What starts a line that is for readers alone.
const REMARK: char = '#';

/// No zone is further from UTC, and none changes its offset twice within twice as long.
const OFFSET_MAX_MS: i64 = 15 * 3_600_000;

/// A zone, as one line of the table describes it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Named {
    /// Minutes ahead of UTC before the first of the changes.
    first_offset_min: i64,
    /// Those that the rule does not describe, and the first that it does; in the order of their instants.
    changes: Arc<[Change]>,
    /// From the last of the changes on.
    rule: Rule,
}

/// At one instant the zone's clocks are set.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Change {
    /// Minutes since the epoch.
    at_min: i64,
    /// Minutes ahead of UTC from then on.
    offset_min: i64,
}

impl Named {
    /// The zone of that name, in letters of either case.
    pub(super) fn find(name: &str) -> Option<Self> {
        let lines = ZONES.lines().filter(|line| !line.starts_with(REMARK));
        let mut lines = lines.filter_map(|line| line.split_once('|'));
        let (_, zone) = lines.find(|(names, _)| {
            let mut names = names.split(' ');
            names.any(|known| known.eq_ignore_ascii_case(name))
        })?;
        Self::read(zone)
    }

    /// Reads what a line has after the names: `-300 20666340:-240|-240`.
    fn read(zone: &str) -> Option<Self> {
        let (offsets, rule) = zone.split_once('|')?;
        let mut offsets = offsets.split(' ');
        let first_offset_min = offsets.next()?.parse().ok()?;
        let changes: Option<Arc<[Change]>> = offsets.map(Change::read).collect();
        Some(Self {
            first_offset_min,
            changes: changes?,
            rule: Rule::read(rule)?,
        })
    }

    /// How far ahead of UTC the zone is at an instant.
    pub(super) fn offset_ms(&self, at_ms: i64) -> i64 {
        self.offset_min(at_ms.div_euclid(MINUTE_MS)) * MINUTE_MS
    }

    fn offset_min(&self, at_min: i64) -> i64 {
        let next = self
            .changes
            .partition_point(|change| change.at_min <= at_min);
        if next == self.changes.len() {
            return self.rule.offset_min(at_min);
        }
        match next.checked_sub(1) {
            Some(latest) => self.changes[latest].offset_min,
            None => self.first_offset_min,
        }
    }

    /// The first instant whose local date is `day`, in milliseconds since the epoch.
    pub(super) fn day_start_ms(&self, day: i64) -> i64 {
        let local_ms = day * DAY_MS;
        let (earlier_ms, later_ms) = (local_ms - OFFSET_MAX_MS, local_ms + OFFSET_MAX_MS);
        let before_ms = local_ms - self.offset_ms(earlier_ms);
        let after_ms = local_ms - self.offset_ms(later_ms);
        if before_ms == after_ms {
            return before_ms;
        }
        let change_ms = self.change_ms(earlier_ms, later_ms);
        if before_ms < change_ms {
            // If clocks go back over midnight it comes twice: the first one starts the day.
            before_ms
        } else {
            // Midnight follows the change, or lies inside of it: then the day starts with the change.
            after_ms.max(change_ms)
        }
    }

    /// The instant in `earlier_ms..=later_ms` at which the offset changes from that at the one to that at the other.
    fn change_ms(&self, earlier_ms: i64, later_ms: i64) -> i64 {
        let before_ms = self.offset_ms(earlier_ms);
        let (mut earlier_ms, mut later_ms) = (earlier_ms, later_ms);
        while later_ms - earlier_ms > 1 {
            let middle_ms = earlier_ms + (later_ms - earlier_ms) / 2;
            if self.offset_ms(middle_ms) == before_ms {
                earlier_ms = middle_ms;
            } else {
                later_ms = middle_ms;
            }
        }
        later_ms
    }
}

impl Change {
    /// `20666340:-240`.
    fn read(text: &str) -> Option<Self> {
        let (at, offset) = text.split_once(':')?;
        Some(Self {
            at_min: at.parse().ok()?,
            offset_min: offset.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::tz::TimeZoneDatabase;

    use super::*;
    use crate::calendar::days_from_civil;

    const HOUR_MS: i64 = 60 * MINUTE_MS;

    #[test]
    fn a_day_whose_midnight_lies_inside_a_change_starts_with_the_change() {
        // Clocks go from 23:30 to 0:30, from four hours behind to three.
        let day = days_from_civil(2026, 4, 1);
        let change_ms = day * DAY_MS + 3 * HOUR_MS + 30 * MINUTE_MS;
        let zone = format!("-240 {}:-180|-180", change_ms / MINUTE_MS);
        assert_eq!(Named::read(&zone).unwrap().day_start_ms(day), change_ms);
    }

    #[test]
    fn east_of_greenwich_too_a_day_starts_with_the_change_inside_which_its_midnight_lies() {
        // On the 31st of March clocks go from 23:30 to 0:30: from two hours ahead to three.
        let day = days_from_civil(2026, 4, 1);
        let change_ms = day * DAY_MS - 30 * MINUTE_MS - 2 * HOUR_MS;
        let zone = format!("120 {}:180|180", change_ms / MINUTE_MS);
        assert_eq!(Named::read(&zone).unwrap().day_start_ms(day), change_ms);
    }

    #[test]
    fn a_change_right_at_midnight_starts_the_day_forward_and_ends_it_back() {
        let day = days_from_civil(2026, 4, 1);
        let midnight_ms = day * DAY_MS;
        let from = |offset_min: i64| {
            let zone = format!("0 {}:{offset_min}|{offset_min}", midnight_ms / MINUTE_MS);
            Named::read(&zone).unwrap().day_start_ms(day)
        };
        assert_eq!(from(60), midnight_ms);
        // It is 23:00 again: the date begins an hour later.
        assert_eq!(from(-60), midnight_ms + HOUR_MS);
    }

    /// In the years in which the table lists changes, and long after.
    #[test]
    fn at_every_change_of_every_zone_the_offset_is_that_of_the_library() {
        let (first, last) = ("2010-01-01T00:00:00Z", "2200-01-01T00:00:00Z");
        let [first, last]: [Timestamp; 2] = [first, last].map(|at| at.parse().unwrap());
        let library = TimeZoneDatabase::bundled();
        let mut count = 0;
        for name in library.available() {
            let theirs = library.get(name.as_str()).unwrap();
            let Some(ours) = Named::find(name.as_str()) else {
                assert!(theirs.is_unknown(), "{name}");
                continue;
            };
            let changes = theirs.following(first).map(|change| change.timestamp());
            let changes = changes.take_while(|at| *at < last);
            for at in [first].into_iter().chain(changes) {
                let at_ms = at.as_millisecond();
                let around = (at_ms - 1..=at_ms + 1).filter(|ms| *ms >= first.as_millisecond());
                for near_ms in around {
                    let near = Timestamp::from_millisecond(near_ms).unwrap();
                    let theirs_ms = i64::from(theirs.to_offset(near).seconds()) * 1_000;
                    assert_eq!(ours.offset_ms(near_ms), theirs_ms, "{name} {near}");
                }
                count += 1;
            }
        }
        assert!(count > 50_000, "{count}");
    }
}
