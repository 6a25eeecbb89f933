//! Tenants below tenants.

use proptest::prelude::*;
use weir_shared::fairness::ask::{Ask, Claimant};
use weir_shared::fairness::share::{Rule, Share, ShareRow};

use super::world::{above, claimant, moment, take, terms};

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Leaves with a path of digits and a weight: "t012" lies below "t01", "t0".
fn leaves() -> impl Strategy<Value = Vec<(String, u64)>> {
    let path = prop::collection::vec(0..3_u8, 1..=4);
    prop::collection::btree_map(path, 1..=5_u64, 1..12).prop_map(|drawn| {
        let name = |path: &[u8]| {
            path.iter()
                .fold("t".to_owned(), |name, digit| format!("{name}{digit}"))
        };
        let all: Vec<(String, u64)> = drawn
            .iter()
            .map(|(path, weight)| (name(path), *weight))
            .collect();
        // Only those that have nobody below them ask.
        let is_leaf = |one: &str| {
            !all.iter()
                .any(|(other, _)| other != one && other.starts_with(one))
        };
        all.iter()
            .filter(|(name, _)| is_leaf(name))
            .cloned()
            .collect()
    })
}

/// The weight of a tenant: its own, or that of all leaves below it.
fn weight_of(name: &str, leaves: &[(String, u64)]) -> u64 {
    leaves
        .iter()
        .filter(|(leaf, _)| leaf.starts_with(name))
        .map(|(_, weight)| weight)
        .sum()
}

/// Each parent weighs what is below it.
fn nested(leaves: &[(String, u64)]) -> Vec<Claimant> {
    let members = leaves.iter().map(|(name, weight)| {
        let mut member = claimant(name.clone(), *weight);
        let parents = (2..name.len()).rev().map(|length| &name[..length]);
        member.claim.above = parents
            .map(|parent| above(parent, weight_of(parent, leaves)))
            .collect();
        member
    });
    members.collect()
}

fn opened(tenants: &[Claimant]) -> Share {
    let mut share = Share::new(terms(Rule::Pinned));
    for tenant in tenants {
        share.set_used(tenant, 0);
    }
    share
}

fn row<'a>(rows: &'a [ShareRow], name: &str) -> &'a ShareRow {
    rows.iter()
        .find(|row| row.name == name)
        .expect("every tenant has a row")
}

fn exhaust(share: &mut Share, tenants: &[Claimant], limit: u64) {
    let mut admitted = true;
    while admitted {
        admitted = tenants
            .iter()
            .fold(false, |any, tenant| take(share, tenant, 1, limit) | any);
    }
}

proptest! {
    #![proptest_config(config())]

    /// What is used below a tenant is what it has used: no more than its part of what the one above it may use, and
    /// what it may borrow.
    #[test]
    fn nothing_passes_the_ceiling_of_a_tenant_above(
        leaves in leaves(),
        borrow_max in 0..20_u64,
        asks in prop::collection::vec((0..12_usize, 1..30_u64), 1..80),
        limit in 1..=300_u64,
    ) {
        let mut tenants = nested(&leaves);
        for tenant in &mut tenants {
            for one in &mut tenant.claim.above {
                one.borrow_max = Some(borrow_max);
            }
        }
        let mut share = opened(&tenants);
        for (index, cost) in asks {
            take(&mut share, &tenants[index % tenants.len()], cost, limit);
        }
        let rows = share.rows(&moment(&share, limit, 1_000));
        for one in &rows {
            prop_assert_eq!(one.used, share.used(&one.name));
            if leaves.iter().any(|(leaf, _)| *leaf == one.name) {
                continue;
            }
            let below = leaves.iter().filter(|(leaf, _)| leaf.starts_with(&one.name));
            let used: u64 = below.map(|(leaf, _)| share.used(leaf)).sum();
            prop_assert_eq!(one.used, used);
            let most = (2..=one.name.len()).fold((limit, ""), |(above, parent), length| {
                let name = &one.name[..length];
                let part = above * weight_of(name, &leaves) / weight_of(parent, &leaves);
                (part + borrow_max, name)
            });
            prop_assert!(one.used <= most.0, "{one:?}, {most:?}");
        }
        prop_assert!(share.used_total() <= limit);
    }

    /// A parent that weighs the sum of those below it changes nothing but rounding: a unit for each level.
    #[test]
    fn parents_that_weigh_their_sum_change_nothing(leaves in leaves(), limit in 1..=3_000_u64) {
        let flat: Vec<Claimant> = leaves.iter().map(|(name, weight)| claimant(name.clone(), *weight)).collect();
        let tenants = nested(&leaves);
        let (mut one, mut other) = (opened(&flat), opened(&tenants));
        let (flat_rows, rows) = (one.rows(&moment(&one, limit, 1_000)), other.rows(&moment(&other, limit, 1_000)));
        for tenant in &tenants {
            let levels = tenant.claim.above.len() as u64;
            let (flat, nested) = (row(&flat_rows, &tenant.name).guarantee, row(&rows, &tenant.name).guarantee);
            prop_assert!(nested <= flat && flat <= nested + levels, "{tenant:?}: {flat}, {nested}");
        }
        exhaust(&mut one, &flat, limit);
        exhaust(&mut other, &tenants, limit);
        prop_assert_eq!(one.used_total(), limit);
        prop_assert_eq!(other.used_total(), limit);
        for tenant in &tenants {
            let levels = tenant.claim.above.len() as u64 + 1;
            let (flat, nested) = (one.used(&tenant.name), other.used(&tenant.name));
            prop_assert!(flat.abs_diff(nested) <= levels, "{}: {flat}, {nested}", tenant.name);
        }
    }

    /// Who moves below another parent takes along what it used; so does the whole.
    #[test]
    fn a_tenant_that_moves_takes_along_what_it_used(leaves in leaves(), to in 0..3_u8, used in 0..50_u64) {
        let tenants = nested(&leaves);
        let mut share = opened(&tenants);
        for tenant in &tenants {
            share.set_used(tenant, used);
        }
        let total = share.used_total();
        prop_assert_eq!(total, used * tenants.len() as u64);
        let mut moved = tenants[0].clone();
        moved.claim.above = vec![above(&format!("new{to}"), 3)];
        let at = moment(&share, 10_000, 1_000);
        share.room(&moved, &Ask::default(), &at);
        prop_assert_eq!(share.used_total(), total);
        prop_assert_eq!(share.used(&moved.name), used);
        prop_assert_eq!(share.used(&format!("new{to}")), used);
        moved.claim.above.clear();
        share.set_used(&moved, used + 1);
        prop_assert_eq!(share.used_total(), total + 1);
        prop_assert_eq!(share.used(&format!("new{to}")), 0);
    }
}

