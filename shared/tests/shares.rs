//! How a window is divided when nothing goes wrong: tables that the run prints, each with its bound.

use crate::simulator::measured::Measured;
use crate::simulator::run;
use crate::simulator::setup::Setup;
use crate::simulator::shapes::Shape;
use crate::simulator::tenants::{sharing, zipf};
use weir_shared::fairness::ask::{Ask, Moment};
use weir_shared::fairness::share::Share;
use weir_shared::federation::message::share_terms;
use weir_shared::limits::STANDING_WINDOWS;
use weir_shared::wire::exchange::RuleBody;

/// Sums over windows.
fn sum(windows: &[Measured], of: impl Fn(&Measured) -> u64) -> u64 {
    windows.iter().map(of).sum()
}

/// Of the demand, what comes from each of three regions: a third each at skew 0, all from the first at skew 1.
fn skewed(skew: f64) -> [f64; 3] {
    let other = (1.0 - skew) / 3.0;
    [1.0 - 2.0 * other, other, other]
}

#[test]
fn a_window_is_used_up_whichever_region_asks() {
    println!("skew  federated  static partition");
    for skew in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let (limit, demand) = (300, 450.0);
        let mut setup = Setup::measured(7, (3, 2), (limit, 10_000), 8);
        for (region, part) in skewed(skew).into_iter().enumerate() {
            for isolate in 0..2 {
                let units = demand * part / 2.0;
                if units > 0.0 {
                    setup = setup.asks(2 * region + isolate, None, 1, units);
                }
            }
        }
        let windows = run(&setup).measured(&setup);
        assert!(windows.len() >= 6, "{} windows", windows.len());
        let used = sum(&windows, |window| window.admitted) as f64
            / sum(&windows, |window| window.limit) as f64;
        // A third of the limit for each region, however much it asks for.
        let third = limit as f64 / 3.0;
        let parts = skewed(skew).map(|part| (demand * part).min(third));
        let control = parts.iter().sum::<f64>() / limit as f64;
        println!("{skew:4}  {used:9.3}  {control:16.3}");
        assert!((0.99..=1.0).contains(&used), "{used} at skew {skew}");
        assert!(windows.iter().all(|window| window.admitted <= limit));
    }
}

/// The share of each of three tenants, of weights 1, 2 and 4, in the units that were admitted.
fn shares_of_three(setup: &Setup) -> Vec<[f64; 3]> {
    let windows = run(setup).measured(setup);
    let share = |window: &Measured, tenant| window.of(tenant) as f64 / window.limit as f64;
    let shares = windows
        .iter()
        .map(|window| [0, 1, 2].map(|tenant| share(window, tenant)));
    shares.collect()
}

#[test]
fn late_starters_find_their_share_from_the_second_window_on() {
    println!("rule    late    1/7    2/7    4/7   (worst window)");
    let mut worst_of_all: f64 = 0.0;
    for rule in [RuleBody::Pinned, RuleBody::Paced] {
        for late_ms in [50, 200, 500] {
            let mut setup = Setup::measured(11, (3, 2), (7_000, 10_000), 6);
            setup = setup.shared_by(rule, &[1.0, 2.0, 4.0]);
            for place in 0..6 {
                // The first floods from the start of each window, at twice the whole limit; the others come late.
                setup = setup.asks(place, Some(0), 1, 14_000.0 / 6.0);
                setup = setup.asks_late(place, Some(1), (1, 7_000.0 / 6.0), late_ms);
                setup = setup.asks_late(place, Some(2), (1, 14_000.0 / 6.0), late_ms);
            }
            let ideal = [1.0 / 7.0, 2.0 / 7.0, 4.0 / 7.0];
            let shares = shares_of_three(&setup);
            let off = |share: &[f64; 3]| {
                let parts = share.iter().zip(ideal);
                parts
                    .map(|(got, ideal)| (got / ideal - 1.0).abs())
                    .fold(0.0, f64::max)
            };
            let worst = shares
                .iter()
                .max_by(|a, b| off(a).total_cmp(&off(b)))
                .unwrap();
            println!(
                "{rule:?}  {late_ms:4}  {:.4} {:.4} {:.4}   {:.4}",
                worst[0],
                worst[1],
                worst[2],
                off(worst)
            );
            worst_of_all = worst_of_all.max(off(worst));
        }
    }
    assert!(worst_of_all <= 0.02, "{worst_of_all}");
}

