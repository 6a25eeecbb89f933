//! Units that lie idle for all, and allowances: how far a limit is used, who waits for a round trip, and what it costs,
//! beside a pool that goes to whoever comes first. Tables that the run prints, each with its bound.

mod shapes;

use crate::simulator::measured::Measured;
use crate::simulator::setup::Setup;
use crate::simulator::shapes::Shape;
use crate::simulator::{Report, START_MS, run};
use weir_shared::fairness::max_min::allocate;
use weir_shared::fairness::weight::Weight;
use weir_shared::ordered::OrderedMap;
use weir_shared::wire::exchange::RuleBody;

const RATE_PER_SEC: u64 = 2_000;
const WINDOW_MS: u64 = 10_000;
const MINUTE_MS: u64 = 60_000;
const SIZE: (usize, usize) = (3, 4);
const WINDOWS: u64 = 5;

/// What a run came to.
#[derive(Debug, Clone, Copy)]
struct Figures {
    /// Of the limits of whole windows.
    used: f64,
    /// Of all checks, those that waited for a round trip, once the first window has told who asks for what.
    waited: f64,
    /// The same of those that were denied.
    denied: f64,
    /// Calls of all objects a check.
    calls: f64,
    /// Units that were given to others than weighted max-min gives them to, of the limit.
    off: f64,
}

/// Tenants that ask by Zipf's law at twelve isolates in three regions, `multiple` times what 1.1 of a limit would be used up
/// by; `None`: first come.
fn crowd(rule: Option<RuleBody>, tenants: usize, multiple: u64) -> Figures {
    crowd_in((WINDOW_MS, WINDOWS), rule, tenants, multiple)
}

fn crowd_in(
    (window_ms, windows): (u64, u64),
    rule: Option<RuleBody>,
    tenants: usize,
    multiple: u64,
) -> Figures {
    let shape = match rule {
        Some(_) => Shape::ZipfShared,
        None => Shape::Zipf,
    };
    let mut setup = Setup::shaped_by(shape, tenants, RATE_PER_SEC, SIZE, window_ms, windows);
    setup.rule = rule;
    setup.limit *= multiple;
    figures(setup)
}

fn figures(mut setup: Setup) -> Figures {
    setup.unchecked = true;
    let report = run(&setup);
    let used = report.used(&setup);
    let (window_ms, windows) = (setup.window_ms, setup.windows);
    let known = used.checks * (windows - 1) as f64 / windows as f64;
    let windows = report.measured(&setup);
    let off: f64 = windows.iter().map(|one| off(one, &setup, &report)).sum();
    Figures {
        used: used.utilization,
        waited: waits_known(&report, window_ms) as f64 / known,
        denied: denials_known(&report, window_ms) as f64 / known,
        calls: used.calls() / used.checks,
        off: off / windows.len() as f64,
    }
}

/// Requests that waited after the first window.
fn waits_known(report: &Report, window_ms: u64) -> usize {
    let waits = report.truth.waits.iter();
    waits.filter(|at| **at >= START_MS + window_ms).count()
}

/// Requests that were denied after it.
fn denials_known(report: &Report, window_ms: u64) -> usize {
    let denials = report.truth.denials.iter();
    denials
        .filter(|(at, _)| *at >= START_MS + window_ms)
        .count()
}

/// How far a window is from weighted max-min of what each tenant asked for in it.
fn off(window: &Measured, setup: &Setup, report: &Report) -> f64 {
    let ends_at_ms = report.truth.windows[&window.label].ends_at_ms;
    let open = ends_at_ms - setup.window_ms..ends_at_ms;
    let mut demands: OrderedMap<Option<usize>, u64> = OrderedMap::new();
    for (tenant, units) in &window.tenants {
        *demands.entry(*tenant).or_default() += units;
    }
    let denials = report.truth.denials.iter();
    for (_, ask) in denials.filter(|(at, _)| open.contains(at)) {
        *demands.entry(ask.tenant).or_default() += ask.cost;
    }
    let weight = |tenant: &Option<usize>| {
        tenant.map_or(Weight::WHOLE, |index| {
            setup.tenants[index].claimant.claim.weight
        })
    };
    let weights: Vec<_> = demands.keys().map(weight).collect();
    let asked: Vec<u64> = demands.values().copied().collect();
    let ideal = allocate(&asked, &weights, window.limit);
    let apart = demands.keys().zip(ideal);
    let apart: u64 = apart
        .map(|(tenant, ideal)| {
            window
                .tenants
                .get(tenant)
                .map_or(0, |units| *units)
                .abs_diff(ideal)
        })
        .sum();
    apart as f64 / 2.0 / window.limit as f64
}

