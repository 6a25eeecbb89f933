//! Quotas that start anew by the calendar, also where clocks are set forward and back.

use std::time::Duration;

use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde_json::{Value, json};
use weir_tests::calls::charge;
use weir_tests::client::Client;
use weir_tests::clock::epoch_ms;

use crate::limits::{alone, await_allowed, start, take};

const DAY_MS: i64 = 24 * 3_600_000;

/// How much earlier than its window a lease of it may end: its end is counted from when it was asked for.
const EARLY_MS: u64 = 5_000;

fn quota(cadence: &str, scope: &str, more: Value) -> Value {
    let mut body = json!({ "algorithm": "quota", "limit": 5, "cadence": cadence, "scope": scope });
    for (field, value) in more.as_object().unwrap() {
        body[field] = value.clone();
    }
    body
}

fn berlin() -> TimeZone {
    TimeZone::get("Europe/Berlin").unwrap()
}

/// The instant in a zone.
fn at(ms: u64, zone: &TimeZone) -> Zoned {
    Timestamp::from_millisecond(ms as i64)
        .unwrap()
        .to_zoned(zone.clone())
}

/// When the day that holds an instant ends in a zone.
fn midnight_after(ms: u64, zone: &TimeZone) -> u64 {
    let next = at(ms, zone).tomorrow().unwrap().start_of_day().unwrap();
    next.timestamp().as_millisecond() as u64
}

/// When a fresh key is full again. Periods end with a minute, so that what a lease is early by can be made up for.
async fn reset_at(client: &Client, limit: &str, key: &str) -> u64 {
    let told = take(client, limit, key, 1).await.reset_at;
    if limit.starts_with("global") {
        return told.next_multiple_of(EARLY_MS);
    }
    told
}

#[tokio::test]
async fn a_quota_resets_at_the_midnight_of_its_time_zone() {
    let limits = json!({
        "region": quota("calendar_day", "region", json!({ "time_zone": "Europe/Berlin" })),
        "isolate": quota("calendar_day", "isolate", json!({ "time_zone": "Europe/Berlin" })),
        "global": quota("calendar_day", "global", json!({ "time_zone": "Europe/Berlin" })),
    });
    let workerd = start(alone(), limits).await;
    let client = workerd.client(0).unwrap();
    for limit in ["region", "isolate", "global"] {
        let before = midnight_after(epoch_ms(), &berlin());
        let reset_at = reset_at(&client, limit, "k").await;
        let after = midnight_after(epoch_ms(), &berlin());
        assert!(
            [before, after].contains(&reset_at),
            "{limit}: {reset_at}, not {after}"
        );
    }
}

/// The days on which the clocks of Berlin change have 23 and 25 hours.
#[tokio::test]
async fn a_day_is_as_long_as_the_zone_says_when_clocks_change() {
    let limits = json!({
        "daily": quota("calendar_day", "region", json!({ "time_zone": "Europe/Berlin" })),
        "utc": quota("calendar_day", "region", json!({})),
    });
    let workerd = start(alone().witnessed(), limits).await;
    let (client, witness) = (workerd.client(0).unwrap(), workerd.witness().unwrap());
    let now = Timestamp::from_millisecond(epoch_ms() as i64).unwrap();
    let changes: Vec<_> = berlin()
        .following(now)
        .take(2)
        .map(|change| change.timestamp())
        .collect();
    let mut hours = Vec::new();
    for (index, change) in changes.into_iter().enumerate() {
        // Half an hour before the clocks change, on the same day.
        let noon_ms = change.as_millisecond() as u64 - 30 * 60_000;
        let ahead = Duration::from_millis(noon_ms - epoch_ms());
        witness.ahead(ahead).await.unwrap();
        let key = format!("k{index}");
        let reset_at = reset_at(&client, "daily", &key).await;
        assert_eq!(
            reset_at,
            midnight_after(noon_ms, &berlin()),
            "around {change}"
        );
        let start = at(noon_ms, &berlin()).start_of_day().unwrap();
        hours.push((reset_at as i64 - start.timestamp().as_millisecond()) / 3_600_000);
        let utc = take(&client, "utc", &key, 1).await.reset_at;
        assert_eq!(utc % DAY_MS as u64, 0, "UTC has no such days");
    }
    hours.sort_unstable();
    assert_eq!(hours, [23, 25]);
}

