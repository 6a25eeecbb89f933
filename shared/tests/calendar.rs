//! Civil dates and the periods of a calendar, against a date library and against their own definition.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use proptest::prelude::*;
use weir_shared::algorithms::calendar::{Period, Span, Zone, civil_from_days, days_from_civil};
use weir_shared::invalid::Fault;
use weir_shared::limits::{JSON_INTEGER_MAX, WINDOW_MS_MAX};
use weir_shared::units::EpochMs;
use weir_shared::wire::policy::Cadence;

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// 2010-01-01, with which the table of time zones begins.
const FIRST_MS: i64 = 1_262_304_000_000;

/// 2040-01-01: what is asked of time zones lies before.
const LAST_MS: u64 = 2_208_988_800_000;

const CADENCES: [Cadence; 3] = [
    Cadence::CalendarDay,
    Cadence::CalendarWeek,
    Cadence::CalendarMonth,
];

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 10_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn zone(name: &str) -> Zone {
    Zone::named(name).unwrap()
}

fn days(name: &str) -> Period {
    Period::calendar(Cadence::CalendarDay, zone(name), 1).unwrap()
}

/// An instant by its UTC date and time.
fn utc(text: &str) -> EpochMs {
    let at: Timestamp = text.parse().unwrap();
    EpochMs(u64::try_from(at.as_millisecond()).unwrap())
}

fn length_ms(span: Span) -> i64 {
    span.end.0 as i64 - span.start_ms
}

#[test]
fn every_day_of_550_years_before_and_after_the_epoch_is_that_of_a_date_library() {
    let mut date = Date::new(1970 - 550, 1, 1).unwrap();
    let last = Date::new(1970 + 550, 12, 31).unwrap();
    let epoch = Date::new(1970, 1, 1).unwrap();
    let mut days = i64::from(epoch.until(date).unwrap().get_days());
    loop {
        let (year, month, day) = (date.year(), date.month(), date.day());
        let civil = (i64::from(year), month as u32, day as u32);
        assert_eq!(civil_from_days(days), civil);
        assert_eq!(days_from_civil(civil.0, civil.1, civil.2), days);
        if date == last {
            return;
        }
        (date, days) = (date.tomorrow().unwrap(), days + 1);
    }
}

#[test]
fn february_has_29_days_in_leap_years_alone() {
    let february = |year| days_from_civil(year, 3, 1) - days_from_civil(year, 2, 1);
    let leap = [-400, -4, 0, 4, 1600, 1972, 2000, 2024, 2400, 9996];
    let common = [-100, -1, 1, 1700, 1900, 1970, 2023, 2100, 9999];
    assert!(leap.into_iter().all(|year| february(year) == 29));
    assert!(common.into_iter().all(|year| february(year) == 28));
}

fn any_period() -> impl Strategy<Value = Period> {
    let names: Vec<_> = TimeZoneDatabase::bundled()
        .available()
        .map(|name| name.to_string())
        .collect();
    let offset = (-840..=840_i64).prop_map(|minutes| Zone::offset(minutes).unwrap());
    let named = prop::sample::select(names).prop_map(|name| zone(&name));
    let calendar = (
        prop::sample::select(CADENCES.to_vec()),
        prop_oneof![offset, named],
        0..=6_u64,
    )
        .prop_map(|(cadence, zone, starts_on)| Period::calendar(cadence, zone, starts_on).unwrap());
    let anchor = -(JSON_INTEGER_MAX as i64)..=JSON_INTEGER_MAX as i64;
    let fixed = (prop_oneof![1..=100_000_u64, 1..=WINDOW_MS_MAX], anchor)
        .prop_map(|(period_ms, anchor)| Period::fixed(period_ms, anchor).unwrap());
    prop_oneof![3 => calendar, 1 => fixed]
}

