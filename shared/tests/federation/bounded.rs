//! A tenant with a ceiling whose requests hold much and settle to little.

use weir_shared::fairness::ask::{Claimant, Party};
use weir_shared::federation::waiting::Need;
use weir_shared::units::EpochMs;
use weir_shared::wire::exchange::{FloorsBody, RuleBody, SharingBody, Terms};

use crate::federation::chain::Chain;
use crate::federation::terms;

const CEILING: u64 = 2_000;
const START: EpochMs = EpochMs(1_000_000);
const RULES: [RuleBody; 4] = [
    RuleBody::Paced,
    RuleBody::Pinned,
    RuleBody::Pooled,
    RuleBody::None,
];

fn chain(rule: RuleBody) -> Chain {
    let sharing = SharingBody {
        rule,
        tenants_max: 10,
        unknown_weight_max: 100_000_000,
        floors: FloorsBody::default(),
    };
    let terms = Terms {
        window_ms: 60_000,
        sharing: Some(sharing),
        ..terms(30_000)
    };
    Chain::new(terms, START)
}

fn party() -> Party {
    let mut claimant = Claimant::plain("a");
    claimant.claim.ceiling = Some(CEILING);
    claimant.into()
}

#[test]
fn what_an_isolate_gives_back_as_it_asks_for_more_counts_once_against_a_ceiling() {
    for rule in RULES {
        let mut chain = chain(rule);
        let first = Need::one(1_100);
        let ticket = chain.isolates[0].wait_on(&party(), None, first, START);
        chain.isolate_asks(0);
        chain.isolates[0].unwait(ticket.unwrap());
        // It has 1,100 of 2,000, too little for this one: it gives them back, and 1,500 are there.
        chain.now = chain.now.plus(100);
        assert!(chain.check(0, &party(), 1_500), "{rule:?}");
        // Of the 500 that are left, no second one.
        chain.now = chain.now.plus(100);
        assert!(!chain.check(0, &party(), 501), "{rule:?}");
        chain.now = chain.now.plus(2_000);
        assert!(chain.check(0, &party(), 500), "{rule:?}");
        chain.now = chain.now.plus(100);
        assert!(!chain.check(1, &party(), 1), "{rule:?}");
    }
}

#[test]
fn requests_that_hold_most_of_a_ceiling_and_use_little_are_admitted_one_after_the_other() {
    for rule in RULES {
        for gap_ms in [50, 100, 300, 500, 700, 1_500] {
            let mut chain = chain(rule);
            for request in 0..20 {
                assert!(
                    chain.check(0, &party(), CEILING * 3 / 4),
                    "{rule:?}, {gap_ms} ms, request {request}"
                );
                chain.settles(0, "a", CEILING * 3 / 4 - 11);
                chain.goes_on(gap_ms);
            }
        }
    }
}
