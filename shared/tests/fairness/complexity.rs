//! What a decision costs, in counted steps.

use weir_shared::fairness::ask::Party;
use weir_shared::fairness::share::{Rule, Share, ShareTerms};

use super::world::{moment, party, request, terms};

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
        share.settle(&member(index), index % AMOUNTS);
    }
    share
}

fn member(index: u64) -> Party {
    party(format!("t{index}"), 1 + index % WEIGHTS)
}

fn steps(share: &mut Share, act: impl FnOnce(&mut Share)) -> u64 {
    let before = share.operations();
    act(share);
    share.operations() - before
}

fn decide(share: &mut Share, party: &Party) {
    let at = moment(share, LIMIT, 500);
    let units = share.room(party, &request(3), &at).waiting;
    assert_eq!(units, 3);
    share.charge(&party.name, units);
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
    share.settle(&party("t11", 9), 11);
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