/// Instants up to 2040, and up to the year 144,683.
fn instant() -> impl Strategy<Value = EpochMs> {
    prop_oneof![0..=100_000_000_u64, 0..=LAST_MS, 0..=JSON_INTEGER_MAX / 2].prop_map(EpochMs)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn periods_follow_each_other_without_a_gap(period in any_period(), now in instant()) {
        let span = period.at(now);
        prop_assert!(span.start_ms <= now.0 as i64 && now < span.end);
        prop_assert_eq!(period.at(EpochMs(span.end.0 - 1)), span);
        prop_assert_eq!(period.at(span.end).start_ms, span.end.0 as i64);
        if let Ok(start_ms) = u64::try_from(span.start_ms) {
            prop_assert_eq!(period.at(EpochMs(start_ms)), span);
        }
    }

    #[test]
    fn fixed_periods_have_their_length_and_one_starts_at_the_anchor(
        period_ms in prop_oneof![1..=100_000_u64, 1..=WINDOW_MS_MAX],
        anchor in prop_oneof![-100_000..=100_000_i64, -(1_i64 << 53) + 1..1_i64 << 53],
        now in instant(),
    ) {
        let span = Period::fixed(period_ms, anchor).unwrap().at(now);
        prop_assert_eq!(length_ms(span), period_ms as i64);
        prop_assert_eq!((span.start_ms - anchor) % period_ms as i64, 0);
    }

    #[test]
    fn an_offset_shifts_the_calendar_of_utc(
        cadence in prop::sample::select(CADENCES.to_vec()),
        minutes in -840..=840_i64,
        starts_on in 0..=6_u64,
        now in DAY_MS..=LAST_MS as i64,
    ) {
        let calendar = |minutes| {
            Period::calendar(cadence, Zone::offset(minutes).unwrap(), starts_on).unwrap()
        };
        let shift_ms = minutes * 60_000;
        let ahead = calendar(minutes).at(EpochMs((now - shift_ms) as u64));
        let utc = calendar(0).at(EpochMs(now as u64));
        prop_assert_eq!(ahead.start_ms + shift_ms, utc.start_ms);
        prop_assert_eq!(ahead.end.0 as i64 + shift_ms, utc.end.0 as i64);
        // And that of UTC is the library's.
        let date = Timestamp::from_millisecond(now).unwrap().to_zoned(TimeZone::UTC).date();
        let first = match cadence {
            Cadence::CalendarMonth => date.first_of_month(),
            Cadence::CalendarDay => date,
            _ => {
                let weekday = date.weekday().to_sunday_zero_offset();
                let back = (i64::from(weekday) - starts_on as i64).rem_euclid(7);
                date.checked_sub(jiff::Span::new().days(back)).unwrap()
            }
        };
        let start = first.to_zoned(TimeZone::UTC).unwrap().timestamp();
        prop_assert_eq!(utc.start_ms, start.as_millisecond());
    }
}

/// The first instant whose date is `day` or later, found by looking at every quarter of an hour and every change of
/// offset around it.
fn first_instant(zone: &TimeZone, day: i64) -> i64 {
    let (from_ms, to_ms) = (day * DAY_MS - 26 * HOUR_MS, day * DAY_MS + 50 * HOUR_MS);
    let reached = |ms: &i64| (ms + offset_ms(zone, *ms)).div_euclid(DAY_MS) >= day;
    let quarters = (from_ms..=to_ms).step_by(900_000);
    let changes = zone
        .following(at(from_ms))
        .map(|change| change.timestamp().as_millisecond());
    let mut changes = changes.take_while(|ms| *ms <= to_ms);
    let (mut quarters, change) = (quarters, changes.find(reached));
    let quarter = quarters.find(reached).unwrap();
    change.map_or(quarter, |change| change.min(quarter))
}

fn offset_ms(zone: &TimeZone, ms: i64) -> i64 {
    i64::from(zone.to_offset(at(ms)).seconds()) * 1_000
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap()
}

/// The changes of offset between 2010 and 2040 that are of whole quarters of an hour (the search looks no closer) and
/// within two hours of midnight.
fn changes_near_midnight(zone: &TimeZone) -> Vec<i64> {
    let near_midnight = |local_ms: i64| {
        let time_ms = local_ms.rem_euclid(DAY_MS);
        time_ms.min(DAY_MS - time_ms) <= 2 * HOUR_MS
    };
    let changes = zone.following(at(FIRST_MS));
    let changes = changes.map(|change| change.timestamp().as_millisecond());
    let changes = changes.take_while(|ms| *ms < LAST_MS as i64);
    changes
        .filter(|ms| {
            let offsets = [offset_ms(zone, ms - 1), offset_ms(zone, *ms)];
            offsets[0] != offsets[1]
                && offsets.iter().all(|offset| offset % 900_000 == 0)
                && offsets.iter().any(|offset| near_midnight(ms + offset))
        })
        .collect()
}