#[test]
fn a_busy_tenant_uses_what_quiet_ones_in_other_regions_leave() {
    let mut setup = Setup::measured(13, (3, 2), (3_000, 10_000), 6);
    setup = setup.shared_by(RuleBody::Paced, &[1.0, 1.0, 1.0]);
    setup = setup
        .asks(0, Some(0), 1, 4_000.0)
        .asks(1, Some(0), 1, 4_000.0);
    setup = setup.asks(2, Some(1), 1, 30.0).asks(4, Some(2), 1, 30.0);
    let windows = run(&setup).measured(&setup);
    for window in &windows {
        println!(
            "window {}: {:.3} used, busy {}, quiet {} and {}",
            window.label,
            window.used(),
            window.of(0),
            window.of(1),
            window.of(2)
        );
    }
    assert!(windows.iter().all(|window| window.used() >= 0.95));
}

/// A region of three isolates, three tenants of weights 6, 2 and 1 that ask for twice the limit, each mostly at one isolate; the
/// second stops soon after a window has begun.
fn one_stops(seed: u64, standing: u64) -> Setup {
    let (limit, window_ms) = (450, 3_000);
    let mut setup = Setup::measured(seed, (1, 3), (limit, window_ms), 10);
    setup = setup.shared_by(RuleBody::Paced, &[6.0, 2.0, 1.0]);
    setup.standing = standing;
    for (tenant, place) in (0..3).flat_map(|tenant| [0, 1, 2].map(|place| (tenant, place))) {
        let part = if place == tenant { 5.0 } else { 1.0 };
        setup = setup.asks(place, Some(tenant), 1, 2.0 * limit as f64 * part / 7.0);
    }
    for asker in setup.askers.iter_mut().filter(|one| one.tenant == Some(1)) {
        asker.until_ms = 6 * window_ms + window_ms / 20;
    }
    setup
}

#[test]
fn what_a_tenant_that_stops_leaves_is_had_by_the_others_from_the_next_window_on() {
    let mut worst: f64 = 1.0;
    for (seed, standing) in (0..24).flat_map(|seed| [0, STANDING_WINDOWS].map(|more| (seed, more)))
    {
        let setup = one_stops(seed, standing);
        let windows = run(&setup).measured(&setup);
        let without = windows.iter().filter(|window| window.of(1) == 0);
        let used: Vec<f64> = without.map(Measured::used).collect();
        assert!(used.len() >= 2, "{seed}: {windows:?}");
        worst = used.into_iter().fold(worst, f64::min);
    }
    // The last that its reserve lets go is released when nobody can be told of it any more.
    println!("worst window without it: {worst:.3} used");
    assert!(worst >= 0.96, "{worst}");
}

/// What the tenants of a run that ask by Zipf's law use of its limit where one account sees each of so many requests a
/// window.
fn used_by_one_account(setup: &Setup, requests: u64) -> f64 {
    let (limit, window_ms) = (setup.limit, setup.window_ms);
    let terms = share_terms(&sharing(RuleBody::Paced, setup.tenants.len()));
    let mut share = Share::new(terms.expect("the terms of the simulator are in range"));
    let turns = zipf(setup.tenants.len());
    let whole = turns.last().copied().expect("there are tenants");
    let ask = Ask {
        waiting: 1,
        smallest: 1,
        holders: 1,
        ..Ask::default()
    };
    for _ in 0..setup.windows {
        share.roll();
        for request in 0..requests {
            let at = Moment {
                limit,
                unlent: limit - share.used_total(),
                left_ms: window_ms - request * window_ms / requests,
                window_ms,
            };
            // The golden ratio spreads the turns evenly (Weyl, 1916).
            let turn = ((request * 0x9e37_79b9 % (1 << 32)) * (whole >> 16)) >> 16;
            let party = &setup.tenants[turns.partition_point(|turns| *turns <= turn)].claimant;
            let room = share.room(party, &ask, &at);
            share.charge(&party.name, room.waiting);
        }
    }
    share.used_total() as f64 / limit as f64
}

