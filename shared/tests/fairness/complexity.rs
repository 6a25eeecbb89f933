//! What a decision costs, in counted steps.

use weir_shared::fairness::ask::Claimant;
use weir_shared::fairness::share::{Rule, Share, ShareTerms};

use weir_reference::federated_escrow::FederatedEscrow;
use weir_reference::region_pool::RegionPool;
use weir_shared::units::EpochMs;

use super::world::{claimant, moment, request, terms, weight};

const LIMIT: u64 = 1 << 40;

/// Distinct weights.
const WEIGHTS: u64 = 8;

/// Amounts that tenants have used, each a node of a tree.
const AMOUNTS: u64 = 65_536;

/// `tenants` that have used very different amounts.
fn crowd(rule: Rule, tenants: u64) -> Share {
    let mut share = Share::new(ShareTerms {
        tenants_max: tenants,
        ..terms(rule)
    });
    for index in 0..tenants {
        share.set_used(&member(index), index % AMOUNTS);
    }
    share
}

fn member(index: u64) -> Claimant {
    claimant(format!("t{index}"), 1 + index % WEIGHTS)
}

fn steps(share: &mut Share, act: impl FnOnce(&mut Share)) -> u64 {
    let before = share.operations();
    act(share);
    share.operations() - before
}

fn decide(share: &mut Share, claimant: &Claimant) {
    let at = moment(share, LIMIT, 500);
    let units = share.room(claimant, &request(3), &at).waiting;
    assert_eq!(units, 3);
    share.charge(&claimant.name, units);
}

/// Steps of a decision while the weights stand, and of one after a weight has changed and 10 were charged.
fn costs(rule: Rule, tenants: u64) -> (u64, u64) {
    let mut share = crowd(rule, tenants);
    decide(&mut share, &member(0));
    let standing = steps(&mut share, |share| {
        for index in 0..10 {
            decide(share, &member(index));
        }
    });
    share.set_used(&claimant("t11", 9), 11);
    let changed = steps(&mut share, |share| decide(share, &member(1)));
    (standing / 10, changed)
}

#[test]
fn a_decision_costs_the_same_for_any_number_of_tenants_while_the_weights_stand() {
    println!("| rule | tenants | steps, weights stand | steps, weights changed | a scan |");
    println!("| --- | --- | --- | --- | --- |");
    for rule in [Rule::Pinned, Rule::Weighted] {
        for tenants in [100, 10_000, 1_000_000] {
            let (standing, changed) = costs(rule, tenants);
            println!("| {rule:?} | {tenants} | {standing} | {changed} | {tenants} |");
            assert!(standing <= 4, "{rule:?}, {tenants}: {standing} steps");
            // A tree of n used amounts is at most 1.45 log2(n) high. Each of 9 classes is read once, and each of 11
            // members is taken out of its tree and put back, with one more way down where a node has two sides.
            let height = (1.45 * (tenants.min(AMOUNTS) as f64).log2()).ceil() as u64;
            let bound = (WEIGHTS + 1) * (height + 2) + 11 * (3 * height + 3) + 10;
            assert!(
                changed <= bound,
                "{rule:?}, {tenants}: {changed} steps, at most {bound}"
            );
        }
    }
}

/// With every decision a new weight, as each tenant that comes makes one.
#[test]
fn tenants_that_come_cost_what_the_distinct_weights_cost() {
    let mut share = Share::new(ShareTerms {
        tenants_max: 100_000,
        ..terms(Rule::Pinned)
    });
    let tenants = 100_000;
    let all = steps(&mut share, |share| {
        for index in 0..tenants {
            decide(share, &member(index));
        }
    });
    // All have used the same 3 units, so each class is one node; a scan takes n / 2 on average.
    let each = all / tenants;
    println!(
        "{each} steps for each that comes; a scan takes {}",
        tenants / 2
    );
    assert!(each <= 60, "{each} steps");
}

/// Units of a guarantee for each unit of weight.
const PER_WEIGHT: u64 = 1_000;

/// What a tenant asks for, and what it has used before of its guarantee.
struct Path {
    name: &'static str,
    /// Units of the guarantee that are left.
    left: u64,
    cost: u64,
    served: u64,
}

const PATHS: [Path; 3] = [
    Path {
        name: "admit",
        left: PER_WEIGHT,
        cost: 1,
        served: 1,
    },
    Path {
        name: "borrow",
        left: 1,
        cost: 2,
        served: 2,
    },
    Path {
        name: "deny",
        left: 0,
        cost: 1,
        served: 0,
    },
];

