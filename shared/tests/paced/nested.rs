//! Below a parent.

use weir_shared::fairness::ask::{Above, Ask, Claimant, Floor, Moment, SetAside};
use weir_shared::fairness::share::{Rule, Share, ShareTerms};
use weir_shared::fairness::weight::Weight;

const LIMIT: u64 = 200;
const WINDOW_MS: u64 = 1_000;

fn top(name: &str) -> Claimant {
    Claimant::plain(name)
}

fn child(name: &str) -> Claimant {
    let mut claimant = top(name);
    claimant.claim.above = vec![Above {
        name: "parent".to_owned(),
        weight: Weight::WHOLE,
        borrow_max: None,
        lend_max: None,
        ceiling: None,
        floor: Floor::default(),
        floors: SetAside::default(),
    }];
    claimant
}

/// A child that asks at an even pace finds its part of its parent's guarantee, though its sibling asks for nothing until
/// late, and what the parent does not use is released to others meanwhile.
#[test]
fn an_even_pace_is_served_below_a_parent_too() {
    let mut share = Share::new(ShareTerms {
        rule: Rule::Paced,
        tenants_max: 10,
        unknown_weight_max: Weight::WHOLE,
        carried: true,
        floors: 0,
    });
    let (even, late, hungry) = (child("even"), child("late"), top("hungry"));
    let one = Ask {
        waiting: 1,
        smallest: 1,
        holders: 1,
        ..Ask::default()
    };
    for window in 0..3 {
        share.roll();
        let mut denied = 0;
        for gone_ms in 0..WINDOW_MS {
            let mut ask = |claimant: &Claimant| {
                let at = Moment {
                    limit: LIMIT,
                    unlent: LIMIT - share.used_total(),
                    left_ms: WINDOW_MS - gone_ms,
                    window_ms: WINDOW_MS,
                };
                let room = share.room(claimant, &one, &at);
                share.charge(&claimant.name, room.waiting);
                room.waiting == 1
            };
            let times = match gone_ms {
                0 => 1,
                1..750 => 0,
                _ => 5,
            };
            for _ in 0..times {
                let _late = ask(&late);
            }
            // Half of the parent's hundred.
            if gone_ms % 20 == 0 && !ask(&even) {
                denied += 1;
            }
            for _ in 0..5 {
                let _any = ask(&hungry);
            }
        }
        if window > 0 {
            assert_eq!((denied, share.used("even")), (0, 50), "window {window}");
        }
        assert!(share.used_total() <= LIMIT);
    }
}
