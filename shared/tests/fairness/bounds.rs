//! Ceilings and floors: what a tenant may have at most whatever is free, and what is set aside for it.

use weir_shared::fairness::ask::{ClaimVersion, Claimant, Floor, Moment, SetAside};
use weir_shared::fairness::share::{Rule, Share, ShareTerms};
use weir_shared::units::{EpochMs, Revision};

use super::world::{above, claimant, moment, request, stranger, terms};

pub(super) const RULES: [Rule; 4] = [Rule::Fair, Rule::Weighted, Rule::Pinned, Rule::Paced];

/// A window's length.
pub(super) const WINDOW_MS: u64 = 1_000;

pub(super) fn bounded(name: &str, weight: u64, ceiling: Option<u64>, floor: u64) -> Claimant {
    let mut claimant = claimant(name, weight);
    claimant.claim.ceiling = ceiling;
    claimant.claim.floor = Floor {
        units: floor,
        by_name: true,
    };
    claimant
}

pub(super) fn with_floors(rule: Rule, floors: u64) -> ShareTerms {
    ShareTerms {
        floors,
        carried: true,
        ..terms(rule)
    }
}

pub(super) fn ask(share: &mut Share, claimant: &Claimant, cost: u64, at: &Moment) -> bool {
    let room = share.room(claimant, &request(cost), at);
    assert!(room.waiting == 0 || room.waiting == cost);
    if room.waiting > 0 {
        share.charge(&claimant.name, cost);
    }
    room.waiting > 0
}

/// The same at an instant of the window of what is not used.
fn ask_at(share: &mut Share, claimant: &Claimant, cost: u64, (limit, left_ms): (u64, u64)) -> bool {
    let at = moment(share, limit, left_ms);
    ask(share, claimant, cost, &at)
}

/// Asks for single units until one is denied, and says how many were had.
fn exhaust(share: &mut Share, claimant: &Claimant, limit: u64, left_ms: u64) -> u64 {
    (0..=limit)
        .take_while(|_| {
            let at = moment(share, limit, left_ms);
            ask(share, claimant, 1, &at)
        })
        .count() as u64
}

/// Alone, with all else free, under every rule.
#[test]
fn a_tenant_alone_has_its_ceiling_and_no_more() {
    for rule in RULES {
        for (ceiling, had) in [(0, 0), (1, 1), (30, 30), (100, 100), (500, 100)] {
            let mut share = Share::new(terms(rule));
            let one = bounded("one", 1, Some(ceiling), 0);
            assert_eq!(exhaust(&mut share, &one, 100, WINDOW_MS), had, "{rule:?}");
            assert_eq!(exhaust(&mut share, &one, 100, 1), 0, "{rule:?}");
            let told = share.room(&one, &request(1), &moment(&share, 100, 1));
            assert_eq!(told.ceiling, had, "{rule:?}: the ceiling that is told");
            let rest = exhaust(&mut share, &bounded("other", 1, None, 0), 100, 1);
            // The others lend nothing beyond a request, or nothing at all.
            let expected = match rule {
                Rule::Paced | Rule::Pooled | Rule::Unreserved => 100 - had,
                Rule::Pinned => 51.min(100 - had),
                Rule::Fair | Rule::Weighted => 50.min(100 - had),
            };
            assert_eq!(rest, expected, "{rule:?}: what a ceiling leaves");
        }
    }
}

/// What is set aside comes first, and weights divide the rest; a ceiling is above both.
#[test]
fn guarantees_are_the_floor_and_a_part_of_the_rest() {
    let tenants = |ceiling, floors: [u64; 3]| {
        [
            bounded("a", 1, ceiling, floors[0]),
            bounded("b", 1, None, floors[1]),
            bounded("c", 2, None, floors[2]),
        ]
    };
    // Limit 100; what is said by name for those that are not there; the guarantees of a, b and c.
    for (tenants, said, expected) in [
        (tenants(None, [0, 0, 0]), 0, [25, 25, 50]),
        (tenants(None, [20, 0, 0]), 20, [40, 20, 40]),
        (tenants(None, [20, 0, 40]), 60, [30, 10, 60]),
        (tenants(Some(10), [0, 0, 0]), 0, [10, 25, 50]),
        (tenants(Some(30), [20, 0, 0]), 20, [30, 20, 40]),
        (tenants(None, [20, 0, 0]), 60, [30, 10, 20]),
        (tenants(None, [60, 60, 0]), 120, [50, 50, 0]),
    ] {
        for rule in [Rule::Pinned, Rule::Paced, Rule::Weighted] {
            let mut share = Share::new(with_floors(rule, said));
            for tenant in &tenants {
                share.set_used(tenant, 0);
            }
            let rows = share.rows(&moment(&share, 100, WINDOW_MS));
            let guarantees: Vec<u64> = rows.iter().map(|row| row.guarantee).collect();
            assert_eq!(guarantees, expected, "{rule:?} {said}");
        }
    }
}

