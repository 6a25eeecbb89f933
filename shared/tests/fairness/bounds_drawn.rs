//! Ceilings and floors over drawn tenants, changes and requests.

use proptest::prelude::*;
use weir_shared::fairness::ask::{Claimant, Floor};
use weir_shared::fairness::share::{Rule, Share};
use weir_shared::units::Revision;

use crate::drawn::cases;

use super::bounds::{RULES, WINDOW_MS, ask, bounded, with_floors};
use super::world::{above, claimant, moment, request};

#[derive(Debug, Clone)]
struct Drawn {
    weight: u64,
    ceiling: Option<u64>,
    floor: u64,
    by_name: bool,
    below: bool,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let ceiling = prop::option::of(0..200_u64);
    (1..8_u64, ceiling, 0..60_u64, any::<bool>(), any::<bool>()).prop_map(
        |(weight, ceiling, floor, by_name, below)| Drawn {
            weight,
            ceiling,
            floor,
            by_name,
            below,
        },
    )
}

fn rule() -> impl Strategy<Value = Rule> {
    prop::sample::select(RULES.to_vec())
}

/// The ceiling above those that are below one.
const PARENT_MOST: u64 = 90;

fn tenant(index: usize, drawn: &Drawn, revision: u64) -> Claimant {
    let mut one = claimant(format!("t{index}"), drawn.weight);
    one.claim.known = drawn.by_name;
    one.claim.ceiling = drawn.ceiling;
    one.claim.floor = Floor {
        units: drawn.floor,
        by_name: drawn.by_name,
    };
    one.claim.claim_version.revision = Revision(revision);
    if drawn.below {
        let mut parent = above("parent", 3);
        parent.ceiling = Some(PARENT_MOST);
        parent.floor.units = 20;
        one.claim.above = vec![parent];
    }
    one
}

proptest! {
    #![proptest_config(cases(600))]

    /// Whatever is asked for and whatever changes, nobody is charged beyond the ceiling in force when it was.
    #[test]
    fn nobody_passes_its_ceiling_whatever_happens(
        rule in rule(),
        tenants in prop::collection::vec(drawn(), 1..8),
        changes in prop::collection::vec((0..8_usize, drawn()), 0..6),
        asks in prop::collection::vec((0..8_usize, 1..60_u64, 0..80_u64, 0..30_u64), 1..120),
        said in 0..200_u64,
        limit in 1..400_u64,
    ) {
        let mut share = Share::new(with_floors(rule, said));
        let mut tenants = tenants;
        let mut revision = 1;
        let every = asks.len() / (changes.len() + 1) + 1;
        let mut changes = changes.into_iter();
        let mut left_ms = WINDOW_MS;
        for (turn, (who, cost, expected, later_ms)) in asks.into_iter().enumerate() {
            if turn % every == every - 1 && let Some((who, change)) = changes.next() {
                let who = who % tenants.len();
                let below = tenants[who].below;
                tenants[who] = Drawn { below, by_name: tenants[who].by_name, ..change };
                revision += 1;
            }
            if left_ms <= later_ms {
                share.roll();
                left_ms = WINDOW_MS;
            }
            left_ms -= later_ms;
            let who = who % tenants.len();
            let one = tenant(who, &tenants[who], revision);
            let before = (share.used(&one.name), share.used("parent"));
            let at = moment(&share, limit, left_ms);
            let mut asked = request(cost);
            asked.expected = expected;
            let room = share.room(&one, &asked, &at);
            let units = room.waiting + room.ahead;
            prop_assert!(units <= at.unlent);
            share.charge(&one.name, units);
            let most = |ceiling: Option<u64>, before: u64| ceiling.map_or(u64::MAX, |most| most.max(before));
            prop_assert!(share.used(&one.name) <= most(tenants[who].ceiling, before.0));
            prop_assert!(room.ceiling <= most(tenants[who].ceiling, before.0).max(1));
            prop_assert!(share.used("parent") <= most(Some(PARENT_MOST), before.1));
            prop_assert!(share.used_total() <= limit);
        }
    }

    /// What all are guaranteed, and what is set aside for those that are not there, fits the limit.
    #[test]
    fn guarantees_and_what_is_set_aside_come_to_no_more_than_the_limit(
        rule in prop::sample::select(vec![Rule::Weighted, Rule::Pinned, Rule::Paced]),
        tenants in prop::collection::vec(drawn(), 1..12),
        said in 0..500_u64,
        limit in 1..400_u64,
    ) {
        let mut share = Share::new(with_floors(rule, said));
        let mut named = 0;
        for (index, drawn) in tenants.iter().enumerate() {
            let drawn = Drawn { below: false, ..drawn.clone() };
            let one = tenant(index, &drawn, 1);
            named += one.claim.set_aside().units * u64::from(drawn.by_name);
            share.set_used(&one, 0);
        }
        let rows = share.rows(&moment(&share, limit, WINDOW_MS));
        let guaranteed: u64 = rows.iter().map(|row| row.guarantee).sum();
        let all = said.max(named);
        let absent = (all - named) * limit.min(all) / all.max(1);
        prop_assert!(guaranteed + absent <= limit, "{guaranteed} and {absent} of {limit}: {rows:?}");
        for (row, drawn) in rows.iter().zip(&tenants) {
            if let Some(most) = drawn.ceiling && tenants.len() < 10 {
                prop_assert!(row.guarantee <= most);
            }
        }
    }
}

