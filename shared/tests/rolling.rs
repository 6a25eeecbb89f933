//! Pools with a rolling window, and those with periods of the calendar.

use proptest::prelude::*;
use weir_shared::algorithms::sliding_window::SlidingWindow;
use weir_shared::federation::history::History;
use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::stored::StoredPool;
use weir_shared::units::{EpochMs, HolderId, Incarnation, Revision, Sequence, WindowLabel};
use weir_shared::wire::exchange::{
    Cycle, ExchangeBody, PeriodBody, ReplyBody, Return, Seen, Terms, VERSION, Want,
};
use weir_shared::wire::policy::Cadence;
use weir_shared::wire::stored::read_row;

/// A multiple of every window's length here.
const START_MS: u64 = 1_700_000_040_000;

fn at(ms: u64) -> EpochMs {
    EpochMs(START_MS + ms)
}

fn rolling(limit: u64, window_ms: u64, buckets: u64) -> Terms {
    Terms {
        limit,
        window_ms,
        revision: Revision(1),
        cycle: Some(Cycle::Sliding { buckets }),
        sharing: None,
        lease: None,
        standing: 0,
    }
}

/// A pool and one holder that asks it; what the pool needs durable is written to `row`.
struct Asked {
    pool: Pool,
    row: Option<StoredPool>,
    terms: Terms,
    sequence: u64,
}

impl Asked {
    fn new(terms: Terms, now: EpochMs) -> Self {
        Self {
            pool: Pool::open_keyed(terms.clone(), WindowLabel(0), now),
            row: None,
            terms,
            sequence: 0,
        }
    }

    fn exchange(&mut self, units: u64, returns: Vec<Return>, now: EpochMs) -> ReplyBody {
        self.sequence += 1;
        let (incarnation, sequence) = (Incarnation(1), Sequence(self.sequence));
        let want = Want {
            tenant: None,
            waiting: units,
            smallest: units,
            expected: 0,
            held: 0,
            denied: 0,
            rank: None,
        };
        let body = ExchangeBody {
            v: VERSION,
            budget: "smooth\u{1}k".to_owned(),
            terms: self.terms.clone(),
            holder: HolderId(1),
            incarnation,
            sequence,
            seen: Some(Seen {
                incarnation,
                sequence: Sequence(self.sequence - 1),
            }),
            window: None,
            wants: vec![want],
            returns,
            ahead: 0,
            idle: 0,
            denied: 0,
        };
        let message = Message::try_from(body).unwrap();
        let reply = self.pool.exchange(&message, now).unwrap();
        if let Some(row) = self.pool.due() {
            self.pool.stored(&row);
            self.row = Some(row);
        }
        reply
    }

    /// Units that are lent of those asked for.
    fn lent(&mut self, units: u64, now: EpochMs) -> u64 {
        let reply = self.exchange(units, Vec::new(), now);
        reply.grants.iter().map(|grant| grant.units).sum()
    }

    /// The coordinator dies and wakes.
    fn dies(&mut self) {
        let text = serde_json::to_string(&self.row).unwrap();
        self.pool = Pool::wake(&read_row(&text).unwrap());
    }
}