/// Floors of tiers count for whoever is there: beyond what floors by name leave, each counts in part.
#[test]
fn floors_of_tiers_share_what_floors_by_name_leave() {
    let of_tier = |name: &str| {
        let mut one = stranger(name, 1);
        one.claim.floor.units = 40;
        one
    };
    let mut share = Share::new(with_floors(Rule::Pinned, 40));
    share.set_used(&bounded("named", 1, None, 40), 0);
    for name in ["x", "y", "z"] {
        share.set_used(&of_tier(name), 0);
    }
    let rows = share.rows(&moment(&share, 100, WINDOW_MS));
    let guarantees: Vec<u64> = rows.iter().map(|row| row.guarantee).collect();
    assert_eq!(guarantees, [40, 20, 20, 20]);
}

/// After any absence, whatever others took: the part of its floor that the window has left.
#[test]
fn a_tenant_that_was_away_finds_its_floor_at_an_even_pace() {
    for rule in RULES {
        for (left_ms, least) in [(1_000, 60), (750, 45), (500, 30), (100, 6)] {
            let mut share = Share::new(with_floors(rule, 60));
            let flood = claimant("flood", 1);
            for left_ms in (left_ms..=WINDOW_MS).rev() {
                while ask_at(&mut share, &flood, 1, (100, left_ms)) {}
            }
            let away = bounded("away", 1, None, 60);
            let had = exhaust(&mut share, &away, 100, left_ms);
            assert!(had + 1 >= least, "{rule:?} {left_ms}: {had}");
            assert_eq!(share.used("flood") + had, share.used_total());
        }
    }
}

/// A floor that nobody comes for strands nothing.
#[test]
fn what_is_set_aside_for_nobody_is_released() {
    for rule in RULES {
        let mut share = Share::new(with_floors(rule, 60));
        let flood = claimant("flood", 1);
        let mut had = Vec::new();
        for left_ms in (1..=WINDOW_MS).rev() {
            while ask_at(&mut share, &flood, 1, (100, left_ms)) {}
            if [1_000, 500, 1].contains(&left_ms) {
                had.push(share.used("flood"));
            }
        }
        let [first, half, last] = had[..] else {
            panic!("three instants");
        };
        assert!((40..=41).contains(&first), "{rule:?}: {first}");
        assert!((70..=71).contains(&half), "{rule:?}: {half}");
        assert!(last >= 99, "{rule:?}: {last}");
    }
}

/// When it could be had is told, and then it is had.
#[test]
fn a_denial_tells_when_what_is_set_aside_is_released() {
    for rule in RULES {
        let mut share = Share::new(with_floors(rule, 60));
        let flood = claimant("flood", 1);
        exhaust(&mut share, &flood, 100, WINDOW_MS);
        let at = moment(&share, 100, WINDOW_MS);
        let told = share.room(&flood, &request(10), &at);
        let retry_ms = told.retry_ms.expect("it is released within the window");
        assert!((130..=200).contains(&retry_ms), "{rule:?}: {retry_ms}");
        // Reserves are those of the millisecond that ends.
        let then = moment(&share, 100, WINDOW_MS - retry_ms - 1);
        assert!(ask(&mut share, &flood, 10, &then), "{rule:?}");
        // Above its ceiling nothing helps.
        let mut most = flood.clone();
        most.claim.ceiling = Some(share.used("flood"));
        most.claim.claim_version.revision = Revision(1);
        let told = share.room(&most, &request(1), &then);
        assert_eq!((told.waiting, told.retry_ms), (0, None), "{rule:?}");
    }
}

/// What is free beyond all guarantees goes by weight above what is set aside.
#[test]
fn hungry_tenants_share_the_rest_above_their_floors() {
    let mut share = Share::new(with_floors(Rule::Paced, 300));
    let tenants = [bounded("a", 1, None, 300), bounded("b", 1, None, 0)];
    let idle = claimant("idle", 2);
    assert!(ask_at(&mut share, &idle, 1, (1_000, WINDOW_MS)));
    for left_ms in (1..=WINDOW_MS).rev() {
        for tenant in &tenants {
            for _ in 0..3 {
                ask_at(&mut share, tenant, 1, (1_000, left_ms));
            }
        }
    }
    let (a, b) = (share.used("a"), share.used("b"));
    assert!(a + b >= 997, "{a} {b}");
    // 999 without the floor, by halves.
    assert!((a - 300).abs_diff(b) <= 6, "{a} {b}");
}