#[tokio::test]
async fn months_weeks_and_days_begin_where_the_policy_says() {
    let limits = json!({
        "month": quota("calendar_month", "region", json!({ "time_zone": "America/New_York" })),
        "week": quota("calendar_week", "region", json!({})),
        "sunday_week": quota("calendar_week", "region", json!({ "week_starts_on": 0, "offset_minutes": -840 })),
        "nepal": quota("calendar_day", "region", json!({ "offset_minutes": 345 })),
        "global_month": quota("calendar_month", "global", json!({ "offset_minutes": 840 })),
    });
    let workerd = start(alone(), limits).await;
    let client = workerd.client(0).unwrap();
    let offset = |minutes: i32| {
        jiff::tz::Offset::from_seconds(minutes * 60)
            .unwrap()
            .to_time_zone()
    };
    let new_york = TimeZone::get("America/New_York").unwrap();
    let cases = [
        ("month", new_york, 31),
        ("week", offset(0), 7),
        ("sunday_week", offset(-840), 7),
        ("nepal", offset(345), 1),
        ("global_month", offset(840), 31),
    ];
    for (limit, zone, days_max) in cases {
        let now = epoch_ms();
        let reset_at = reset_at(&client, limit, "k").await;
        let reset = at(reset_at, &zone);
        assert!(reset_at > now, "{limit}: {reset}");
        assert!(
            (reset_at - now) as i64 <= days_max * DAY_MS + 3_600_000,
            "{limit}: {reset}"
        );
        assert_eq!(
            reset.start_of_day().unwrap(),
            reset,
            "{limit}: {reset} is no midnight"
        );
        match limit {
            "month" | "global_month" => assert_eq!(reset.day(), 1, "{limit}: {reset}"),
            "week" => assert_eq!(reset.weekday(), Weekday::Monday, "{limit}: {reset}"),
            "sunday_week" => assert_eq!(reset.weekday(), Weekday::Sunday, "{limit}: {reset}"),
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_used_quota_is_back_in_full_with_its_next_day() {
    let limits = json!({
        "region": quota("calendar_day", "region", json!({ "time_zone": "Europe/Berlin" })),
        "isolate": quota("calendar_day", "isolate", json!({ "time_zone": "Europe/Berlin" })),
        "global": quota("calendar_day", "global", json!({ "time_zone": "Europe/Berlin" })),
    });
    let workerd = start(alone().witnessed(), limits).await;
    let (client, witness) = (workerd.client(0).unwrap(), workerd.witness().unwrap());
    for limit in ["region", "isolate", "global"] {
        assert!(take(&client, limit, "k", 5).await.allowed, "{limit}");
        let denied = take(&client, limit, "k", 1).await;
        assert!(!denied.allowed, "{limit}");
        assert!(
            denied
                .retry_after_ms
                .is_some_and(|hint| hint <= 25 * 3_600_000),
            "{limit}: {denied:?}"
        );
    }
    let midnight = midnight_after(epoch_ms(), &berlin());
    // A minute before midnight nothing is back, a second after it everything is.
    let ahead = |ms: u64| Duration::from_millis(ms.saturating_sub(epoch_ms()));
    witness.ahead(ahead(midnight - 60_000)).await.unwrap();
    for limit in ["region", "isolate", "global"] {
        assert!(
            !take(&client, limit, "k", 1).await.allowed,
            "{limit}: it is not midnight yet"
        );
    }
    witness.ahead(ahead(midnight + 1_000)).await.unwrap();
    for limit in ["region", "isolate", "global"] {
        await_allowed(&client, &charge(limit, "k", 5)).await;
        assert!(!take(&client, limit, "k", 1).await.allowed, "{limit}");
    }
}
