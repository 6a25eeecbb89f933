//! What an isolate spends, asks and remembers of one key.

use super::*;
use crate::algorithms::Receipt;

fn receipt() -> ScaledReceipt {
    ScaledReceipt::whole(Receipt::Nothing)
}

fn decision(reason: Reason, remaining: u64, retry: Retry) -> Decision {
    Decision {
        reason,
        limit: 10,
        remaining,
        reset_at: EpochMs(9_000),
        retry,
    }
}

fn draw(units: u64, spendable_ms: Option<u64>) -> Option<Draw> {
    Some(Draw {
        units,
        spendable_ms,
        receipt: receipt(),
    })
}

const ADMITTED: Decision = Decision {
    reason: Reason::Admitted,
    limit: 10,
    remaining: 7,
    reset_at: EpochMs(9_000),
    retry: Retry::Now,
};

#[test]
fn a_denial_answers_what_costs_as_much_until_its_retry_time_or_the_next_contact() {
    let mut tap = Tap::default();
    assert_eq!(tap.look((5, 10), false, EpochMs(0)), Look::Ask);
    let _question = tap.ask(false, EpochMs(0));
    let denial = decision(Reason::LimitExceeded, 3, Retry::AfterMs(300));
    tap.finish((5, 0, denial), None, (EpochMs(0), EpochMs(500)));
    let at = |tap: &mut Tap, cost, now| tap.look((cost, 10), false, EpochMs(now));
    assert_eq!(
        at(&mut tap, 5, 110),
        Look::Decided(decision(Reason::LimitExceeded, 3, Retry::AfterMs(190)))
    );
    assert!(matches!(at(&mut tap, 9, 299), Look::Decided(_)));
    assert_eq!(at(&mut tap, 4, 110), Look::Ask, "a smaller cost may pass");
    assert_eq!(at(&mut tap, 11, 110), Look::Ask, "it could never pass");
    assert_eq!(at(&mut tap, 5, 300), Look::Ask, "its time has come");

    let denial = decision(Reason::LimitExceeded, 3, Retry::AfterMs(9_000));
    tap.finish((5, 0, denial), None, (EpochMs(310), EpochMs(500)));
    assert!(matches!(at(&mut tap, 5, 499), Look::Decided(_)));
    assert_eq!(
        at(&mut tap, 5, 500),
        Look::Ask,
        "the region is to be heard of"
    );
    tap.finish((5, 0, denial), None, (EpochMs(500), EpochMs(900)));
    tap.ask_again();
    assert_eq!(at(&mut tap, 5, 502), Look::Ask, "a new revision");
}

#[test]
fn a_denial_for_want_of_a_slot_or_of_a_holder_does_not_stand() {
    for reason in [Reason::Concurrency, Reason::Unavailable] {
        let mut tap = Tap::default();
        let _question = tap.ask(false, EpochMs(0));
        let denial = decision(reason, 0, Retry::AfterMs(30_000));
        tap.finish((1, 0, denial), None, (EpochMs(0), EpochMs(500)));
        assert_eq!(tap.standing_denial(1, 10, EpochMs(1)), None);
        assert_eq!(tap.look((1, 10), false, EpochMs(1)), Look::Ask);
        assert!(tap.idle(EpochMs(1)));
    }
}

#[test]
fn drawn_units_are_spent_once_and_what_is_left_goes_back_with_the_next_question() {
    let mut tap = Tap::default();
    let _question = tap.ask(false, EpochMs(0));
    tap.finish((1, 1, ADMITTED), draw(5, None), (EpochMs(0), EpochMs(500)));
    // The shard had 7 left, of which it charged 5 ahead.
    let spent = Decision {
        remaining: 4,
        ..ADMITTED
    };
    assert_eq!(tap.look((3, 10), false, EpochMs(20)), Look::Decided(spent));
    assert_eq!(
        tap.look((3, 10), false, EpochMs(20)),
        Look::Ask,
        "two are left"
    );
    let question = tap.ask(false, EpochMs(20));
    assert_eq!(question.back, Some((2, receipt())));
    assert_eq!(
        tap.look((1, 10), false, EpochMs(21)),
        Look::Wait,
        "they went back"
    );
}

#[test]
fn drawn_units_are_not_spent_after_the_window_they_were_charged_in() {
    let mut tap = Tap::default();
    let _question = tap.ask(false, EpochMs(100));
    tap.finish(
        (1, 1, ADMITTED),
        draw(5, Some(40)),
        (EpochMs(100), EpochMs(600)),
    );
    assert!(matches!(
        tap.look((1, 10), false, EpochMs(139)),
        Look::Decided(_)
    ));
    assert_eq!(tap.unspent(EpochMs(139)), None);
    assert_eq!(tap.look((1, 10), false, EpochMs(140)), Look::Ask);
    assert_eq!(tap.unspent(EpochMs(140)), Some((4, receipt())));
    assert_eq!(tap.unspent(EpochMs(140)), None, "once");
}

