//! The contract of lease, reconcile, refill and release: what it must hold, and what other limiters got wrong with it.

use proptest::prelude::*;
use weir_reference::leasing::{
    Coordinator, Engine, EngineSettings, Parents, RegionalEscrow, WindowStart, Windows,
};
use weir_shared::decision::Reason;
use weir_shared::invalid::read_json;
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;
use weir_shared::wire::policy::Outage;

const WINDOW_MS: u64 = 1_000;

fn windows() -> Windows {
    Windows::new(WINDOW_MS).unwrap()
}

fn settings(limit: u64, batch: u64, has_regional: bool, outage: Outage) -> EngineSettings {
    EngineSettings {
        limit,
        windows: windows(),
        batch,
        has_regional,
        outage,
        probe_ms: 5_000,
    }
}

fn alone(coordinator: &mut Coordinator) -> Parents<'_> {
    Parents {
        regional: None,
        coordinator: Some(coordinator),
    }
}

/// What happens to one of four processes in two regions, whose clocks differ.
#[derive(Debug, Clone)]
struct Event {
    process: usize,
    cost: u64,
    after_ms: u64,
    is_coordinator_up: bool,
    is_region_up: bool,
    resets: bool,
}

fn event() -> impl Strategy<Value = Event> {
    let up = || prop::bool::weighted(0.8);
    let parts = (
        0..4_usize,
        1..25_u64,
        0..300_u64,
        up(),
        up(),
        prop::bool::weighted(0.05),
    );
    parts.prop_map(
        |(process, cost, after_ms, is_coordinator_up, is_region_up, resets)| Event {
            process,
            cost,
            after_ms,
            is_coordinator_up,
            is_region_up,
            resets,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Outages of either parent, clocks up to two windows apart, processes that forget: no window admits more than its
    /// budget.
    #[test]
    fn no_window_admits_more_than_its_budget_whichever_clock_lags(
        events in proptest::collection::vec(event(), 1..120),
        skews_ms in proptest::array::uniform4(0..2 * WINDOW_MS),
        budget in 1..60_u64,
        batch in 1..30_u64,
        has_regional in any::<bool>(),
        is_fail_closed in any::<bool>(),
    ) {
        let outage = if is_fail_closed { Outage::FailClosed } else { Outage::RegionalOnly };
        let settings = settings(budget, batch, has_regional, outage);
        let mut coordinator = Coordinator::new(budget, windows()).unwrap();
        let mut regions = [RegionalEscrow::new(), RegionalEscrow::new()];
        let mut engines: Vec<Engine> = (0..4)
            .map(|process| Engine::new(["weur", "oc"][process / 2], settings).unwrap())
            .collect();
        let mut admitted: OrderedMap<EpochMs, u64> = OrderedMap::new();
        let mut time_ms = 10_000;
        for event in events {
            time_ms += event.after_ms;
            let now = EpochMs(time_ms + skews_ms[event.process]);
            let engine = &mut engines[event.process];
            if event.resets {
                engine.reset("k");
            }
            let regional = Some(&mut regions[event.process / 2]);
            let parents = Parents {
                regional: regional.filter(|_| has_regional && event.is_region_up),
                coordinator: Some(&mut coordinator).filter(|_| event.is_coordinator_up),
            };
            let decision = engine.check("k", event.cost, parents, now).unwrap();
            if decision.admitted() {
                *admitted.entry(decision.reset_at).or_default() += event.cost;
            }
            for (ends_at, units) in &admitted {
                prop_assert!(*units <= budget, "{units} of {budget} in the window that ends at {ends_at}");
            }
        }
    }
}

#[test]
fn an_oversize_request_leases_nothing() {
    let mut coordinator = Coordinator::new(100, windows()).unwrap();
    let mut greedy = Engine::new("weur", settings(100, 8, false, Outage::FailClosed)).unwrap();
    let now = EpochMs(10);
    let denied = greedy
        .check("k", 101, alone(&mut coordinator), now)
        .unwrap();
    assert_eq!(denied.reason, Reason::Never);
    assert_eq!(coordinator.remaining("k", now), 100);
    let mut other = Engine::new("oc", settings(100, 8, false, Outage::FailClosed)).unwrap();
    let admitted = other.check("k", 100, alone(&mut coordinator), now).unwrap();
    assert!(admitted.admitted());
}

#[test]
fn a_leftover_of_one_window_is_not_credited_to_the_next() {
    let mut coordinator = Coordinator::new(100, windows()).unwrap();
    let (first, next) = (WindowStart(EpochMs(0)), WindowStart(EpochMs(1_000)));
    assert_eq!(coordinator.lease("k", "weur", 16, first, EpochMs(10)), 16);
    assert_eq!(coordinator.lease("k", "oc", 90, next, EpochMs(1_010)), 90);
    assert_eq!(
        coordinator.reconcile("k", "weur", 16, first, EpochMs(1_020)),
        0
    );
    assert_eq!(coordinator.remaining("k", EpochMs(1_020)), 10);
}

#[test]
fn a_region_gives_back_at_most_what_it_was_lent() {
    let mut coordinator = Coordinator::new(100, windows()).unwrap();
    let (window, now) = (WindowStart(EpochMs(0)), EpochMs(10));
    coordinator.lease("k", "weur", 60, window, now);
    coordinator.lease("k", "oc", 10, window, now);
    assert_eq!(coordinator.reconcile("k", "oc", 70, window, now), 10);
    assert_eq!(coordinator.reconcile("k", "me", 70, window, now), 0);
    assert_eq!(coordinator.remaining("k", now), 40);
}

#[test]
fn a_process_whose_clock_lags_is_lent_nothing_of_a_window_that_is_over() {
    let mut coordinator = Coordinator::new(100, windows()).unwrap();
    let mut ahead = Engine::new("weur", settings(100, 8, false, Outage::FailClosed)).unwrap();
    let mut behind = Engine::new("oc", settings(100, 8, false, Outage::FailClosed)).unwrap();
    let mut check = |engine: &mut Engine, cost, now| {
        let decision = engine.check("k", cost, alone(&mut coordinator), EpochMs(now));
        decision.unwrap().admitted()
    };
    assert!(check(&mut ahead, 100, 1_001));
    assert!(!check(&mut behind, 1, 999));
    assert!(!check(&mut behind, 1, 1_002));
}

#[test]
fn a_grant_that_arrives_after_the_roll_is_forfeited() {
    let mut coordinator = Coordinator::new(100, windows()).unwrap();
    let mut engine = Engine::new("weur", settings(100, 8, false, Outage::FailClosed)).unwrap();
    let first = WindowStart(EpochMs(0));
    engine
        .check("k", 8, alone(&mut coordinator), EpochMs(10))
        .unwrap();
    assert!(engine.credit("k", 16, first, EpochMs(999)));
    assert_eq!(engine.balance("k"), Some((16, EpochMs(1_000))));
    assert!(!engine.credit("k", 16, first, EpochMs(1_000)));
    assert_eq!(engine.balance("k"), Some((16, EpochMs(1_000))));
}

#[test]
fn regional_only_serves_from_the_region_and_probes_every_five_seconds() {
    let mut settings = settings(100, 8, true, Outage::RegionalOnly);
    settings.windows = Windows::new(60_000).unwrap();
    let mut coordinator = Coordinator::new(100, settings.windows).unwrap();
    let mut region = RegionalEscrow::new();
    region.refill("k", 10, WindowStart(EpochMs(0)));
    let mut engine = Engine::new("weur", settings).unwrap();
    let mut check = |cost, is_up: bool, now| {
        let parents = Parents {
            regional: Some(&mut region),
            coordinator: Some(&mut coordinator).filter(|_| is_up),
        };
        let decision = engine.check("k", cost, parents, EpochMs(now)).unwrap();
        (decision.admitted(), decision.remaining)
    };
    assert_eq!(check(8, false, 0), (true, 0));
    assert_eq!(check(2, false, 1), (true, 0));
    // Nothing is left: the coordinator is asked for the first time, and lost.
    assert_eq!(check(1, false, 2), (false, 0));
    assert_eq!(check(1, true, 5_001), (false, 0)); // not asked
    assert_eq!(check(1, true, 5_002), (true, 7)); // found well
}

#[test]
fn only_what_has_windows_federates() {
    let windows = |text: &str| Windows::of(&read_json(text.as_bytes()).unwrap());
    for good in [
        r#"{"algorithm":"fixed_window","limit":10,"window_ms":1000}"#,
        r#"{"algorithm":"sliding_window","limit":10,"window_ms":1000}"#,
        r#"{"algorithm":"quota","limit":10,"cadence":"fixed","period_ms":1000}"#,
    ] {
        assert!(windows(good).is_ok(), "{good}");
    }
    for (bad, field) in [
        (
            r#"{"algorithm":"gcra","limit":10,"period_ms":1000}"#,
            "/algorithm",
        ),
        (
            r#"{"algorithm":"token_bucket","capacity":10,"refill_per_sec":1}"#,
            "/algorithm",
        ),
        (
            r#"{"algorithm":"sliding_log","limit":10,"window_ms":1000}"#,
            "/algorithm",
        ),
        (
            r#"{"algorithm":"leaky_bucket","rate_per_sec":1,"max_queue_ms":5}"#,
            "/algorithm",
        ),
        (
            r#"{"algorithm":"quota","limit":10,"cadence":"calendar_day"}"#,
            "/cadence",
        ),
        (r#"{"algorithm":"fixed_window","limit":10}"#, "/window_ms"),
        (
            r#"{"algorithm":"fixed_window","limit":10,"window_ms":0}"#,
            "/window_ms",
        ),
    ] {
        assert_eq!(windows(bad).unwrap_err().field, field, "{bad}");
    }
}

#[test]
fn a_region_gives_nothing_of_a_window_that_is_over() {
    let (first, next) = (WindowStart(EpochMs(0)), WindowStart(EpochMs(1_000)));
    let mut region = RegionalEscrow::new();
    assert!(region.refill("k", 16, first));
    assert_eq!(region.lease("k", 8, next), 0);
    assert!(region.refill("k", 4, next));
    assert_eq!(region.balance("k"), 4);
    assert_eq!(region.release("k", first), 0);
    assert_eq!(region.release("k", next), 4);
    assert_eq!(region.release("k", next), 0); // the first one got it
}

#[test]
fn a_leftover_that_is_told_twice_is_credited_once() {
    let mut coordinator = Coordinator::new(100, windows()).unwrap();
    let (window, now) = (WindowStart(EpochMs(0)), EpochMs(10));
    coordinator.lease("k", "weur", 100, window, now);
    for _ in 0..3 {
        coordinator.reconcile("k", "weur", 20, window, now);
    }
    assert_eq!(coordinator.remaining("k", now), 20);
}
