//! Ceilings and floors behind leases: several regions, lost and late messages, regions that are cut off.

use crate::simulator::START_MS;
use crate::simulator::faults::Cut;
use crate::simulator::run;
use crate::simulator::setup::{Faults, Setup};
use weir_shared::fairness::ask::{Above, Floor, SetAside};
use weir_shared::fairness::weight::Weight;
use weir_shared::limits::STANDING_WINDOWS;
use weir_shared::ordered::OrderedMap;
use weir_shared::wire::exchange::RuleBody;

const WINDOW_MS: u64 = 10_000;

const CEILING: u64 = 150;

/// Tenant 0 floods from every isolate beside two others that leave much of the limit; messages are lost, repeated and late,
/// and a region is cut off for some windows.
fn flooded(seed: u64, rule: RuleBody, standing: u64) -> Setup {
    let mut setup = Setup::measured(seed, (3, 2), (1_000, WINDOW_MS), 8);
    setup = setup.shared_by(rule, &[1.0, 1.0, 1.0]);
    setup.standing = standing;
    setup.faults = Faults {
        lost: 60,
        repeated: 100,
        late: 40,
        ..Faults::default()
    };
    setup.cuts = vec![Cut {
        region: 1,
        from_ms: START_MS + 3 * WINDOW_MS - WINDOW_MS / 3,
        until_ms: START_MS + 5 * WINDOW_MS + WINDOW_MS / 3,
    }];
    setup = setup.asks_everywhere(Some(0), 1, 1_200.0);
    setup = setup.asks_everywhere(Some(1), 1, 100.0);
    setup.asks_everywhere(Some(2), 1, 100.0)
}

/// What each tenant was admitted in each window.
fn admitted(setup: &Setup) -> OrderedMap<u64, OrderedMap<usize, u64>> {
    let report = run(setup);
    assert_eq!(report.truth.violation, None);
    let mut windows: OrderedMap<u64, OrderedMap<usize, u64>> = OrderedMap::new();
    for admission in &report.truth.admissions {
        let tenant = admission.tenant.expect("tenants share the pool");
        let window = windows.entry(admission.label).or_default();
        *window.entry(tenant).or_insert(0) += admission.units;
    }
    windows
}

#[test]
fn no_window_admits_more_of_a_tenant_than_its_ceiling_whatever_messages_do() {
    let mut most = 0;
    for (rule, standing) in [
        (RuleBody::Paced, 0),
        (RuleBody::Paced, STANDING_WINDOWS),
        (RuleBody::Pinned, 0),
        (RuleBody::Pinned, STANDING_WINDOWS),
        (RuleBody::Pooled, 0),
        (RuleBody::None, STANDING_WINDOWS),
    ] {
        for seed in 0..12 {
            let mut setup = flooded(seed, rule, standing);
            setup.tenants[0].claimant.claim.ceiling = Some(CEILING);
            for (label, tenants) in admitted(&setup) {
                let had = tenants.get(&0).copied().unwrap_or(0);
                most = most.max(had);
                assert!(
                    had <= CEILING,
                    "{rule:?} {standing} {seed}: {had} in window {label}"
                );
            }
            // Without one it has far more: the bound is what held it.
            if seed == 0 {
                setup.tenants[0].claimant.claim.ceiling = None;
                let windows = admitted(&setup);
                let free = windows.values().filter_map(|one| one.get(&0));
                assert!(free.max() > Some(&(2 * CEILING)));
            }
        }
    }
    println!("the most of {CEILING} in a window: {most}");
    assert_eq!(most, CEILING);
}

#[test]
fn a_ceiling_is_used_in_full_where_nothing_goes_wrong() {
    for rule in [RuleBody::Paced, RuleBody::Pinned] {
        let mut setup = flooded(3, rule, 0);
        (setup.faults, setup.cuts) = (Faults::default(), Vec::new());
        setup.tenants[0].claimant.claim.ceiling = Some(CEILING);
        let windows = run(&setup).measured(&setup);
        let had: Vec<u64> = windows.iter().map(|window| window.of(0)).collect();
        println!("{rule:?}: {had:?} of {CEILING}");
        assert!(windows.len() >= 6);
        assert!(had.iter().all(|had| *had == CEILING), "{had:?}");
    }
}

#[test]
fn those_below_a_ceiling_stay_below_it_together_behind_leases() {
    for seed in 0..8 {
        let mut setup = flooded(seed, RuleBody::Paced, STANDING_WINDOWS);
        for index in [0, 1] {
            setup.tenants[index].claimant.claim.above = vec![Above {
                name: "parent".to_owned(),
                weight: Weight::WHOLE,
                borrow_max: None,
                lend_max: None,
                ceiling: Some(CEILING),
                floor: Floor::default(),
                floors: SetAside::default(),
            }];
        }
        for (label, tenants) in admitted(&setup) {
            let had = |tenant| tenants.get(&tenant).copied().unwrap_or(0);
            let both = had(0) + had(1);
            assert!(both <= CEILING, "{seed}: {both} in window {label}");
        }
    }
}

/// Tenant 1 is away for most of the run, then asks in every second half of a window for what its floor still has.
#[test]
fn a_tenant_that_was_away_finds_its_floor_behind_leases() {
    for rule in [RuleBody::Paced, RuleBody::Pinned] {
        let mut had = Vec::new();
        for floor in [0, 400] {
            let mut setup = Setup::measured(5, (3, 2), (1_000, WINDOW_MS), 8);
            setup = setup.shared_by(rule, &[9.0, 1.0]);
            setup.tenants[1].claimant.claim.floor = Floor {
                units: floor,
                by_name: true,
            };
            setup = setup.asks_everywhere(Some(0), 1, 3_000.0);
            // From a later window on, at an even pace of its floor.
            setup = setup.asks(3, Some(1), 1, 380.0);
            for asker in setup.askers.iter_mut().filter(|one| one.tenant == Some(1)) {
                asker.from_ms = 5 * WINDOW_MS + WINDOW_MS / 2;
            }
            let windows = run(&setup).measured(&setup);
            let first = windows.iter().find(|window| window.of(1) > 0);
            had.push(first.map_or(0, |window| window.of(1)));
            // While it is away nothing is stranded.
            for window in windows.iter().filter(|window| window.of(1) == 0) {
                assert!(window.used() >= 0.98, "{rule:?} {floor}: {}", window.used());
            }
        }
        println!("{rule:?}: {had:?} of some 190 asked in half of a window");
        assert!(had[0] <= 110 && had[1] >= 170, "{rule:?}: {had:?}");
    }
}
