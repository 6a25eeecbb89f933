//! What a check allocates. In a steady state: nothing, on any path.

use std::hint::black_box;

use allocation_counter::measure;
use weir_reference::federated_escrow::FederatedEscrow;
use weir_reference::region_pool::RegionPool;
use weir_shared::algorithms::calendar::{Period, Zone};
use weir_shared::algorithms::composite::Mode;
use weir_shared::algorithms::deficit_bucket::DeficitBucket;
use weir_shared::algorithms::dual_token_bucket::DualTokenBucket;
use weir_shared::algorithms::fixed_window::FixedWindow;
use weir_shared::algorithms::gcra::Gcra;
use weir_shared::algorithms::quota::Quota;
use weir_shared::algorithms::scale::{Scaled, ScaledState};
use weir_shared::algorithms::sliding_log::SlidingLog;
use weir_shared::algorithms::sliding_window::SlidingWindow;
use weir_shared::algorithms::token_bucket::TokenBucket;
use weir_shared::algorithms::{Algorithm, State};
use weir_shared::fairness::ask::{Claimant, Party};
use weir_shared::fairness::local::{LocalBudget, LocalTerms};
use weir_shared::fairness::share::{Rule, ShareTerms};
use weir_shared::fairness::weight::Weight;
use weir_shared::federation::holder::{Holder, Lease};
use weir_shared::limiting::verdict::{DimensionRules, StepRules};
use weir_shared::overload::config::Config;
use weir_shared::overload::resource::{Client, Outcome, Resource};
use weir_shared::units::{EpochMs, HolderId, Incarnation, Revision, WindowLabel};
use weir_shared::wire::decimal::Decimal;
use weir_shared::wire::policy::Cadence;

const START: EpochMs = EpochMs(1_700_000_000_000);
const CHECKS: u64 = 1_000;

