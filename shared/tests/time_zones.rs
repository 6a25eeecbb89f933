//! The table of time zones that is compiled in is that of the library `jiff`, which brings the IANA database along.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::ops::RangeInclusive;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

use weir_shared::algorithms::calendar::days_from_civil;

use crate::repository::root;

/// Writes the table instead of comparing it, where it is set.
const WRITE: &str = "WEIR_WRITE_ZONES";

/// How to bring it up to date.
const COMMAND: &str = "WEIR_WRITE_ZONES=1 cargo test -p weir-shared --test promises time_zones::";

const HEADER: &str = "\
# Made of the IANA time zone database: see CONTRIBUTING.md. A line for all zones that are alike from 2010 on, in fields that
# bars divide: their names; the offset from UTC with which they come into 2010, in minutes, and changes of it, each as minutes
# since 1970, a colon and the new offset; what follows the last of these, an offset for good or two changes of each year. Such
# a change, 3/8/0@120=-240, comes in March, on the first Sunday (0) not before the 8th, at minute 120 of the clocks as they
# were, and the new offset is -240.
";

/// What the table begins with.
const FIRST_YEAR: i16 = 2010;

/// The years that show what a zone does for good: 400 years, after which the calendar repeats.
const FOR_GOOD: RangeInclusive<i16> = 2100..=2499;

/// A change of a zone's offset.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Change {
    at: Timestamp,
    before: Offset,
    offset: Offset,
}

impl Change {
    fn year(&self) -> i16 {
        self.at.to_zoned(TimeZone::UTC).year()
    }

    /// What clocks show when they are set.
    fn shown(&self) -> DateTime {
        self.before.to_datetime(self.at)
    }
}

/// A change that comes every year: on the first such weekday that is not before a day of a month.
#[derive(Debug, PartialEq)]
struct Yearly {
    month: i8,
    first_day: i64,
    weekday: i8,
    minute: i64,
    before: Offset,
    offset: Offset,
}

impl Yearly {
    /// As it has come in 400 years.
    fn of(all: &[Change]) -> Self {
        let month = all
            .iter()
            .map(|change| change.shown().month())
            .min()
            .unwrap();
        let shown = all[0].shown();
        let yearly = Self {
            month,
            first_day: all.iter().map(|change| day(change, month)).min().unwrap(),
            weekday: shown.weekday().to_sunday_zero_offset(),
            minute: minute(shown),
            before: all[0].before,
            offset: all[0].offset,
        };
        // So that the year by UTC is the year that clocks show.
        assert!((2..=10).contains(&month) || month == 11 && yearly.first_day < 20);
        assert!(all.iter().all(|change| yearly.is(change)), "{yearly:?}");
        yearly
    }

    fn is(&self, change: &Change) -> bool {
        let shown = change.shown();
        (self.first_day..self.first_day + 7).contains(&day(change, self.month))
            && shown.weekday().to_sunday_zero_offset() == self.weekday
            && minute(shown) == self.minute
            && (change.before, change.offset) == (self.before, self.offset)
    }

    /// As the table has it.
    fn text(&self) -> String {
        let (month, first_day) = (self.month, self.first_day);
        let (weekday, minute, offset) = (self.weekday, self.minute, minutes(self.offset));
        format!("{month}/{first_day}/{weekday}@{minute}={offset}")
    }
}

/// The day of a month on which a change comes, counted on into the next one.
fn day(change: &Change, month: i8) -> i64 {
    let shown = change.shown();
    let of = |month: i8, day: i8| days_from_civil(shown.year().into(), month as u32, day as u32);
    of(shown.month(), shown.day()) - of(month, 1) + 1
}

fn minute(shown: DateTime) -> i64 {
    i64::from(shown.hour()) * 60 + i64::from(shown.minute())
}

fn minutes(offset: Offset) -> i32 {
    assert_eq!(offset.seconds() % 60, 0);
    offset.seconds() / 60
}

fn start_of(year: i16) -> Timestamp {
    format!("{year}-01-01T00:00:00Z").parse().unwrap()
}

/// All changes from the start of the table on.
fn changes(zone: &TimeZone) -> Vec<Change> {
    let mut before = zone.to_offset(start_of(FIRST_YEAR));
    let mut found = Vec::new();
    for change in zone.following(start_of(FIRST_YEAR)) {
        let (at, offset) = (change.timestamp(), change.offset());
        if at >= start_of(FOR_GOOD.end() + 1) {
            break;
        }
        if offset != before {
            assert_eq!(at.as_second() % 60, 0);
            found.push(Change { at, before, offset });
        }
        before = offset;
    }
    found
}

/// What a zone does for good, and how many of its last changes are of that.
fn rule(zone: &TimeZone, changes: &[Change]) -> (String, usize) {
    let good = changes.partition_point(|change| change.year() < *FOR_GOOD.start());
    let good = &changes[good..];
    if good.is_empty() {
        let offset = zone.to_offset(start_of(*FOR_GOOD.start()));
        return (minutes(offset).to_string(), 0);
    }
    let turns = [0, 1].map(|turn| {
        good.iter()
            .skip(turn)
            .step_by(2)
            .copied()
            .collect::<Vec<_>>()
    });
    assert_eq!(turns.each_ref().map(Vec::len), [400, 400]);
    let yearly = turns.each_ref().map(|all| Yearly::of(all));
    // As far back as one of the two comes a year before it comes next.
    let follows = |change: &Change, next: &Change| {
        change.year() + 1 == next.year()
            && yearly
                .iter()
                .any(|yearly| yearly.is(change) && yearly.is(next))
    };
    let pairs = changes.iter().zip(&changes[2..]).rev();
    let follow = pairs
        .take_while(|(change, next)| follows(change, next))
        .count();
    (yearly.map(|yearly| yearly.text()).join(" "), follow + 2)
}

/// What the table has of a zone after its names.
fn described(zone: &TimeZone) -> String {
    let changes = changes(zone);
    let (rule, of_rule) = rule(zone, &changes);
    // The first that is of the rule says from when it holds; where all are, it always does.
    let listed = match changes.len() - of_rule {
        0 => 0,
        others => (others + 1).min(changes.len()),
    };
    let mut text = minutes(zone.to_offset(start_of(FIRST_YEAR))).to_string();
    for change in &changes[..listed] {
        write!(
            text,
            " {}:{}",
            change.at.as_second() / 60,
            minutes(change.offset)
        )
        .unwrap();
    }
    format!("{text}|{rule}")
}

fn table() -> String {
    let mut alike = BTreeMap::<String, Vec<String>>::new();
    let known = TimeZoneDatabase::bundled();
    for name in known.available() {
        let zone = known.get(name.as_str()).unwrap();
        if !zone.is_unknown() {
            alike
                .entry(described(&zone))
                .or_default()
                .push(name.to_string());
        }
    }
    let mut lines: Vec<_> = alike
        .into_iter()
        .map(|(zone, mut names)| {
            names.sort();
            format!("{}|{zone}\n", names.join(" "))
        })
        .collect();
    lines.sort();
    HEADER.to_owned() + &lines.concat()
}

#[test]
fn the_table_is_that_of_the_library() {
    let path = root().join("shared/algorithms/src/zone/zones.txt");
    let made = table();
    if std::env::var_os(WRITE).is_some() {
        return fs::write(path, made).expect("the table is written");
    }
    let there = fs::read_to_string(path).unwrap_or_default();
    assert!(
        made == there,
        "the table of time zones is stale; bring it up to date by\n{COMMAND}"
    );
}