/// A tenant with a floor that asks evenly, and how.
#[derive(Debug, Clone)]
struct Even {
    weight: u64,
    floor: u64,
    ceiling: Option<u64>,
    by_name: bool,
    cost: u64,
    slower: u64,
}

fn even() -> impl Strategy<Value = Even> {
    let ceiling = prop::option::of(1..300_u64);
    (
        1..5_u64,
        1..120_u64,
        ceiling,
        any::<bool>(),
        1..9_u64,
        0..80_u64,
    )
        .prop_map(|(weight, floor, ceiling, by_name, cost, slower)| Even {
            weight,
            floor,
            ceiling,
            by_name,
            cost,
            slower,
        })
}

proptest! {
    #![proptest_config(cases(300))]

    /// Within its guarantee, floor and ceiling included, and no faster than at an even pace of what it is guaranteed
    /// without its ceiling, a member is never denied, whatever others ask for.
    #[test]
    fn an_even_pace_with_a_floor_is_never_denied(
        evens in prop::collection::vec(even(), 1..5),
        floods in prop::collection::vec((0..3_u64, 0..WINDOW_MS, 1..400_u64, 0..300_u64), 0..200),
    ) {
        const LIMIT: u64 = 1_000;
        let weights: u64 = evens.iter().map(|one| one.weight).sum::<u64>() + 3;
        let claimants: Vec<Claimant> = evens.iter().enumerate().map(|(index, even)| {
            let mut one = bounded(&format!("even-{index}"), even.weight, even.ceiling, even.floor);
            one.claim.floor.by_name = even.by_name;
            one
        }).collect();
        let aside = |one: &Claimant| one.claim.set_aside().units;
        let named: u64 = claimants.iter().filter(|one| one.claim.floor.by_name).map(aside).sum();
        let all: u64 = claimants.iter().map(aside).sum();
        let mut share = Share::new(with_floors(Rule::Paced, named));
        for (one, even) in claimants.iter().zip(&evens) {
            let at = moment(&share, LIMIT, WINDOW_MS);
            share.room(one, &request(even.cost), &at);
        }
        for who in 0..3 {
            let at = moment(&share, LIMIT, WINDOW_MS);
            share.room(&claimant(format!("flood-{who}"), 1), &request(1), &at);
        }
        share.roll();
        // Costs are known from the window before: what is admitted counts, so each is admitted one there.
        let mut events: Vec<(u64, Option<usize>, u64, u64)> = floods
            .into_iter()
            .map(|(who, at_ms, units, expected)| (at_ms, None, who * 1_000 + units, expected))
            .collect();
        for (index, (one, even)) in claimants.iter().zip(&evens).enumerate() {
            let guarantee = aside(one) + even.weight * (LIMIT - all) / weights;
            let most = guarantee.min(even.ceiling.unwrap_or(u64::MAX));
            let (mut at_ms, mut used) = (0, 0);
            while at_ms < WINDOW_MS && used + even.cost <= most {
                events.push((at_ms, Some(index), even.cost, 0));
                used += even.cost;
                let gap_ms = (even.cost * WINDOW_MS).div_ceil(guarantee);
                at_ms += gap_ms + gap_ms * even.slower / 100;
            }
        }
        // Within a millisecond the floods come first, but for the first, in which costs become known.
        events.sort_by_key(|(at_ms, who, ..)| (*at_ms, if *at_ms == 0 { who.is_none() } else { who.is_some() }));
        for (at_ms, who, units, expected) in events {
            let at = moment(&share, LIMIT, WINDOW_MS - at_ms);
            match who {
                Some(index) => {
                    let admitted = ask(&mut share, &claimants[index], units, &at);
                    prop_assert!(admitted, "{index} at {at_ms}: {:?}", evens);
                }
                None => {
                    let flood = claimant(format!("flood-{}", units / 1_000), 1);
                    let mut asked = request(units % 1_000);
                    (asked.smallest, asked.expected) = (1.min(asked.waiting), expected);
                    let room = share.room(&flood, &asked, &at);
                    share.charge(&flood.name, room.waiting + room.ahead);
                }
            }
        }
    }
}