/// What is kept is a few numbers.
fn of_fixed_size() -> [(&'static str, Algorithm); 6] {
    let months = Period::calendar(Cadence::CalendarMonth, Zone::offset(60).unwrap(), 1).unwrap();
    [
        ("gcra", Algorithm::Gcra(Gcra::new(7, 3_000, 20).unwrap())),
        (
            "token_bucket",
            Algorithm::TokenBucket(TokenBucket::new(Decimal(20.5), Decimal(2.25)).unwrap()),
        ),
        (
            "dual_token_bucket",
            Algorithm::DualTokenBucket(
                DualTokenBucket::new(Decimal(40.5), Decimal(2.25), Decimal(20.0), Decimal(4.0))
                    .unwrap(),
            ),
        ),
        (
            "fixed_window",
            Algorithm::FixedWindow(FixedWindow::new(20, 3_000).unwrap()),
        ),
        ("quota", Algorithm::Quota(Quota::new(20, months).unwrap())),
        (
            "meter",
            // 18, and a debt of 2.25.
            Algorithm::DeficitBucket(
                DeficitBucket::new(Decimal(2.25), Decimal(8.0), 1_000).unwrap(),
            ),
        ),
    ]
}

/// What is kept is a list.
fn of_any_size() -> [(&'static str, Algorithm); 3] {
    [
        (
            "sliding_window",
            Algorithm::SlidingWindow(SlidingWindow::new(20, 3_000, 10).unwrap()),
        ),
        (
            "sliding_log",
            Algorithm::SlidingLog(SlidingLog::new(20, 3_000).unwrap()),
        ),
        (
            "rolling quota",
            Algorithm::Quota(Quota::rolling(20, 3_000, 10).unwrap()),
        ),
    ]
}

/// Allocations of `CHECKS` checks that come `step_ms` apart, and how many of them were admitted.
fn allocated(
    limit: &Scaled,
    state: &mut Option<ScaledState>,
    cost: u64,
    step_ms: u64,
) -> (u64, u64) {
    let mut admitted = 0;
    let counted = measure(|| {
        let mut now = START;
        for _ in 0..CHECKS {
            now = now.plus(step_ms);
            let checked = black_box(limit).check(state.as_ref(), cost, now);
            admitted += u64::from(checked.decision.admitted());
            if let Some(next) = checked.next {
                *state = Some(next);
            }
        }
    });
    (counted.count_total, admitted)
}

fn warm(limit: &Scaled, units: u64) -> Option<ScaledState> {
    limit.check(None, units, START).next
}

#[test]
fn allocations_are_counted() {
    let counted = measure(|| drop(black_box(vec![0_u64; 8])));
    assert_eq!(counted.count_total, 1);
}

#[test]
fn a_check_of_a_warm_key_allocates_nothing_where_the_state_is_a_few_numbers() {
    for (name, algorithm) in of_fixed_size() {
        let limit = Scaled::whole(algorithm);
        let mut state = warm(&limit, 10);
        // Admitted and denied by turns, over several windows and refills.
        let (allocations, admitted) = allocated(&limit, &mut state, 1, 100);
        assert_eq!(allocations, 0, "{name}");
        assert!((1..CHECKS).contains(&admitted), "{name}: {admitted}");
        assert_eq!(
            allocated(&limit, &mut state, 0, 100).0,
            0,
            "a look at {name}"
        );
    }
}

#[test]
fn a_denial_allocates_nothing_whatever_the_algorithm() {
    for (name, algorithm) in of_fixed_size().into_iter().chain(of_any_size()) {
        let limit = Scaled::whole(algorithm);
        let mut state = warm(&limit, 20);
        assert_eq!(allocated(&limit, &mut state, 1, 0), (0, 0), "{name}");
        assert_eq!(
            allocated(&limit, &mut state, 21, 0),
            (0, 0),
            "never, {name}"
        );
    }
}

#[test]
fn an_admitted_check_allocates_the_list_once_where_the_state_is_one() {
    for (name, algorithm) in of_any_size() {
        let limit = Scaled::whole(algorithm);
        let mut state = warm(&limit, 10);
        let (allocations, admitted) = allocated(&limit, &mut state, 1, 100);
        assert_eq!(allocations, admitted, "{name}");
        assert!((1..CHECKS).contains(&admitted), "{name}: {admitted}");
    }
}

#[test]
fn the_transition_itself_allocates_nothing_on_a_cold_key_either() {
    for (name, algorithm) in of_fixed_size() {
        let counted = measure(|| {
            let checked = black_box(&algorithm).check(None, 1, START);
            let next: Option<State> = black_box(checked.next);
            assert!(next.is_some());
        });
        assert_eq!(counted.count_total, 0, "{name}");
    }
}

/// Allocations of `CHECKS` acts, after as many that may make room for what is kept.
fn steady(mut act: impl FnMut(u64)) -> u64 {
    (0..CHECKS).for_each(&mut act);
    measure(|| (CHECKS..2 * CHECKS).for_each(&mut act)).count_total
}

fn tenant(index: u64) -> Party {
    Claimant::plain(&name(index)).into()
}

fn name(index: u64) -> String {
    format!("tenant-{index}")
}

#[test]
fn a_spend_from_a_lease_allocates_nothing() {
    let lease = Lease {
        label: WindowLabel(7),
        ends_at: START.plus(60_000),
        over_at: START.plus(60_000),
        span_ms: 60_000,
        limit: 1 << 40,
        held: 1 << 40,
        used: 0,
        left: 0,
        outage: false,
    };
    let holder = Holder::new("tokens".to_owned(), HolderId(1), Incarnation(1), None);
    for parties in [vec![Party::Everyone], (0..100).map(tenant).collect()] {
        let mut holder = holder.clone().with_lease(lease, Vec::new());
        for party in &parties {
            assert!(holder.spend(party, 1, START));
        }
        let allocations = steady(|index| {
            let party = &parties[index as usize % parties.len()];
            assert!(holder.draw(party, 1, 1 << 40, START.plus(index)).is_some());
        });
        assert_eq!(allocations, 0, "{} tenants", parties.len());
    }
}

#[test]
fn a_fair_decision_among_10_000_tenants_allocates_nothing() {
    const TENANTS: u64 = 10_000;
    const EACH: u64 = 1_000_000;
    let parties: Vec<Party> = (0..=TENANTS).map(tenant).collect();
    for rule in [Rule::Pinned, Rule::Weighted, Rule::Fair] {
        let mut budget = LocalBudget::new(LocalTerms {
            limit: (TENANTS + 1) * EACH,
            window_ms: 3_600_000,
            share: Some(ShareTerms {
                rule,
                tenants_max: TENANTS,
                unknown_weight_max: Weight::WHOLE,
                carried: false,
                floors: 0,
            }),
        });
        for party in &parties {
            assert!(budget.check(party, 1, START).admitted());
        }
        let asker = |index: u64| &parties[index as usize % 500];
        let mut tally = [0, 0];
        let admit = steady(|index| {
            let decision = budget.check(asker(index), 1, START);
            tally[usize::from(decision.admitted())] += 1;
        });
        assert_eq!((admit, tally), (0, [0, 2 * CHECKS]), "admit, {rule:?}");
        for party in &parties[..500] {
            let used = budget.check(party, 0, START);
            assert!(budget.check(party, used.remaining - 1, START).admitted());
        }
        let mut tally = [0, 0];
        let borrow = steady(|index| {
            let decision = budget.check(asker(index), 2, START);
            tally[usize::from(decision.admitted())] += 1;
            if let (true, Some(label)) = (decision.admitted(), budget.label()) {
                budget.undo(label, asker(index), 2);
            }
        });
        let admits = if rule == Rule::Pinned {
            [0, 2 * CHECKS]
        } else {
            tally
        };
        assert_eq!((borrow, tally), (0, admits), "borrow, {rule:?}");
        for party in &parties[..500] {
            assert!(budget.check(party, 1, START).admitted());
        }
        let mut tally = [0, 0];
        let deny = steady(|index| {
            let decision = budget.check(asker(index), 1, START);
            tally[usize::from(decision.admitted())] += 1;
        });
        let denies = if rule == Rule::Pinned {
            [2 * CHECKS, 0]
        } else {
            tally
        };
        assert_eq!((deny, tally), (0, denies), "deny, {rule:?}");
    }
}

/// Who asks may change the level of all that want more, which is computed anew; that was made room for once.
#[test]
fn a_decision_by_reserves_that_are_released_or_pooled_allocates_nothing() {
    const EACH: u64 = 1_000_000;
    // Of so many the level is computed at each ask, and of so many now and then.
    for (rule, tenants) in [Rule::Paced, Rule::Pooled, Rule::Unreserved]
        .into_iter()
        .flat_map(|rule| [(rule, 40), (rule, 2_000)])
    {
        let parties: Vec<Party> = (0..tenants).map(tenant).collect();
        let mut budget = LocalBudget::new(LocalTerms {
            limit: tenants * EACH,
            window_ms: 3_600_000,
            share: Some(ShareTerms {
                rule,
                tenants_max: tenants,
                unknown_weight_max: Weight::WHOLE,
                carried: true,
                floors: 0,
            }),
        });
        for party in &parties {
            let _charged = budget.check(party, EACH / 2, START);
        }
        let mut tally = [0, 0];
        // Costs from one unit to more than is left, a millisecond apart: some want more than they can have.
        let mut ask = |index: u64| {
            let party = &parties[(index * index % tenants) as usize];
            let cost = [1, EACH / 10, 3, tenants * EACH][(index / 7 % 4) as usize];
            let now = START.plus(index);
            let decision = budget.check(party, cost, now);
            tally[usize::from(decision.admitted())] += 1;
            if let (true, Some(label)) = (decision.admitted(), budget.label()) {
                budget.undo(label, party, cost - 1);
            }
        };
        (0..4 * tenants).for_each(&mut ask);
        let start = 4 * tenants;
        let allocations = steady(|index| ask(start + index));
        assert_eq!(allocations, 0, "{rule:?}, {tenants} tenants");
        assert!(
            tally.iter().all(|count| *count > 100),
            "{rule:?}: {tally:?}"
        );
    }
}

#[test]
fn a_federated_decision_allocates_nothing() {
    let mut pool = RegionPool::new(1 << 50, 3_600_000).unwrap();
    let mut region = FederatedEscrow::new("weur");
    let names: Vec<String> = (0..500).map(name).collect();
    let mut check = |index: usize, cost: u64| {
        let decided = region.check(&mut pool, &names[index], Weight::WHOLE, cost, START);
        decided.unwrap().admitted()
    };
    assert!(check(0, 1 << 20));
    assert!((1..500).all(|index| check(index, 1)));
    let admit = steady(|index| assert!(check(1 + index as usize % 499, 1)));
    let deny = steady(|index| assert!(!check(1 + index as usize % 499, 1 << 50)));
    assert_eq!((admit, deny), (0, 0));
}

#[test]
fn a_composite_of_several_limits_allocates_nothing() {
    let limits =
        [10, 20].map(|burst| Scaled::whole(Algorithm::Gcra(Gcra::new(1, 100, burst).unwrap())));
    for mode in [Mode::All, Mode::Any] {
        let rules = StepRules {
            mode,
            enforced: true,
            dimensions: vec![DimensionRules::default(); 2],
        };
        let mut states = [0, 1].map(|index: usize| warm(&limits[index], 5));
        let mut admitted = 0;
        let allocations = steady(|index| {
            let now = START.plus(index * 70);
            let checked = [0, 1].map(|index| limits[index].check(states[index].as_ref(), 1, now));
            let decisions = [0, 1].map(|index| Some(checked[index].decision));
            let verdict = rules.verdict(&decisions);
            assert!(verdict.binding.is_some());
            admitted += u64::from(verdict.admitted);
            for (state, checked) in states.iter_mut().zip(checked) {
                if verdict.admitted && checked.next.is_some() {
                    *state = checked.next;
                }
            }
        });
        assert_eq!(allocations, 0, "{mode:?}");
        assert!((1..2 * CHECKS).contains(&admitted), "{mode:?}: {admitted}");
    }
}

#[test]
fn a_check_of_a_resource_and_its_report_allocate_nothing() {
    for fails in [false, true] {
        let config = Config::default();
        let mut origin = Resource::new(&config, Revision(1), &[3; 32], "origin", START);
        let clients = if fails { 20 } else { 2_000 };
        let names: Vec<String> = (0..clients).map(name).collect();
        let mut admitted = 0;
        let allocations = steady(|index| {
            let client = Client {
                name: &names[index as usize % names.len()],
                weight: Weight::WHOLE,
            };
            let now = START.plus(index);
            if origin.check(&client, 1, 0.5, now).admitted {
                admitted += 1;
                let outcome = match fails && index % 3 == 0 {
                    true => Outcome::Failure,
                    false => Outcome::Success,
                };
                origin.report(&client, outcome, now);
            }
        });
        assert_eq!(allocations, 0);
        assert_eq!(admitted == 2 * CHECKS, !fails, "{admitted}");
    }
}
