//! What a quota promises, over drawn cadences and schedules.

use crate::count;

use crate::count::{Key, Scale, World, config, limit, raw_steps, start};
use proptest::prelude::*;
use weir_shared::algorithms::Algorithm;
use weir_shared::algorithms::calendar::{Period, Zone};
use weir_shared::algorithms::quota::Quota;
use weir_shared::algorithms::sliding_window::SlidingWindow;
use weir_shared::decision::{Reason, Retry};
use weir_shared::limits::{JSON_INTEGER_MAX, WINDOW_MS_MAX};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;
use weir_shared::wire::policy::Cadence;

const DAY_MS: u64 = 24 * 3_600_000;

/// Zones whose days are not all alike, and one whose are.
const ZONES: [&str; 6] = [
    "Europe/Berlin",
    "America/St_Johns",
    "Africa/Cairo",
    "Pacific/Apia",
    "Australia/Lord_Howe",
    "UTC",
];

fn algorithm(limit: u64, period: &Period) -> Algorithm {
    Algorithm::Quota(Quota::new(limit, period.clone()).unwrap())
}

fn scale(algorithm: &Algorithm) -> Scale {
    let quota_policy = algorithm.quota_policy();
    Scale {
        limit: quota_policy.quota,
        short_ms: quota_policy.window_ms.div_ceil(5),
        long_ms: quota_policy.window_ms,
    }
}

fn zone() -> impl Strategy<Value = Zone> {
    let named = prop::sample::select(ZONES.to_vec()).prop_map(|name| Zone::named(name).unwrap());
    let offset = (-840..=840_i64).prop_map(|minutes| Zone::offset(minutes).unwrap());
    prop_oneof![named, offset]
}

fn period() -> impl Strategy<Value = Period> {
    let cadences = vec![
        Cadence::CalendarDay,
        Cadence::CalendarWeek,
        Cadence::CalendarMonth,
    ];
    let calendar = (prop::sample::select(cadences), zone(), 0..=6_u64)
        .prop_map(|(cadence, zone, starts_on)| Period::calendar(cadence, zone, starts_on).unwrap());
    let period_ms = prop_oneof![1..=20_u64, 1..=100_000_u64, 1..=WINDOW_MS_MAX];
    let anchor = prop_oneof![-100_000..=100_000_i64, any::<i32>().prop_map(i64::from)];
    let fixed = (period_ms, anchor)
        .prop_map(|(period_ms, anchor)| Period::fixed(period_ms, anchor).unwrap());
    prop_oneof![calendar, fixed]
}