/// Windows in parts, and events that are mostly near each other and at times far apart.
fn schedules() -> impl Strategy<Value = ((u64, u64, u64), Vec<(u64, u64)>)> {
    let window = prop_oneof![
        Just((1_000, 1)),
        Just((1_000, 10)),
        Just((60_000, 10)),
        Just((3_000, 3)),
        Just((10_000, 100))
    ];
    let shape =
        (1_u64..60, window).prop_map(|(limit, (window_ms, parts))| (limit, window_ms, parts));
    let gap_ms = prop_oneof![0_u64..20, 0_u64..700, 0_u64..9_000, 0_u64..200_000];
    (shape, prop::collection::vec((gap_ms, 1_u64..20), 1..80))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_pool_lends_what_a_sliding_window_of_the_same_numbers_admits(
        ((limit, window_ms, buckets), events) in schedules()
    ) {
        let window = SlidingWindow::new(limit, window_ms, buckets).unwrap();
        let mut asked = Asked::new(rolling(limit, window_ms, buckets), at(0));
        let (mut state, mut now) = (None, at(0));
        for (gap_ms, units) in events {
            now = now.plus(gap_ms);
            let checked = window.check(state.as_ref(), units, now);
            let reply = asked.exchange(units, Vec::new(), now);
            let granted: u64 = reply.grants.iter().map(|grant| grant.units).sum();
            prop_assert_eq!(granted > 0, checked.decision.admitted());
            prop_assert_eq!(reply.left, checked.decision.remaining);
            let retry_ms = checked.decision.retry.after_ms().filter(|ms| *ms > 0);
            prop_assert_eq!(reply.retry_ms, retry_ms);
            state = checked.next.or(state);
        }
    }

    #[test]
    fn a_coordinator_that_dies_never_lends_more_than_one_that_lives(
        ((limit, window_ms, buckets), events) in schedules(), deaths in any::<u64>()
    ) {
        let mut lives = Asked::new(rolling(limit, window_ms, buckets), at(0));
        let mut dies = Asked::new(rolling(limit, window_ms, buckets), at(0));
        let mut lent = Vec::new();
        let mut now = at(0);
        for (index, (gap_ms, units)) in events.into_iter().enumerate() {
            now = now.plus(gap_ms);
            let most = lives.exchange(0, Vec::new(), now).left;
            let granted = dies.lent(units, now);
            prop_assert!(granted <= most, "{} of {} are lent", granted, most);
            // What one lends, the other does.
            prop_assert_eq!(lives.lent(granted, now), granted);
            lent.push((now, granted));
            if deaths >> (index % 64) & 1 == 1 {
                dies.dies();
            }
        }
    }

    #[test]
    fn parts_of_another_length_forget_nothing_earlier_than_they_would_have(
        limit in 1_u64..60, lent in 1_u64..60, gap_ms in 0_u64..70_000,
        (before, after) in (0_usize..5, 0_usize..5)
    ) {
        let shapes = [(1_000, 1), (1_000, 10), (60_000, 10), (3_000, 3), (10_000, 100)];
        let ((from_ms, from), (to_ms, to)) = (shapes[before], shapes[after]);
        let mut asked = Asked::new(rolling(limit, from_ms, from), at(0));
        let lent = asked.lent(lent.min(limit), at(0));
        asked.terms = Terms { revision: Revision(2), ..rolling(limit, to_ms, to) };
        let now = at(gap_ms);
        let left = asked.exchange(0, Vec::new(), now).left;
        // As if they were lent in the part of the new length that ends where theirs did.
        let (ended_ms, part_ms) = (from_ms / from, to_ms / to);
        let covered_ms = (to_ms + ended_ms).saturating_sub(gap_ms.max(ended_ms));
        let counted = lent.min((lent * covered_ms).div_ceil(part_ms));
        prop_assert!(left <= limit - counted, "{} of {} count, {} left", counted, limit, left);
    }
}

#[test]
fn units_that_come_back_in_their_part_are_lent_again_and_those_of_a_part_that_is_over_are_not() {
    let mut asked = Asked::new(rolling(10, 10_000, 10), at(0));
    assert_eq!(asked.lent(10, at(0)), 10);
    let label = asked.pool.window().label;
    let back = |window, units| vec![Return { window, units }];
    let reply = asked.exchange(1, back(label, 4), at(500));
    assert_eq!((reply.grants[0].units, reply.left), (1, 3));
    let reply = asked.exchange(5, back(label, 5), at(1_000));
    assert_eq!((reply.grants.len(), reply.left), (0, 3));
    assert_eq!(reply.window.label, WindowLabel(label.0 + 1));
}

#[test]
fn labels_count_the_parts_that_went_by() {
    let mut asked = Asked::new(rolling(10, 10_000, 10), at(0));
    let first = asked.exchange(1, Vec::new(), at(0)).window.label;
    assert_eq!(first.0, at(0).0, "the clock's millisecond");
    let later = asked.exchange(1, Vec::new(), at(3_500)).window;
    assert_eq!((later.label.0, later.remaining_ms), (first.0 + 3, 500));
    let idle = asked.exchange(1, Vec::new(), at(60_000)).window;
    assert_eq!((idle.label.0, idle.remaining_ms), (first.0 + 60, 1_000));
}

#[test]
fn a_clock_that_steps_back_keeps_the_part_one_more_length_and_forgets_nothing() {
    let mut asked = Asked::new(rolling(10, 10_000, 10), at(0));
    assert_eq!(asked.lent(6, at(0)), 6);
    assert_eq!(asked.lent(4, at(1_000)), 4);
    let label = asked.pool.window().label;
    // A day back.
    let back = EpochMs(at(1_500).0 - 86_400_000);
    let reply = asked.exchange(1, Vec::new(), back);
    assert_eq!(
        (reply.window.label, reply.window.remaining_ms),
        (label, 1_000)
    );
    assert_eq!(reply.left, 0);
    // The 6 begin to leave when their part is the tenth before: not one of them is forgotten before.
    for ms in (0..=9_000).step_by(500) {
        assert_eq!(asked.lent(1, back.plus(ms)), 0, "after {ms} ms");
    }
    assert_eq!(asked.lent(6, back.plus(10_000)), 6);
}

#[test]
fn a_row_that_cannot_be_read_closes_the_whole_rolling_window() {
    let terms = rolling(10, 10_000, 10);
    let mut asked = Asked::new(terms.clone(), at(0));
    assert_eq!(asked.lent(3, at(200)), 3);
    let label = asked.pool.window().label;
    asked.pool = Pool::damaged_keyed(Some(label), WindowLabel(0), terms, at(300));
    for ms in (300..11_000).step_by(100) {
        assert_eq!(asked.lent(1, at(ms)), 0, "after {ms} ms");
    }
    assert_eq!(asked.lent(10, at(11_000)), 10);
}