#[test]
fn a_day_starts_with_the_first_instant_of_its_date_wherever_clocks_change_near_midnight() {
    let (mut changes, mut not_at_midnight) = (0, 0);
    for name in TimeZoneDatabase::bundled().available() {
        let library = TimeZoneDatabase::bundled().get(name.as_str()).unwrap();
        let Ok(zone) = Zone::named(name.as_str()) else {
            panic!("{} is not known", name.as_str());
        };
        let days = Period::calendar(Cadence::CalendarDay, zone, 1).unwrap();
        for change_ms in changes_near_midnight(&library) {
            changes += 1;
            for near_ms in [change_ms - 1, change_ms] {
                let span = days.at(EpochMs(near_ms as u64));
                let local_ms = span.start_ms + offset_ms(&library, span.start_ms);
                let (start_ms, end_ms) = (span.start_ms, span.end.0 as i64);
                let day = local_ms.div_euclid(DAY_MS);
                assert_eq!(start_ms, first_instant(&library, day), "{name} {near_ms}");
                assert_eq!(end_ms, first_instant(&library, day + 1), "{name} {near_ms}");
                not_at_midnight += i32::from(local_ms.rem_euclid(DAY_MS) != 0);
            }
        }
    }
    println!("{changes} changes, {not_at_midnight} days that do not start at midnight");
    assert!(
        changes > 3_000 && not_at_midnight > 300,
        "{changes}, {not_at_midnight}"
    );
}

#[test]
fn the_day_of_a_change_has_23_or_25_hours() {
    let berlin = days("Europe/Berlin");
    let forward = berlin.at(utc("2024-03-31T12:00:00Z"));
    assert_eq!(forward.start_ms as u64, utc("2024-03-30T23:00:00Z").0);
    assert_eq!(length_ms(forward), 23 * HOUR_MS);
    let back = berlin.at(utc("2024-10-27T12:00:00Z"));
    assert_eq!(back.start_ms as u64, utc("2024-10-26T22:00:00Z").0);
    assert_eq!(length_ms(back), 25 * HOUR_MS);
    assert_eq!(length_ms(berlin.at(utc("2024-07-01T12:00:00Z"))), DAY_MS);
}

#[test]
fn weeks_and_months_have_the_hours_of_their_days() {
    let calendar =
        |cadence, starts_on| Period::calendar(cadence, zone("Europe/Berlin"), starts_on).unwrap();
    let march = calendar(Cadence::CalendarMonth, 1).at(utc("2024-03-15T00:00:00Z"));
    assert_eq!(length_ms(march), 31 * DAY_MS - HOUR_MS);
    let week = calendar(Cadence::CalendarWeek, 1).at(utc("2024-10-27T12:00:00Z"));
    assert_eq!(length_ms(week), 7 * DAY_MS + HOUR_MS);
    assert_eq!(week.start_ms as u64, utc("2024-10-20T22:00:00Z").0); // Monday
    let week = calendar(Cadence::CalendarWeek, 0).at(utc("2024-10-27T12:00:00Z"));
    assert_eq!(week.start_ms as u64, utc("2024-10-26T22:00:00Z").0); // Sunday
}

#[test]
fn a_day_whose_midnight_is_skipped_starts_with_the_change() {
    // Cairo: clocks went from 0:00 to 1:00.
    let cairo = days("Africa/Cairo").at(utc("2024-04-26T12:00:00Z"));
    assert_eq!(cairo.start_ms as u64, utc("2024-04-25T22:00:00Z").0);
    assert_eq!(length_ms(cairo), 23 * HOUR_MS);
}

#[test]
fn a_date_that_comes_twice_starts_with_its_first_midnight() {
    // St. John's: at 0:01 clocks went back to 23:01 of the day before.
    let day = days("America/St_Johns").at(utc("2010-11-07T12:00:00Z"));
    assert_eq!(day.start_ms as u64, utc("2010-11-07T02:30:00Z").0);
    assert_eq!(length_ms(day), 25 * HOUR_MS);
    let again = days("America/St_Johns").at(utc("2010-11-07T03:00:00Z"));
    assert_eq!(again, day);
}