#[test]
fn a_crowd_that_shares_a_pooled_budget_uses_it_up_as_whoever_comes_first_would() {
    println!("tenants  rule        used  waited  denied  calls a check  off max-min");
    for tenants in [10, 100, 1_000] {
        let print = |name: &str, one: Figures| {
            println!(
                "{tenants:7}  {name:10}  {:.3}  {:.4}  {:.4}  {:13.3}  {:11.3}",
                one.used, one.waited, one.denied, one.calls, one.off
            );
            one
        };
        let first_come = print("first come", crowd(None, tenants, 1));
        let paced = print("paced", crowd(Some(RuleBody::Paced), tenants, 1));
        for rule in [RuleBody::Pooled, RuleBody::None] {
            let one = print(&format!("{rule:?}"), crowd(Some(rule), tenants, 1));
            assert!(one.used >= 0.985, "{rule:?}, {tenants} tenants: {one:?}");
            assert!(
                one.used >= paced.used + 0.03,
                "{rule:?}: {one:?}, {paced:?}"
            );
            assert!(
                one.waited <= paced.waited / 20.0,
                "{rule:?}: {one:?}, {paced:?}"
            );
            assert!(
                one.waited <= first_come.waited / 2.0,
                "{rule:?}: {one:?}, {first_come:?}"
            );
            assert!(one.waited <= 0.01, "{rule:?}: {one:?}");
            assert!(
                one.calls <= paced.calls / 2.0,
                "{rule:?}: {one:?}, {paced:?}"
            );
        }
    }
}

#[test]
fn in_windows_of_a_minute_few_requests_wait_for_a_round_trip() {
    println!("tenants  rule        used  waited");
    let minutes = |rule, tenants| crowd_in((MINUTE_MS, 3), rule, tenants, 1);
    let first_come = minutes(None, 100);
    println!(
        "    100  first come  {:.3}  {:.4}",
        first_come.used, first_come.waited
    );
    for tenants in [10, 100] {
        let one = minutes(Some(RuleBody::Pooled), tenants);
        println!(
            "{tenants:7}  pooled      {:.3}  {:.4}",
            one.used, one.waited
        );
        assert!(one.used >= 0.99, "{one:?}");
        assert!(one.waited <= 0.005, "{one:?}");
        assert!(
            one.waited <= 0.25 * first_come.waited,
            "{one:?}, {first_come:?}"
        );
    }
}

#[test]
fn where_tenants_compete_for_nothing_a_pooled_budget_is_as_quick_as_first_come() {
    println!("tenants  rule        waited  denied  calls a check");
    for tenants in [10, 100, 1_000] {
        let print = |name: &str, one: Figures| {
            println!(
                "{tenants:7}  {name:10}  {:.4}  {:.4}  {:13.3}",
                one.waited, one.denied, one.calls
            );
            one
        };
        let first_come = print("first come", crowd(None, tenants, 2));
        let paced = print("paced", crowd(Some(RuleBody::Paced), tenants, 2));
        for rule in [RuleBody::Pooled, RuleBody::None] {
            let one = print(&format!("{rule:?}"), crowd(Some(rule), tenants, 2));
            assert!(
                one.waited <= first_come.waited + 0.004,
                "{one:?}, {first_come:?}"
            );
            assert!(one.denied <= 0.0005, "{one:?}");
            assert!(one.waited <= paced.waited / 2.0, "{one:?}, {paced:?}");
            assert!(
                one.calls <= 2.0 * first_come.calls,
                "{one:?}, {first_come:?}"
            );
        }
    }
}

/// Ten tenants of one weight that ask at two isolates each in bursts, each for no more than its guarantee of 600 units in a
/// window: how many of their requests are denied.
fn bursts(seed: u64, (late_ms, every_ms): (u64, u64), rate_per_sec: f64) -> f64 {
    let mut setup = Setup::measured(seed, SIZE, (6_000, WINDOW_MS), 6);
    setup = setup.shared_by(RuleBody::Pooled, &[1.0; 10]);
    let units = rate_per_sec * WINDOW_MS as f64 / 1_000.0;
    for tenant in 0..10 {
        for place in [tenant, (tenant + 5) % 12] {
            setup = setup.asks(place, Some(tenant), 1, units / 2.0);
        }
    }
    for asker in &mut setup.askers {
        (asker.late_ms, asker.every_ms) = (late_ms, every_ms);
    }
    let report = run(&setup);
    report.truth.denials.len() as f64 / report.checks() as f64
}