#[test]
fn a_pool_is_idle_when_nothing_that_it_lent_counts_any_more() {
    let mut asked = Asked::new(rolling(10, 10_000, 10), at(0));
    assert_eq!(asked.lent(3, at(200)), 3);
    for (ms, idle) in [
        (999, false),
        (1_000, false),
        (10_999, false),
        (11_000, true),
    ] {
        assert_eq!(asked.pool.idle(at(ms)), idle, "after {ms} ms");
    }
    let row = asked.row.clone().unwrap();
    assert!(row.expires_at() >= at(11_000));
    let nothing = Asked::new(rolling(10, 10_000, 10), at(0)).pool;
    assert!(!nothing.idle(at(999)) && nothing.idle(at(1_000)));
    let fixed = Terms {
        cycle: None,
        sharing: None,
        lease: None,
        standing: 0,
        ..rolling(10, 10_000, 10)
    };
    let mut asked = Asked::new(fixed, at(0));
    assert_eq!(asked.lent(3, at(200)), 3);
    assert!(!asked.pool.idle(at(9_999)) && asked.pool.idle(at(10_000)));
}

#[test]
fn a_window_that_begins_to_roll_counts_what_the_last_one_lent() {
    let fixed = Terms {
        cycle: None,
        sharing: None,
        lease: None,
        standing: 0,
        ..rolling(10, 10_000, 10)
    };
    let mut asked = Asked::new(fixed, at(0));
    assert_eq!(asked.lent(7, at(9_900)), 7);
    asked.terms = Terms {
        revision: Revision(2),
        ..rolling(10, 10_000, 10)
    };
    let reply = asked.exchange(4, Vec::new(), at(9_950));
    assert_eq!(
        (reply.left, reply.window.remaining_ms),
        (3, 50),
        "not before its end"
    );
    let reply = asked.exchange(4, Vec::new(), at(10_000));
    assert_eq!((reply.left, reply.window.remaining_ms), (3, 1_000));
    assert_eq!(reply.retry_ms, Some(9_000 + 143)); // 7 leave within a second: one after 143 ms
}

#[test]
fn a_history_that_is_out_of_any_range_lends_nothing_and_does_not_panic() {
    let most = History::of(vec![u64::MAX; 100]);
    let mut asked = Asked::new(rolling(10, 10_000, 100), at(0));
    let window = asked.pool.window();
    assert_eq!(most.capacity(u64::MAX, &window, at(0)), 0);
    assert_eq!(
        most.retry_ms(10, u64::MAX, 1, &window, at(0)),
        Some(100 + 10_000)
    );
    let rolled = most.rolled((u64::MAX, u64::MAX), u64::MAX, (1, 100));
    assert!(rolled.is_over());
    assert_eq!(asked.lent(1, EpochMs(u64::MAX)), 1);
}

#[test]
fn a_quotas_windows_end_where_the_calendar_says() {
    let body = |cadence| PeriodBody {
        cadence,
        period_ms: None,
        anchor: None,
        offset_minutes: Some(60),
        time_zone: None,
        week_starts_on: None,
    };
    let day_ms = 86_400_000;
    // 2024-02-10T12:00:00Z, a Saturday. An hour ahead of UTC the days start at 23:00Z.
    let now = EpochMs(1_707_566_400_000);
    let cases = [
        (Cadence::CalendarDay, 11, day_ms),
        (Cadence::CalendarWeek, 24 + 11, 7 * day_ms),
        (Cadence::CalendarMonth, 19 * 24 + 11, 29 * day_ms),
    ];
    for (cadence, hours, window_ms) in cases {
        let terms = Terms {
            cycle: Some(Cycle::Calendar(body(cadence))),
            sharing: None,
            lease: None,
            standing: 0,
            ..rolling(10, 31 * day_ms, 1)
        };
        let mut asked = Asked::new(terms, now);
        assert_eq!(asked.lent(10, now), 10);
        let window = asked.pool.window();
        assert_eq!(window.ends_at, now.plus(hours * 3_600_000), "{cadence:?}");
        assert_eq!(window.window_ms, window_ms, "{cadence:?}");
        asked.dies();
        let last = EpochMs(window.ends_at.0 - 1);
        assert!(!asked.pool.idle(last) && asked.pool.idle(window.ends_at));
        assert_eq!(asked.lent(1, last), 0);
        let reply = asked.exchange(1, Vec::new(), window.ends_at);
        assert_eq!(reply.grants[0].units, 1);
        assert_eq!(reply.window.label.0, window.label.0 + 1);
    }
}

#[test]
fn a_period_starts_at_its_anchor() {
    let body = PeriodBody {
        cadence: Cadence::Fixed,
        period_ms: Some(10_000),
        anchor: Some(-3_000),
        offset_minutes: None,
        time_zone: None,
        week_starts_on: None,
    };
    let terms = Terms {
        cycle: Some(Cycle::Calendar(body)),
        sharing: None,
        lease: None,
        standing: 0,
        ..rolling(10, 10_000, 1)
    };
    let asked = Asked::new(terms, at(0));
    assert_eq!(asked.pool.window().ends_at, at(7_000));
}
