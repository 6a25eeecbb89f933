//! When the level and the reserves of all are computed anew, and what is reserved by which rule.

use super::super::ask::{Floor, TenantClaim};
use super::*;
use crate::weight::Weight;

const WINDOW_MS: u64 = 64_000;

fn paced(rule: Rule) -> Paced {
    Paced::new(ShareTerms {
        rule,
        tenants_max: 1_000,
        unknown_weight_max: Weight::WHOLE,
        carried: true,
        floors: 0,
    })
}

fn at(left_ms: u64) -> Moment {
    Moment {
        limit: 1_000,
        unlent: 1_000,
        left_ms,
        window_ms: WINDOW_MS,
    }
}

fn ask(units: u64) -> Ask {
    Ask {
        waiting: units,
        smallest: units,
        ..Ask::default()
    }
}

/// So many members that each want all of the window.
fn hungry(members: usize) -> Paced {
    let mut paced = paced(Rule::Paced);
    let claim = TenantClaim::default();
    for member in 0..members {
        let _room = paced.room(&member.to_string(), &claim, &ask(1_000), &at(WINDOW_MS));
    }
    assert_eq!(paced.hungry.len(), members);
    paced
}

#[test]
fn the_level_is_computed_at_each_ask_of_up_to_64_that_want_more_and_beyond_at_some() {
    let skipped = |members| {
        let mut paced = hungry(members);
        let claim = TenantClaim::default();
        let asks = (0..16).filter(|_| {
            let _room = paced.room("0", &claim, &ask(1_000), &at(WINDOW_MS));
            paced.asks_since_level > 0
        });
        asks.count()
    };
    assert_eq!([63, 64].map(skipped), [0, 0]);
    // Of 65, when a sixteenth of them have asked.
    assert_eq!(skipped(65), 12);
}

#[test]
fn by_the_pooled_rule_reserves_are_computed_64_times_a_window() {
    let mut paced = paced(Rule::Pooled);
    let claim = TenantClaim::default();
    let mut computed = |left_ms| {
        let _room = paced.room("a", &claim, &ask(1), &at(left_ms));
        paced.pooled_at_ms
    };
    let part_ms = WINDOW_MS / 64;
    let first = WINDOW_MS;
    assert_eq!(computed(first), Some(first));
    assert_eq!(computed(first - part_ms + 1), Some(first));
    let second = first - part_ms;
    assert_eq!(computed(second), Some(second));
    assert_eq!(computed(second - 1), Some(second));
}

#[test]
fn a_rule_reserves_all_what_is_expected_or_nothing() {
    let reserved = |rule| {
        let mut paced = paced(rule);
        let claim = TenantClaim::default();
        for name in ["light", "quiet"] {
            let _room = paced.room(name, &claim, &ask(1), &at(WINDOW_MS));
        }
        let greedy = Ask {
            waiting: 1_000,
            smallest: 1,
            ..Ask::default()
        };
        paced.charge("light", 1);
        paced.charge("quiet", 1);
        // A part of 64 later what is expected is computed anew.
        let at = Moment {
            unlent: 998,
            ..at(WINDOW_MS - WINDOW_MS / 64)
        };
        paced.room("hungry", &claim, &greedy, &at).waiting
    };
    let [whole, pooled, nothing] = [Rule::Paced, Rule::Pooled, Rule::Unreserved].map(reserved);
    assert!(
        whole < pooled && pooled < nothing,
        "{whole} {pooled} {nothing}"
    );
}

#[test]
fn members_of_equal_weight_each_have_their_whole_guarantee_at_once_however_it_is_rounded() {
    let claim = TenantClaim::default();
    for members in 2..8_u64 {
        for limit in (7..120).chain([999, 9_999_999]) {
            let mut paced = paced(Rule::Paced);
            let names: Vec<_> = (0..members).map(|member| member.to_string()).collect();
            for name in &names {
                paced.join(name, &claim);
            }
            let mut unlent = limit;
            for name in &names {
                let at = Moment {
                    limit,
                    unlent,
                    ..at(WINDOW_MS)
                };
                let guarantee = limit / members;
                let room = paced.room(name, &claim, &ask(guarantee), &at);
                assert_eq!(room.waiting, guarantee, "{members} of {limit}");
                paced.charge(name, guarantee);
                unlent -= guarantee;
            }
        }
    }
}

#[test]
fn what_is_reserved_is_rounded_up_to_whole_units_and_is_nothing_where_nobody_is_there() {
    let reserved = |members: u64| {
        let mut paced = paced(Rule::Paced);
        for member in 0..members {
            paced.join(&member.to_string(), &TenantClaim::default());
        }
        paced.reserved(&at(WINDOW_MS))
    };
    assert_eq!(reserved(0), 0);
    // Reserves are rounded up by less than a part in a million of a unit each.
    assert!((1_000..=1_001).contains(&reserved(3)));
}

#[test]
fn by_the_pooled_rule_what_is_set_aside_is_kept_whole_for_each_that_is_there() {
    let mut paced = paced(Rule::Pooled);
    let everyone = || TenantClaim::default();
    let floored = TenantClaim {
        floor: Floor {
            units: 300,
            by_name: false,
        },
        ..everyone()
    };
    for name in ["a", "b"] {
        let _room = paced.room(name, &floored, &ask(1), &at(WINDOW_MS));
        paced.charge(name, 1);
    }
    let greedy = Ask {
        waiting: 1_000,
        smallest: 1,
        ..Ask::default()
    };
    let at = Moment {
        unlent: 998,
        ..at(WINDOW_MS - WINDOW_MS / 64)
    };
    let room = paced.room("hungry", &everyone(), &greedy, &at);
    // Of what is set aside for two, nearly 600 are still to come.
    assert!(room.waiting < 400, "{room:?}");
}

#[test]
fn who_is_expected_to_use_no_more_than_its_reserve_is_not_looked_at_for_the_level() {
    let mut paced = paced(Rule::Unreserved);
    let claim = TenantClaim::default();
    let _room = paced.room("asked", &claim, &ask(900), &at(WINDOW_MS));
    paced.join("quiet", &claim);
    paced.roll();
    let _reserved = paced.reserved(&at(WINDOW_MS));
    let ids = 0..paced.accounts.len();
    let hungry: Vec<_> = ids.filter(|id| paced.hungry.contains(*id)).collect();
    assert_eq!(hungry, [paced.accounts.own("asked").unwrap()]);
}

#[test]
fn what_is_only_expected_says_nothing_of_what_a_tenants_requests_cost() {
    let mut paced = paced(Rule::Paced);
    let claim = TenantClaim::default();
    let expects = Ask {
        expected: 5,
        ..Ask::default()
    };
    let mut smallest = |ask: &Ask| {
        let _room = paced.room("a", &claim, ask, &at(WINDOW_MS));
        paced.accounts.member(0).unwrap().costs.smallest()
    };
    assert_eq!(smallest(&ask(10)), 10);
    assert_eq!(smallest(&expects), 10);
    assert_eq!(smallest(&ask(7)), 7);
}