#[test]
fn no_more_is_drawn_than_what_waits_and_one_interval_of_the_isolates_own_rate() {
    let mut tap = Tap::default();
    let _cold = tap.ask(false, EpochMs(1_000));
    let waits: Vec<_> = (0..3).map(|_| tap.wait(2, EpochMs(1_001))).collect();
    tap.finish((1, 1, ADMITTED), None, (EpochMs(1_000), EpochMs(1_500)));
    // 6 units wait; 1 unit in 100 ms is 5 in an interval of 500 ms.
    assert_eq!(tap.ask(false, EpochMs(1_100)).ahead, 11);
    for ticket in waits.into_iter().flatten() {
        tap.unwait(ticket);
    }
    tap.fail();
    assert_eq!(
        tap.ask(false, EpochMs(9_000)).ahead,
        0,
        "nothing was used since"
    );
}

#[test]
fn units_that_a_denied_request_gives_back_are_spent_again_or_returned() {
    let mut tap = Tap::default();
    let _question = tap.ask(false, EpochMs(0));
    let times = (EpochMs(0), EpochMs(500));
    tap.finish((1, 1, ADMITTED), draw(3, None), times);
    assert!(matches!(
        tap.look((3, 10), false, EpochMs(1)),
        Look::Decided(_)
    ));
    tap.unspend(3, &receipt(), EpochMs(2));
    assert!(matches!(
        tap.look((3, 10), false, EpochMs(3)),
        Look::Decided(_)
    ));
    let _question = tap.ask(false, EpochMs(4));
    tap.unspend(3, &receipt(), EpochMs(5));
    assert!(tap.has_unsent());
    assert_eq!(tap.unspent(EpochMs(6)), Some((3, receipt())));
}

#[test]
fn a_look_takes_nothing() {
    let mut tap = Tap::default();
    let _question = tap.ask(false, EpochMs(0));
    tap.finish((1, 1, ADMITTED), draw(1, None), (EpochMs(0), EpochMs(500)));
    for _ in 0..3 {
        assert!(matches!(
            tap.look((1, 10), true, EpochMs(1)),
            Look::Decided(_)
        ));
    }
    assert!(matches!(
        tap.look((1, 10), false, EpochMs(1)),
        Look::Decided(_)
    ));
    assert_eq!(tap.look((1, 10), true, EpochMs(1)), Look::Ask);
}

/// A tap that holds five units of a draw, and has used none.
fn drawn() -> Tap {
    let mut tap = Tap::default();
    tap.admit(0, ADMITTED, draw(5, None), EpochMs(0));
    tap
}

#[test]
fn a_key_may_be_forgotten_when_nothing_is_lost_with_it() {
    type Has<'a> = &'a dyn Fn(&mut Tap);

    let denied = |tap: &mut Tap| {
        let denial = decision(Reason::LimitExceeded, 3, Retry::AfterMs(300));
        tap.deny(5, denial, EpochMs(0), EpochMs(9_000));
    };
    let waits = |tap: &mut Tap| {
        let _ticket = tap.wait(2, EpochMs(0));
    };
    let uses = |tap: &mut Tap| tap.admit(1, ADMITTED, None, EpochMs(0));
    let asks = |tap: &mut Tap| tap.claim(EpochMs(0));
    // From when on it is idle, where time alone makes it so.
    let cases: [(&str, Has<'_>, Option<u64>); 5] = [
        ("nothing", &|_| (), Some(0)),
        ("a denial that stands", &denied, Some(300)),
        ("a request that waits", &waits, None),
        ("a rate", &uses, Some(CONTACT_MS_MIN + 1)),
        ("a question under way", &asks, Some(CALL_MS_MAX + 1)),
    ];
    for (name, has, idle_at) in cases {
        let mut tap = Tap::default();
        has(&mut tap);
        let Some(idle_at) = idle_at else {
            assert!(!tap.idle(EpochMs(1_000_000)), "{name}");
            continue;
        };
        assert!(tap.idle(EpochMs(idle_at)), "{name}");
        assert_eq!(tap.worth(EpochMs(idle_at)), Worth::Nothing, "{name}");
        if let Some(before) = idle_at.checked_sub(1) {
            assert!(!tap.idle(EpochMs(before)), "{name}");
            assert_ne!(tap.worth(EpochMs(before)), Worth::Nothing, "{name}");
        }
    }
}

#[test]
fn drawn_units_are_to_go_back_until_they_are_spent() {
    let mut tap = drawn();
    let later = EpochMs(1);
    assert!(tap.has_unsent() && !tap.idle(later));
    assert_eq!(tap.worth(later), Worth::Units);
    assert!(matches!(tap.look((4, 10), false, later), Look::Decided(_)));
    assert!(tap.has_unsent());
    assert!(matches!(tap.look((1, 10), false, later), Look::Decided(_)));
    assert!(!tap.has_unsent());
    assert_eq!(tap.take_back(), None, "none is left");
}

#[test]
fn a_question_that_was_not_answered_keeps_nobody_waiting() {
    let mut tap = Tap::default();
    let later = EpochMs(1);
    let _question = tap.ask(false, EpochMs(0));
    assert!(tap.asking(later));
    assert_eq!(tap.look((1, 10), false, later), Look::Wait);
    tap.fail();
    assert!(!tap.asking(later));
    assert_eq!(tap.look((1, 10), false, later), Look::Ask);
    tap.claim(later);
    assert_eq!(tap.look((1, 10), false, later), Look::Wait);
    tap.fail();
    assert_eq!(tap.look((1, 10), false, later), Look::Ask);
}
