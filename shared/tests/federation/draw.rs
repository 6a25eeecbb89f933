//! What is decided in one step is what is decided in several.

use weir_shared::decision::Retry;
use weir_shared::fairness::ask::Claimant;
use weir_shared::federation::escrow::Escrow;
use weir_shared::federation::holder::Outlook;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::waiting::Need;
use weir_shared::units::{EpochMs, HolderId, Incarnation};

use crate::federation::{everyone, holder, lend, terms};

#[test]
fn a_draw_is_an_outlook_and_a_spend() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let (mut drawn, mut not_drawn) = (0, 0);
    for start_ms in 0..200 {
        let start = EpochMs(1_000_000 + start_ms * 7);
        let mut pool = Pool::open(terms(40), start);
        let mut escrow = Escrow::wake("tokens".to_owned(), HolderId(7), Incarnation(1), None);
        let mut one = holder(100);
        lend(&mut one, &mut escrow, &mut pool, 1 + next(39), start);
        let named = Claimant::plain("acme").into();
        for step in 0..20 {
            let now = start.plus(step * next(80));
            let party = if next(4) == 0 { &named } else { &everyone() };
            let cost = 1 + next(6);
            // The first request of a tenant is decided in several steps.
            let _spent = one.spend(party, 1, now);
            let mut other = one.clone();
            other.advance(now);
            let covered = other.outlook(party, Need::one(cost), None, now) == Outlook::Covered;
            let Some(drawn_now) = one.draw(party, cost, 40, now) else {
                let known = one.told(party.name()).is_some() || one.balance(party.name(), now) == 0;
                assert!(!covered || !known, "{cost} of {party:?}");
                not_drawn += 1;
                continue;
            };
            drawn += 1;
            assert!(covered && other.spend(party, cost, now));
            assert_eq!(format!("{one:?}"), format!("{other:?}"));
            assert_eq!(drawn_now.runs_low, other.runs_low(party.name(), now));
            let lease = other.open_lease(now).unwrap();
            let decision = drawn_now.decision;
            assert_eq!(
                (drawn_now.label, decision.reset_at),
                (lease.label, lease.ends_at)
            );
            assert!(decision.admitted() && decision.retry == Retry::Now);
            assert!(decision.remaining >= other.balance(party.name(), now));
        }
    }
    assert!(drawn > 500 && not_drawn > 500, "{drawn}, {not_drawn}");
}