#[test]
fn who_asks_in_bursts_for_its_guarantee_is_hardly_denied() {
    println!("bursts of   every   at         denied");
    // Every other second, in a fifth of it, and once a window.
    for (quiet_ms, every_ms, rate, denied_max) in [
        (1_000, 2_000, 100.0, 0.003),
        (1_800, 2_000, 300.0, 0.005),
        (9_000, 10_000, 300.0, 0.03),
    ] {
        let denied: f64 = (1..=4)
            .map(|seed| bursts(seed, (quiet_ms, every_ms), rate))
            .sum::<f64>()
            / 4.0;
        println!(
            "{:6} ms {every_ms:6} ms {rate:6}/s    {denied:.4}",
            every_ms - quiet_ms
        );
        assert!(denied <= denied_max, "{denied}");
    }
}

#[test]
fn who_asks_faster_gets_little_more_of_a_pooled_budget() {
    let mut setup = Setup::measured(17, (2, 2), (6_000, WINDOW_MS), 6);
    setup = setup.shared_by(RuleBody::Pooled, &[1.0, 1.0]);
    for place in 0..2 {
        setup = setup.asks(place, Some(0), 1, 30_000.0);
        setup = setup.asks(2 + place, Some(1), 1, 3_000.0);
    }
    for window in run(&setup).measured(&setup) {
        let (fast, slow) = (window.of(0), window.of(1));
        println!(
            "window {}: fast {fast}, slow {slow}, {:.3} used",
            window.label,
            window.used()
        );
        let ratio = fast as f64 / slow as f64;
        assert!((0.98..=1.02).contains(&ratio), "{fast} to {slow}");
        assert!(window.used() >= 0.98);
    }
}

#[test]
fn late_heavy_tenants_of_a_pooled_budget_get_their_share() {
    println!("late     1/7    2/7    4/7    used");
    for late_ms in [50, 200, 500] {
        let mut setup = Setup::measured(11, (3, 2), (7_000, WINDOW_MS), 6);
        setup = setup.shared_by(RuleBody::Pooled, &[1.0, 2.0, 4.0]);
        for place in 0..6 {
            setup = setup.asks(place, Some(0), 1, 14_000.0 / 6.0);
            setup = setup.asks_late(place, Some(1), (1, 7_000.0 / 6.0), late_ms);
            setup = setup.asks_late(place, Some(2), (1, 14_000.0 / 6.0), late_ms);
        }
        for window in run(&setup).measured(&setup) {
            let of = |tenant| window.of(tenant) as f64 / window.limit as f64;
            println!(
                "{late_ms:4}  {:.4} {:.4} {:.4}   {:.3}",
                of(0),
                of(1),
                of(2),
                window.used()
            );
            assert!(of(0) <= 1.05 / 7.0 && of(2) >= 0.97 * 4.0 / 7.0);
            assert!(window.used() >= 0.98);
        }
    }
}

/// Of each window but the first, what each of three tenants of weights 1, 2 and 4 got of a limit of 350, who ask for three times
/// that: each in a region of its own, or all of them everywhere.
fn floods(rule: RuleBody, window_ms: u64, apart: bool) -> Vec<[u64; 3]> {
    let limit = 350;
    let mut setup = Setup::measured(11, (3, 1), (limit, window_ms), 8);
    setup = setup.shared_by(rule, &[1.0, 2.0, 4.0]);
    let rate = 3.0 * limit as f64 * 1_000.0 / window_ms as f64;
    for place in 0..3 {
        for tenant in (0..3).filter(|tenant| !apart || place == *tenant) {
            let rate = if apart { rate } else { rate / 3.0 };
            setup = setup.asks(place, Some(tenant), 1, rate);
        }
    }
    setup.unchecked = true;
    let report = run(&setup);
    let windows = report.measured(&setup).into_iter().skip(1);
    windows.map(|one| [0, 1, 2].map(|of| one.of(of))).collect()
}

#[test]
fn in_windows_of_three_seconds_a_pooled_budget_is_used_up_nearly_by_weight_and_a_pinned_one_by_weight()
 {
    println!("tenants     rule    windows' shares of 50, 100, 200");
    for apart in [true, false] {
        let shares = [RuleBody::Pinned, RuleBody::Pooled].map(|rule| {
            let shares = floods(rule, 3_000, apart);
            let place = if apart { "apart" } else { "everywhere" };
            println!("{place:10}  {rule:?}  {shares:?}");
            shares
        });
        let [pinned, pooled] = &shares;
        assert!(pinned.iter().all(|got| *got == [50, 100, 200]));
        let used = |shares: &[[u64; 3]]| shares.iter().flatten().sum::<u64>();
        assert!(used(pooled) * 100 >= used(pinned) * 95);
        for got in pooled {
            let [light, middle, heavy] = *got;
            assert!(light <= 65 && middle <= 110 && heavy >= 170, "{got:?}");
        }
    }
}
