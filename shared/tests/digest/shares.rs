//! Tenants that share a budget, by each rule; some of them below others.

use weir_shared::fairness::ask::{Above, Claimant, Floor, Party, SetAside, TenantClaim};
use weir_shared::fairness::local::{LocalBudget, LocalTerms};
use weir_shared::fairness::share::{Rule, ShareTerms};
use weir_shared::fairness::weight::Weight;
use weir_shared::units::EpochMs;

use crate::digest::START_MS;
use crate::digest::log::Log;
use crate::random::Random;

/// Until `decisions` requests of a dozen tenants are decided by the rule; `None` is first come, first served.
pub(crate) fn run(seed: u64, decisions: usize, rule: Option<Rule>) -> Log {
    let mut random = Random::new(seed);
    let mut terms = LocalTerms {
        limit: 1_000,
        window_ms: 10_000,
        share: rule.map(|rule| ShareTerms {
            rule,
            tenants_max: 4,
            unknown_weight_max: Weight::WHOLE,
            carried: true,
            floors: 0,
        }),
    };
    let parties: Vec<Party> = (0..12).map(|number| claimant(number).into()).collect();
    let mut budget = LocalBudget::new(terms);
    let mut now = EpochMs(START_MS);
    let mut log = Log::default();
    for _ in 0..decisions {
        now = now.plus(random.below(30));
        if random.chance(2) {
            terms.limit = random.one_of(&[300, 1_000, 1_777]);
            budget.retune(terms);
        }
        // The first ones ask far more often than the last.
        let most = random.between(1, parties.len() as u64);
        let party = &parties[random.below(most) as usize];
        let cost = random.one_of(&[0, 1, 1, 1, 2, 7, 60]);
        let decision = budget.check(party, cost, now);
        let numbers = [
            cost,
            decision.limit,
            decision.remaining,
            decision.reset_at.0,
        ];
        log.decision(decision.admitted(), &numbers);
        log.text(decision.reason.name());
        log.number(decision.retry.after_ms());
    }
    log
}

/// Four of a policy, three below one of them, five that it does not name.
fn claimant(number: u64) -> Claimant {
    let weight = |weight: f64| Weight::try_from(weight).unwrap();
    let above = Above {
        name: "t0".to_owned(),
        weight: weight(3.0),
        borrow_max: Some(400),
        lend_max: None,
        ceiling: None,
        floor: Floor::default(),
        floors: SetAside::default(),
    };
    Claimant {
        name: format!("t{number}"),
        claim: TenantClaim {
            known: number < 7,
            weight: weight(
                [3.0, 1.0, 0.5, 7.25, 1.0, 2.0, 4.0, 1.0, 1.0, 1.0, 1.0, 1.0][number as usize],
            ),
            lend_max: (number == 3).then_some(50),
            above: match number {
                4..=6 => vec![above],
                _ => Vec::new(),
            },
            ..TenantClaim::default()
        },
    }
}