fn quota() -> impl Strategy<Value = Algorithm> {
    let periods = (limit(), period()).prop_map(|(limit, period)| algorithm(limit, &period));
    let period_ms = prop_oneof![1..=100_000_u64, DAY_MS..=40 * DAY_MS];
    let rolling = (limit(), period_ms, 1..=40_u64).prop_map(|(limit, period_ms, buckets)| {
        Algorithm::Quota(Quota::rolling(limit, period_ms, buckets).unwrap())
    });
    prop_oneof![2 => periods, 1 => rolling]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_decision_equals_that_of_a_count_per_period(
        (limit, period) in (limit(), period()),
        start in start(),
        raw in raw_steps(16),
    ) {
        let quota = algorithm(limit, &period);
        let mut key = Key::cold(&quota);
        let (mut counts, mut latest) = (OrderedMap::<EpochMs, u64>::new(), EpochMs(0));
        let mut now = start;
        for raw in raw {
            let step = scale(&quota).step(raw);
            // One step in four goes back in time.
            now = if step.lot.is_multiple_of(4) {
                EpochMs(now.0.saturating_sub(step.gap_ms))
            } else {
                now.plus(step.gap_ms)
            };
            let end = period.at(now).end.max(latest);
            let count = counts.entry(end).or_default();
            let (reason, retry) = if step.cost > limit {
                (Reason::Never, Retry::Never)
            } else if *count + step.cost > limit {
                (Reason::LimitExceeded, Retry::AfterMs(end.since(now)))
            } else {
                *count += step.cost;
                latest = end;
                (Reason::Admitted, Retry::Now)
            };
            let decision = key.check(step.cost, now).decision;
            prop_assert_eq!((decision.reason, decision.retry), (reason, retry));
            prop_assert_eq!((decision.remaining, decision.reset_at), (limit - *count, end));
        }
    }

    #[test]
    fn no_period_admits_more_than_the_limit(
        (limit, period) in (limit(), period()),
        start in start(),
        raw in raw_steps(30),
    ) {
        let quota = algorithm(limit, &period);
        let mut world = World::cold(&quota, start);
        for raw in raw {
            world.take(scale(&quota).step(raw));
        }
        let mut counts = OrderedMap::<i64, u64>::new();
        for charge in &world.charges {
            *counts.entry(period.at(charge.at).start_ms).or_default() += charge.cost;
        }
        prop_assert!(counts.values().all(|units| *units <= limit), "{counts:?}");
    }

    #[test]
    fn a_rolling_quota_decides_as_a_sliding_window(
        limit in limit(),
        period_ms in prop_oneof![1..=100_000_u64, 1..=WINDOW_MS_MAX],
        buckets in 1..=40_u64,
        start in start(),
        raw in raw_steps(16),
    ) {
        let quota = Algorithm::Quota(Quota::rolling(limit, period_ms, buckets).unwrap());
        let window = SlidingWindow::new(limit, period_ms, buckets).unwrap();
        let mut window = Key::cold(&Algorithm::SlidingWindow(window));
        let mut key = Key::cold(&quota);
        let mut now = start;
        for raw in raw {
            let step = scale(&quota).step(raw);
            now = now.plus(step.gap_ms);
            let expected = window.check(step.cost, now).decision;
            prop_assert_eq!(key.check(step.cost, now).decision, expected);
        }
    }

    #[test]
    fn a_refunded_key_decides_as_one_that_was_not_charged(
        quota in quota(),
        start in start(),
        raw in raw_steps(8),
    ) {
        count::a_refund_is_exact(&quota, scale(&quota), start, &raw)?;
    }

    #[test]
    fn a_changed_limit_or_cadence_never_frees_what_was_used(
        (before, after) in (quota(), quota()),
        start in start(),
        raw in raw_steps(8),
    ) {
        count::a_change_never_frees((&before, &after), scale(&before), start, &raw)?;
    }

    #[test]
    fn units_may_be_spent_until_their_period_ends(
        (limit, period) in (limit(), period()),
        now in start(),
    ) {
        let mut key = Key::cold(&algorithm(limit, &period));
        key.check(1, now);
        let after = key.state.as_ref().unwrap();
        prop_assert_eq!(key.algorithm.spendable_until(after, now), period.at(now).end);
        prop_assert_eq!(key.algorithm.expires_at(after), period.at(now).end);
    }
}

/// 2024-02-29T22:30:00Z: in March already where clocks are two hours ahead.
const LEAP_DAY: EpochMs = EpochMs(1_709_245_800_000);

fn months(zone: Zone) -> Period {
    Period::calendar(Cadence::CalendarMonth, zone, 1).unwrap()
}

#[test]
fn a_month_ends_where_its_zone_says() {
    let utc = algorithm(10, &months(Zone::offset(0).unwrap()));
    let decision = utc.check(None, 10, LEAP_DAY).decision;
    assert_eq!(decision.reset_at, EpochMs(1_709_251_200_000)); // 2024-03-01T00:00:00Z
    let ahead = algorithm(10, &months(Zone::offset(120).unwrap()));
    let decision = ahead.check(None, 10, LEAP_DAY).decision;
    assert_eq!(decision.reset_at, EpochMs(1_711_922_400_000)); // 2024-03-31T22:00:00Z
    // Kyiv keeps daylight saving from that very day on: April starts three hours ahead of UTC.
    let kyiv = algorithm(10, &months(Zone::named("Europe/Kyiv").unwrap()));
    let decision = kyiv.check(None, 10, LEAP_DAY).decision;
    assert_eq!(decision.reset_at, EpochMs(1_711_918_800_000)); // 2024-03-31T21:00:00Z
}