/// An organisation of 100, a team of half of it, a user of half of that, and so on: each depth works.
#[test]
fn every_depth_is_served() {
    let chain = ["org", "team", "group", "user"];
    for depth in 1..=4 {
        let mut tenant = claimant(chain[depth - 1], 1);
        tenant.claim.above = chain[..depth - 1]
            .iter()
            .rev()
            .map(|name| above(name, 1))
            .collect();
        let mut share = Share::new(terms(Rule::Pinned));
        share.set_used(&tenant, 0);
        // A sibling at every level but the first, and another organisation.
        for level in 0..depth {
            let mut sibling = claimant(format!("other-{level}"), 1);
            sibling.claim.above = chain[..level]
                .iter()
                .rev()
                .map(|name| above(name, 1))
                .collect();
            share.set_used(&sibling, 0);
        }
        let at = moment(&share, 160, 1_000);
        let guarantee = row(&share.rows(&at), chain[depth - 1]).guarantee;
        assert_eq!(guarantee, 160 >> depth, "depth {depth}");
        for _ in 0..guarantee {
            assert!(take(&mut share, &tenant, 1, 160), "depth {depth}");
        }
        assert!(
            !take(&mut share, &tenant, 1, 160),
            "depth {depth}: what remains is reserved"
        );
        assert_eq!(share.used("org"), guarantee);
        share.lower(&tenant.name, 1);
        assert_eq!(
            (share.used("org"), share.used(&tenant.name)),
            (guarantee - 1, guarantee - 1)
        );
    }
}

/// Under a rule that keeps nothing, what is above `lend_max` is kept.
#[test]
fn no_more_than_lend_max_is_lent_to_others() {
    for (lend_max, left) in [(None, 0), (Some(50), 0), (Some(20), 30), (Some(0), 50)] {
        let mut share = Share::new(terms(Rule::Weighted));
        let (mut lender, flood) = (claimant("lender", 1), claimant("flood", 9));
        lender.claim.lend_max = lend_max;
        share.set_used(&flood, 0);
        while take(&mut share, &flood, 1, 100) {}
        assert_eq!(share.used("flood"), 100);
        share.roll();
        // 50 each, of which the other two may use what the lender leaves them.
        let (one, other) = (claimant("one", 1), claimant("other", 1));
        share.set_used(&lender, 0);
        share.set_used(&one, 50);
        let at = moment(&share, 100, 1_000);
        assert_eq!(row(&share.rows(&at), "lender").guarantee, 50);
        share.set_used(&other, 0);
        share.set_used(&claimant("lender", 2), 0);
        share.set_used(&lender_of(2, lend_max), 0);
        let ask = Ask {
            waiting: 50,
            smallest: 1,
            ..Ask::default()
        };
        share.room(&other, &ask, &at);
        while take(&mut share, &other, 1, 100) {}
        // By weight 2 of 4 the lender has 50 again, and the other a cap of 25.
        assert_eq!(share.used("other"), 25.min(50 - left), "{lend_max:?}");
    }
}

fn lender_of(weight: u64, lend_max: Option<u64>) -> Claimant {
    let mut lender = claimant("lender", weight);
    lender.claim.lend_max = lend_max;
    lender
}

/// What was used stays used under another rule and other bounds.
#[test]
fn another_rule_forgets_nothing() {
    let tenants = nested(&[
        ("t00".to_owned(), 1),
        ("t01".to_owned(), 2),
        ("t1".to_owned(), 3),
    ]);
    let mut share = opened(&tenants);
    for (tenant, used) in tenants.iter().zip([5, 7, 11]) {
        share.set_used(tenant, used);
    }
    for rule in [Rule::Weighted, Rule::Paced, Rule::Fair, Rule::Pinned] {
        share.retune(weir_shared::fairness::share::ShareTerms {
            tenants_max: 1,
            ..terms(rule)
        });
        let used: Vec<u64> = tenants
            .iter()
            .map(|tenant| share.used(&tenant.name))
            .collect();
        assert_eq!(
            (used, share.used("t0"), share.used_total()),
            (vec![5, 7, 11], 12, 23),
            "{rule:?}"
        );
    }
}