/// `tenants` that have so many units of their guarantee left, and one that has all.
fn standing(tenants: u64, left: u64) -> (Share, u64) {
    let mut share = Share::new(ShareTerms {
        tenants_max: tenants,
        ..terms(Rule::Pinned)
    });
    let mut limit = 0;
    for index in 0..=tenants {
        let guarantee = (1 + index % WEIGHTS) * PER_WEIGHT;
        let used = if index < tenants { guarantee - left } else { 0 };
        share.set_used(&member(index), used);
        limit += guarantee;
    }
    (share, limit)
}

/// The rule as it is written down, tenant by tenant: what is served, and how many were looked at.
fn scanned(used: &[(u64, u64)], at: usize, limit: u64, cost: u64) -> (u64, u64) {
    let pool = limit - used.iter().map(|(used, _)| used).sum::<u64>();
    let others = used.iter().enumerate().filter(|(index, _)| *index != at);
    let kept: u64 = others
        .map(|(_, (used, guarantee))| guarantee.saturating_sub(*used))
        .sum();
    let (own, guarantee) = used[at];
    let most = guarantee + cost.min(pool.saturating_sub(kept));
    let served = if cost <= pool && own + cost <= most {
        cost
    } else {
        0
    };
    (served, 2 * used.len() as u64)
}

#[test]
fn a_decision_of_each_path_grows_no_more_than_threefold_from_100_to_a_million_tenants() {
    println!("| path | tenants | steps | a scan |");
    println!("| --- | --- | --- | --- |");
    for path in PATHS {
        let mut first = None;
        for tenants in [100, 10_000, 1_000_000] {
            let (mut share, limit) = standing(tenants, path.left);
            let rows = (0..=tenants).map(|index| {
                let guarantee = (1 + index % WEIGHTS) * PER_WEIGHT;
                let left = if index < tenants {
                    path.left
                } else {
                    guarantee
                };
                (guarantee - left, guarantee)
            });
            let used: Vec<(u64, u64)> = rows.collect();
            let (mut taken, mut looked_at) = (0, 0);
            for index in [0, 17, tenants / 2, tenants - 1] {
                let claimant = member(index);
                let at = moment(&share, limit, 500);
                let by_scan = scanned(&used, index as usize, limit, path.cost);
                // What holds while weights stand is found first.
                let _room = share.room(&claimant, &request(path.cost), &at);
                taken += steps(&mut share, |share| {
                    let served = share.room(&claimant, &request(path.cost), &at).waiting;
                    assert_eq!(
                        (served, by_scan.0),
                        (path.served, path.served),
                        "{}",
                        path.name
                    );
                    share.charge(&claimant.name, served);
                });
                share.set_used(&claimant, used[index as usize].0);
                looked_at += by_scan.1;
            }
            println!(
                "| {} | {tenants} | {} | {} |",
                path.name,
                taken / 4,
                looked_at / 4
            );
            let first = *first.get_or_insert((taken, looked_at));
            assert!(taken <= 3 * first.0, "{}: {taken}, {}", path.name, first.0);
            assert!(
                looked_at >= tenants / 200 * first.1,
                "the control grows with them"
            );
        }
    }
}

#[test]
fn a_federated_decision_grows_no_more_than_threefold_from_100_to_100_000_tenants() {
    let mut first = None;
    for tenants in [100, 10_000, 100_000] {
        let mut pool = RegionPool::new(1 << 50, 3_600_000).unwrap();
        let mut region = FederatedEscrow::new("weur");
        let mut check = |index: u64, cost: u64| {
            let name = format!("t{index}");
            let before = region.operations();
            let decided = region.check(&mut pool, &name, weight(1_000_000), cost, EpochMs(3));
            (decided.unwrap().admitted(), region.operations() - before)
        };
        // The first leaves as much to each of the others as it has used.
        assert!(check(0, 1 << 20).0);
        for index in 1..tenants {
            assert!(check(index, 1).0);
        }
        let admitted: Vec<_> = (1..50).map(|index| check(index, 1)).collect();
        assert!(admitted.iter().all(|(admitted, _)| *admitted));
        let taken: u64 = admitted.iter().map(|(_, steps)| steps).sum();
        println!("{tenants} tenants: {} steps", taken / 49);
        let first = *first.get_or_insert(taken);
        assert!(taken <= 3 * first, "{tenants}: {taken}, {first}");
    }
}