#[test]
fn a_cadence_that_becomes_longer_goes_on_with_what_was_used_in_it() {
    let utc = || Zone::offset(0).unwrap();
    let day = Period::calendar(Cadence::CalendarDay, utc(), 1).unwrap();
    let mut key = Key::cold(&algorithm(10, &day));
    key.check(7, LEAP_DAY);
    key.algorithm = algorithm(10, &months(utc()));
    assert_eq!(key.remaining(LEAP_DAY), 3);
    assert_eq!(key.remaining(EpochMs(1_709_251_199_999)), 3);
    assert_eq!(key.remaining(EpochMs(1_709_251_200_000)), 10);
}

#[test]
fn a_cadence_that_becomes_shorter_counts_beside_what_was_used_until_that_ends() {
    let utc = || Zone::offset(0).unwrap();
    let mut key = Key::cold(&algorithm(10, &months(utc())));
    let now = EpochMs(LEAP_DAY.0 - 5 * DAY_MS);
    key.check(7, now);
    let day = Period::calendar(Cadence::CalendarDay, utc(), 1).unwrap();
    key.algorithm = algorithm(10, &day);
    for days in 0..=5 {
        let now = now.plus(days * DAY_MS);
        assert!(key.check(3, now).decision.admitted());
        assert_eq!(key.remaining(now), 0);
    }
    assert_eq!(key.remaining(LEAP_DAY.plus(DAY_MS)), 10);
}

#[test]
fn a_zone_that_is_moved_does_not_count_a_whole_month_twice() {
    let mut key = Key::cold(&algorithm(10, &months(Zone::offset(0).unwrap())));
    key.check(7, LEAP_DAY);
    // An hour later February ends in UTC, and with it what was counted in it.
    key.algorithm = algorithm(10, &months(Zone::offset(120).unwrap()));
    assert_eq!(key.remaining(LEAP_DAY), 3);
    assert_eq!(key.remaining(LEAP_DAY.plus(90 * 60_000)), 10);
}

#[test]
fn a_rolling_quota_that_starts_to_follow_the_calendar_keeps_its_count() {
    let mut key = Key::cold(&Algorithm::Quota(
        Quota::rolling(10, 30 * DAY_MS, 30).unwrap(),
    ));
    key.check(7, LEAP_DAY);
    key.algorithm = algorithm(10, &months(Zone::offset(0).unwrap()));
    // In the trailing period the sub-bucket of that day counts until 31 days after its start.
    let left_at = EpochMs(LEAP_DAY.0 - LEAP_DAY.0 % DAY_MS + 31 * DAY_MS);
    assert_eq!(key.remaining(EpochMs(left_at.0 - 1)), 3);
    assert_eq!(key.remaining(left_at), 10);
}

#[test]
fn what_a_quota_promises_is_the_longest_period() {
    let window_ms = |cadence| {
        let period = Period::calendar(cadence, Zone::offset(0).unwrap(), 1).unwrap();
        algorithm(10, &period).quota_policy().window_ms
    };
    assert_eq!(window_ms(Cadence::CalendarDay), DAY_MS);
    assert_eq!(window_ms(Cadence::CalendarWeek), 7 * DAY_MS);
    assert_eq!(window_ms(Cadence::CalendarMonth), 31 * DAY_MS);
}

#[test]
fn numbers_out_of_range_are_refused_with_their_field() {
    let day = || Period::fixed(DAY_MS, 0).unwrap();
    assert_eq!(Quota::new(0, day()).unwrap_err().field, "/limit");
    assert_eq!(
        Quota::new(JSON_INTEGER_MAX + 1, day()).unwrap_err().field,
        "/limit"
    );
    let field =
        |limit, period_ms, buckets| Quota::rolling(limit, period_ms, buckets).unwrap_err().field;
    assert_eq!(field(0, 1, 1), "/limit");
    assert_eq!(field(1, 0, 1), "/period_ms");
    assert_eq!(field(1, WINDOW_MS_MAX + 1, 1), "/period_ms");
    assert_eq!(field(1, 1, 0), "/buckets");
}