/// A change in mid-window counts at once, and takes nothing back.
#[test]
fn another_ceiling_in_mid_window_counts_at_once() {
    for rule in RULES {
        let mut share = Share::new(terms(rule));
        let with = |ceiling, revision| {
            let mut one = bounded("one", 1, ceiling, 0);
            one.claim.claim_version = ClaimVersion {
                revision: Revision(revision),
                since: EpochMs(0),
            };
            one
        };
        assert_eq!(exhaust(&mut share, &with(Some(50), 1), 100, 600), 50);
        assert_eq!(exhaust(&mut share, &with(Some(20), 2), 100, 500), 0);
        assert_eq!(share.used("one"), 50, "{rule:?}: nothing is taken back");
        // Who has not heard of it yet takes nothing back either.
        assert_eq!(exhaust(&mut share, &with(Some(50), 1), 100, 500), 0);
        assert_eq!(exhaust(&mut share, &with(Some(70), 3), 100, 400), 20);
        assert_eq!(exhaust(&mut share, &with(None, 4), 100, 1), 30, "{rule:?}");
    }
}

/// Another floor in mid-window counts within what is not used.
#[test]
fn another_floor_in_mid_window_counts_within_what_is_left() {
    for rule in RULES {
        let mut share = Share::new(with_floors(rule, 0));
        let flood = claimant("flood", 1);
        let used = exhaust(&mut share, &flood, 60, WINDOW_MS).min(60);
        let limit = 100;
        share.retune(with_floors(rule, 30));
        let mut left = 0;
        for left_ms in (501..=WINDOW_MS).rev() {
            left += exhaust(&mut share, &flood, limit, left_ms);
        }
        assert!(used + left <= 86, "{rule:?}: {used} and {left}");
        let late = bounded("late", 1, None, 30);
        assert!(exhaust(&mut share, &late, limit, 501) >= 14, "{rule:?}");
        share.retune(with_floors(rule, 0));
    }
}

/// A ceiling of a parent bounds all below it, and what is set aside below it is set aside of what it may have.
#[test]
fn a_ceiling_of_a_parent_bounds_all_below_it() {
    for rule in RULES {
        let mut share = Share::new(with_floors(rule, 0));
        let child = |name: &str, floor| {
            let mut child = bounded(name, 1, None, floor);
            let mut parent = above("parent", 1);
            parent.ceiling = Some(40);
            parent.floors = SetAside {
                since: EpochMs(0),
                units: 30,
            };
            child.claim.above = vec![parent];
            child
        };
        let flood = exhaust(&mut share, &child("flood", 0), 100, WINDOW_MS);
        assert!((10..=11).contains(&flood), "{rule:?}: {flood}");
        let away = exhaust(&mut share, &child("away", 30), 100, WINDOW_MS);
        assert!((29..=30).contains(&away), "{rule:?}: {away}");
        assert_eq!(share.used("parent"), flood + away);
        assert_eq!(
            exhaust(&mut share, &child("flood", 0), 100, 1),
            40 - flood - away
        );
        assert_eq!(share.used("parent"), 40, "{rule:?}");
    }
}

/// Who has no account of its own shares one under the least ceiling of those that came to it.
#[test]
fn those_without_an_account_of_their_own_stay_below_each_of_their_ceilings() {
    for rule in RULES {
        let mut share = Share::new(ShareTerms {
            tenants_max: 1,
            ..terms(rule)
        });
        let of_tier = |name: &str, ceiling| {
            let mut one = stranger(name, 1);
            one.claim.ceiling = Some(ceiling);
            one
        };
        share.set_used(&of_tier("first", 100), 0);
        exhaust(&mut share, &of_tier("wide", 30), 1_000, 1);
        let narrow = exhaust(&mut share, &of_tier("narrow", 10), 1_000, 1);
        let wide = exhaust(&mut share, &of_tier("wide", 30), 1_000, 1);
        assert_eq!((narrow, wide), (0, 0), "{rule:?}");
        assert!(share.used("wide") <= 30, "{rule:?}");
    }
}
