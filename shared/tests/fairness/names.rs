//! Invented names.

use weir_shared::fairness::share::{Rule, Share, ShareTerms};

use super::world::{claimant, moment, request, stranger, terms};

const LIMIT: u64 = 1_000_000;

/// Names that the policy does not know weigh 8 together; who is named and weighs 8 keeps half of all.
#[test]
fn a_million_invented_names_neither_dilute_a_guarantee_nor_grow_memory() {
    for rule in [Rule::Pinned, Rule::Paced] {
        let mut share = Share::new(ShareTerms {
            tenants_max: 1_000,
            carried: true,
            floors: 0,
            ..terms(rule)
        });
        let known = claimant("known", 8);
        share.set_used(&known, 0);
        for index in 0..1_000_000 {
            share.set_used(&stranger(format!("invented-{index}"), 4), 0);
        }
        let at = moment(&share, LIMIT, 1_000);
        let rows = share.rows(&at);
        assert_eq!(
            rows.len(),
            1_000 + 2,
            "{rule:?}: those told apart, the rest as one, and the known one"
        );
        let guarantee = |rows: &[weir_shared::fairness::share::ShareRow]| {
            let known = rows.iter().find(|row| row.name == "known");
            known.map_or(0, |row| row.guarantee)
        };
        // Scaled weights are rounded down, so it is a little more.
        assert!((500_000..=500_100).contains(&guarantee(&rows)), "{rule:?}");
        for index in 0..2_000 {
            let flood = stranger(format!("invented-{index}"), 4);
            let at = moment(&share, LIMIT, 1_000);
            let units = share.room(&flood, &request(300), &at).waiting;
            share.charge(&flood.name, units);
        }
        for _ in 0..500_000 / 100 {
            let at = moment(&share, LIMIT, 1_000);
            let units = share.room(&known, &request(100), &at).waiting;
            assert_eq!(units, 100, "{rule:?}: the guarantee of the known one");
            share.charge("known", units);
        }
        share.roll();
        share.roll();
        share.roll();
        assert_eq!(
            share.rows(&at).len(),
            0,
            "{rule:?}: all are forgotten when they do not come"
        );
    }
}

/// What those beyond the bound use is counted, by one account with one share.
#[test]
fn those_beyond_the_bound_share_one_account() {
    let mut share = Share::new(ShareTerms {
        tenants_max: 3,
        ..terms(Rule::Pinned)
    });
    for index in 0..10 {
        share.set_used(&stranger(format!("t{index}"), 1), 0);
    }
    // Four accounts of 25 each.
    let mut admitted = 0;
    for _ in 0..50 {
        for index in 3..10 {
            let at = moment(&share, 100, 1_000);
            let tenant = stranger(format!("t{index}"), 1);
            let units = share.room(&tenant, &request(1), &at).waiting;
            share.charge(&tenant.name, units);
            admitted += units;
        }
    }
    assert_eq!(
        (admitted, share.used_total(), share.used("t5")),
        (25, 25, 25)
    );
    // Each of them knows its own part alone: what it settles does not take back what others used.
    share.set_used(&stranger("t5", 1), 2);
    assert_eq!(share.used_total(), 25);
}

/// Small deployments, whose policy names nobody, share by the weights as they are.
#[test]
fn below_the_bound_invented_names_count_in_full() {
    let mut share = Share::new(terms(Rule::Pinned));
    for (name, weight) in [("a", 1), ("b", 2), ("c", 5)] {
        share.set_used(&stranger(name, weight), 0);
    }
    let guarantees: Vec<u64> = share
        .rows(&moment(&share, 80, 1_000))
        .iter()
        .map(|row| row.guarantee)
        .collect();
    assert_eq!(guarantees, [10, 20, 50]);
}