#[test]
fn tenants_that_share_behind_leases_use_nine_tenths_of_what_one_account_would() {
    const RATE_PER_SEC: u64 = 2_000;
    const WINDOW_SECS: u64 = 10;
    println!("tenants  one account  12 isolates in 3 regions");
    for tenants in [10, 100, 1_000] {
        let (shape, window_ms) = (Shape::ZipfShared, WINDOW_SECS * 1_000);
        let mut setup = Setup::shaped_by(shape, tenants, RATE_PER_SEC, (3, 4), window_ms, 3);
        setup.unchecked = true;
        let leased = run(&setup).used(&setup).utilization;
        let one = used_by_one_account(&setup, RATE_PER_SEC * WINDOW_SECS);
        println!("{tenants:7}  {one:11.3}  {leased:24.3}");
        assert!(leased >= 0.9 * one, "{leased} of {one}, {tenants} tenants");
    }
}

#[test]
fn who_asks_faster_gets_no_more() {
    let mut setup = Setup::measured(17, (2, 2), (6_000, 10_000), 6);
    setup = setup.shared_by(RuleBody::Paced, &[1.0, 1.0]);
    for place in 0..2 {
        setup = setup.asks(place, Some(0), 1, 30_000.0);
        setup = setup.asks(2 + place, Some(1), 1, 3_000.0);
    }
    let windows = run(&setup).measured(&setup);
    for window in &windows {
        let (fast, slow) = (window.of(0), window.of(1));
        println!(
            "window {}: fast {fast}, slow {slow}, {:.3} used",
            window.label,
            window.used()
        );
        let ratio = fast as f64 / slow as f64;
        assert!((0.98..=1.02).contains(&ratio), "{fast} to {slow}");
    }
}

/// Ten tenants of weights 1, 2 and 4 ask for more than there is, by costs up to `cost_max`, at every isolate.
fn backlogged(rule: RuleBody, cost_max: u64) -> Setup {
    let weights = [1.0, 2.0, 4.0, 1.0, 2.0, 4.0, 1.0, 2.0, 4.0, 1.0];
    let limit = 22_000 * cost_max;
    let mut setup = Setup::measured(19, (3, 2), (limit, 10_000), 4).shared_by(rule, &weights);
    for tenant in 0..weights.len() {
        let cost = 1 + tenant as u64 % cost_max;
        setup = setup.asks_everywhere(Some(tenant), cost, 6_000.0 * cost_max as f64);
    }
    setup
}

#[test]
fn backlogged_tenants_are_within_their_leases_of_the_ideal() {
    println!("rule    cost  worst |a - ideal|  bound");
    for (rule, cost_max) in [
        (RuleBody::Pinned, 1),
        (RuleBody::Paced, 1),
        (RuleBody::Paced, 4),
    ] {
        let setup = backlogged(rule, cost_max);
        let report = run(&setup);
        let windows = report.measured(&setup);
        let weights: Vec<f64> = setup
            .tenants
            .iter()
            .map(|t| t.claimant.claim.weight.as_f64())
            .collect();
        let all: f64 = weights.iter().sum();
        let off = |window: &Measured, tenant: usize| {
            (window.of(tenant) as f64 - window.limit as f64 * weights[tenant] / all).abs()
        };
        let pairs = windows
            .iter()
            .flat_map(|window| (0..weights.len()).map(move |t| (window, t)));
        let worst = pairs
            .map(|(window, tenant)| off(window, tenant))
            .fold(0.0, f64::max);
        // Six isolates and three regions hold leases; a quantum is the largest lease, counted in costs.
        let quantum = report.truth.ahead_max.div_ceil(cost_max);
        let bound = (cost_max * 9 * (2 * quantum + 1)) as f64;
        println!(
            "{rule:?}  {cost_max:4}  {worst:17.0}  {bound:5.0} (largest lease {})",
            report.truth.ahead_max
        );
        assert!(worst <= bound);
    }
}