#[test]
fn a_date_that_was_left_out_has_no_length() {
    // Apia went over the date line: 2011-12-29 was followed by 2011-12-31.
    let apia = days("Pacific/Apia");
    let before = apia.at(utc("2011-12-30T09:59:59Z"));
    let after = apia.at(utc("2011-12-30T10:00:00Z"));
    assert_eq!(before.end, utc("2011-12-30T10:00:00Z"));
    assert_eq!(after.start_ms, before.end.0 as i64);
    assert_eq!((length_ms(before), length_ms(after)), (DAY_MS, DAY_MS));
}

#[test]
fn daylight_saving_goes_on_after_the_last_change_that_is_listed() {
    let summer = days("America/New_York").at(utc("2500-07-01T12:00:00Z"));
    assert_eq!(summer.start_ms as u64, utc("2500-07-01T04:00:00Z").0);
    let winter = days("America/New_York").at(utc("2500-01-15T12:00:00Z"));
    assert_eq!(winter.start_ms as u64, utc("2500-01-15T05:00:00Z").0);
}

#[test]
fn a_zone_that_is_not_in_the_database_is_refused() {
    for name in [
        "",
        "Mars/Olympus",
        "Europe/Berlin ",
        "../Europe/Berlin",
        "EST5EDT4",
        "Etc/Unknown",
        "+01:00",
    ] {
        let refused = Zone::named(name).unwrap_err();
        assert_eq!(refused.field, "/time_zone", "{name}");
        let fault = Fault::Unknown {
            name: name.to_owned(),
            what: "time zone",
        };
        assert_eq!(refused.fault, fault);
    }
    let long = "x".repeat(65);
    let refused = Zone::named(&long).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "/time_zone: 65 bytes, at most 64 are allowed"
    );
    let known = [
        "UTC",
        "Etc/GMT-14",
        "America/Argentina/ComodRivadavia",
        "europe/berlin",
    ];
    assert!(known.iter().all(|name| Zone::named(name).is_ok()));
    let names = TimeZoneDatabase::bundled();
    assert!(names.available().all(|name| name.as_str().len() <= 32));
}

#[test]
fn numbers_out_of_range_are_refused_with_their_field() {
    let utc = || Zone::offset(0).unwrap();
    assert_eq!(Zone::offset(841).unwrap_err().field, "/offset_minutes");
    assert_eq!(Zone::offset(-841).unwrap_err().field, "/offset_minutes");
    let field = |period: Result<Period, weir_shared::invalid::Invalid>| period.unwrap_err().field;
    assert_eq!(field(Period::fixed(0, 0)), "/period_ms");
    assert_eq!(field(Period::fixed(WINDOW_MS_MAX + 1, 0)), "/period_ms");
    assert_eq!(field(Period::fixed(1, 1 << 53)), "/anchor");
    assert_eq!(field(Period::fixed(1, i64::MIN)), "/anchor");
    assert_eq!(
        field(Period::calendar(Cadence::CalendarWeek, utc(), 7)),
        "/week_starts_on"
    );
    assert_eq!(
        field(Period::calendar(Cadence::Fixed, utc(), 1)),
        "/cadence"
    );
    assert_eq!(
        field(Period::calendar(Cadence::Rolling, utc(), 1)),
        "/cadence"
    );
}

#[test]
fn any_instant_has_a_period() {
    let anywhere = [
        Zone::offset(840).unwrap(),
        Zone::offset(-840).unwrap(),
        zone("Pacific/Auckland"),
    ];
    for zone in anywhere {
        for cadence in CADENCES {
            let period = Period::calendar(cadence, zone.clone(), 6).unwrap();
            for now in [0, 1, DAY_MS as u64, 253_402_300_799_999, JSON_INTEGER_MAX] {
                let span = period.at(EpochMs(now));
                assert!(
                    span.start_ms <= now as i64 && now < span.end.0,
                    "{now} {span:?}"
                );
            }
            assert_eq!(
                period.at(EpochMs(u64::MAX)),
                period.at(EpochMs(JSON_INTEGER_MAX))
            );
        }
    }
}
