//! What an isolate spends, asks and remembers of one key.

use weir_algorithms::Receipt;

use super::*;

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
    let mut cache = KeyCache::default();
    assert_eq!(cache.look((5, 10), false, EpochMs(0)), Look::Ask);
    let _question = cache.ask(false, EpochMs(0));
    let denial = decision(Reason::LimitExceeded, 3, Retry::AfterMs(300));
    cache.finish((5, 0, denial), None, (EpochMs(0), EpochMs(500)));
    let at = |cache: &mut KeyCache, cost, now| cache.look((cost, 10), false, EpochMs(now));
    assert_eq!(
        at(&mut cache, 5, 110),
        Look::Decided(decision(Reason::LimitExceeded, 3, Retry::AfterMs(190)))
    );
    assert!(matches!(at(&mut cache, 9, 299), Look::Decided(_)));
    assert_eq!(at(&mut cache, 4, 110), Look::Ask, "a smaller cost may pass");
    assert_eq!(at(&mut cache, 11, 110), Look::Ask, "it could never pass");
    assert_eq!(at(&mut cache, 5, 300), Look::Ask, "its time has come");

    let denial = decision(Reason::LimitExceeded, 3, Retry::AfterMs(9_000));
    cache.finish((5, 0, denial), None, (EpochMs(310), EpochMs(500)));
    assert!(matches!(at(&mut cache, 5, 499), Look::Decided(_)));
    assert_eq!(
        at(&mut cache, 5, 500),
        Look::Ask,
        "the region is to be heard of"
    );
    cache.finish((5, 0, denial), None, (EpochMs(500), EpochMs(900)));
    cache.ask_again();
    assert_eq!(at(&mut cache, 5, 502), Look::Ask, "a new revision");
}

#[test]
fn a_denial_for_want_of_a_slot_or_of_a_holder_does_not_stand() {
    for reason in [Reason::Concurrency, Reason::Unavailable] {
        let mut cache = KeyCache::default();
        let _question = cache.ask(false, EpochMs(0));
        let denial = decision(reason, 0, Retry::AfterMs(30_000));
        cache.finish((1, 0, denial), None, (EpochMs(0), EpochMs(500)));
        assert_eq!(cache.standing_denial(1, 10, EpochMs(1)), None);
        assert_eq!(cache.look((1, 10), false, EpochMs(1)), Look::Ask);
        assert!(cache.idle(EpochMs(1)));
    }
}

#[test]
fn drawn_units_are_spent_once_and_what_is_left_goes_back_with_the_next_question() {
    let mut cache = KeyCache::default();
    let _question = cache.ask(false, EpochMs(0));
    cache.finish((1, 1, ADMITTED), draw(5, None), (EpochMs(0), EpochMs(500)));
    // The shard had 7 left, of which it charged 5 ahead.
    let spent = Decision {
        remaining: 4,
        ..ADMITTED
    };
    assert_eq!(
        cache.look((3, 10), false, EpochMs(20)),
        Look::Decided(spent)
    );
    assert_eq!(
        cache.look((3, 10), false, EpochMs(20)),
        Look::Ask,
        "two are left"
    );
    let question = cache.ask(false, EpochMs(20));
    assert_eq!(question.back, Some((2, receipt())));
    assert_eq!(
        cache.look((1, 10), false, EpochMs(21)),
        Look::Wait,
        "they went back"
    );
}

#[test]
fn drawn_units_are_not_spent_after_the_window_they_were_charged_in() {
    let mut cache = KeyCache::default();
    let _question = cache.ask(false, EpochMs(100));
    cache.finish(
        (1, 1, ADMITTED),
        draw(5, Some(40)),
        (EpochMs(100), EpochMs(600)),
    );
    assert!(matches!(
        cache.look((1, 10), false, EpochMs(139)),
        Look::Decided(_)
    ));
    assert_eq!(cache.unspent(EpochMs(139)), None);
    assert_eq!(cache.look((1, 10), false, EpochMs(140)), Look::Ask);
    assert_eq!(cache.unspent(EpochMs(140)), Some((4, receipt())));
    assert_eq!(cache.unspent(EpochMs(140)), None, "once");
}

#[test]
fn no_more_is_drawn_than_what_waits_and_one_interval_of_the_isolates_own_rate() {
    let mut cache = KeyCache::default();
    let _cold = cache.ask(false, EpochMs(1_000));
    let waits: Vec<_> = (0..3).map(|_| cache.wait(2, EpochMs(1_001))).collect();
    cache.finish((1, 1, ADMITTED), None, (EpochMs(1_000), EpochMs(1_500)));
    // 6 units wait; 1 unit in 100 ms is 5 in an interval of 500 ms.
    assert_eq!(cache.ask(false, EpochMs(1_100)).ahead, 11);
    for ticket in waits.into_iter().flatten() {
        cache.unwait(ticket);
    }
    cache.fail();
    assert_eq!(
        cache.ask(false, EpochMs(9_000)).ahead,
        0,
        "nothing was used since"
    );
}

#[test]
fn units_that_a_denied_request_gives_back_are_spent_again_or_returned() {
    let mut cache = KeyCache::default();
    let _question = cache.ask(false, EpochMs(0));
    let times = (EpochMs(0), EpochMs(500));
    cache.finish((1, 1, ADMITTED), draw(3, None), times);
    assert!(matches!(
        cache.look((3, 10), false, EpochMs(1)),
        Look::Decided(_)
    ));
    cache.unspend(3, &receipt(), EpochMs(2));
    assert!(matches!(
        cache.look((3, 10), false, EpochMs(3)),
        Look::Decided(_)
    ));
    let _question = cache.ask(false, EpochMs(4));
    cache.unspend(3, &receipt(), EpochMs(5));
    assert!(cache.has_unsent());
    assert_eq!(cache.unspent(EpochMs(6)), Some((3, receipt())));
}

#[test]
fn a_look_takes_nothing() {
    let mut cache = KeyCache::default();
    let _question = cache.ask(false, EpochMs(0));
    cache.finish((1, 1, ADMITTED), draw(1, None), (EpochMs(0), EpochMs(500)));
    for _ in 0..3 {
        assert!(matches!(
            cache.look((1, 10), true, EpochMs(1)),
            Look::Decided(_)
        ));
    }
    assert!(matches!(
        cache.look((1, 10), false, EpochMs(1)),
        Look::Decided(_)
    ));
    assert_eq!(cache.look((1, 10), true, EpochMs(1)), Look::Ask);
}

/// A key cache that holds five units of a draw, and has used none.
fn drawn() -> KeyCache {
    let mut cache = KeyCache::default();
    cache.admit(0, ADMITTED, draw(5, None), EpochMs(0));
    cache
}

#[test]
fn a_key_may_be_forgotten_when_nothing_is_lost_with_it() {
    type Has<'a> = &'a dyn Fn(&mut KeyCache);

    let denied = |cache: &mut KeyCache| {
        let denial = decision(Reason::LimitExceeded, 3, Retry::AfterMs(300));
        cache.deny(5, denial, EpochMs(0), EpochMs(9_000));
    };
    let waits = |cache: &mut KeyCache| {
        let _ticket = cache.wait(2, EpochMs(0));
    };
    let uses = |cache: &mut KeyCache| cache.admit(1, ADMITTED, None, EpochMs(0));
    let asks = |cache: &mut KeyCache| cache.claim(EpochMs(0));
    // From when on it is idle, where time alone makes it so.
    let cases: [(&str, Has<'_>, Option<u64>); 5] = [
        ("nothing", &|_| (), Some(0)),
        ("a denial that stands", &denied, Some(300)),
        ("a request that waits", &waits, None),
        ("a rate", &uses, Some(CONTACT_MS_MIN + 1)),
        ("a question under way", &asks, Some(CALL_MS_MAX + 1)),
    ];
    for (name, has, idle_at) in cases {
        let mut cache = KeyCache::default();
        has(&mut cache);
        let Some(idle_at) = idle_at else {
            assert!(!cache.idle(EpochMs(1_000_000)), "{name}");
            continue;
        };
        assert!(cache.idle(EpochMs(idle_at)), "{name}");
        assert_eq!(cache.worth(EpochMs(idle_at)), Worth::Nothing, "{name}");
        if let Some(before) = idle_at.checked_sub(1) {
            assert!(!cache.idle(EpochMs(before)), "{name}");
            assert_ne!(cache.worth(EpochMs(before)), Worth::Nothing, "{name}");
        }
    }
}

#[test]
fn drawn_units_are_to_go_back_until_they_are_spent() {
    let mut cache = drawn();
    let later = EpochMs(1);
    assert!(cache.has_unsent() && !cache.idle(later));
    assert_eq!(cache.worth(later), Worth::Units);
    assert!(matches!(
        cache.look((4, 10), false, later),
        Look::Decided(_)
    ));
    assert!(cache.has_unsent());
    assert!(matches!(
        cache.look((1, 10), false, later),
        Look::Decided(_)
    ));
    assert!(!cache.has_unsent());
    assert_eq!(cache.take_back(), None, "none is left");
}

#[test]
fn a_question_that_was_not_answered_keeps_nobody_waiting() {
    let mut cache = KeyCache::default();
    let later = EpochMs(1);
    let _question = cache.ask(false, EpochMs(0));
    assert!(cache.asking(later));
    assert_eq!(cache.look((1, 10), false, later), Look::Wait);
    cache.fail();
    assert!(!cache.asking(later));
    assert_eq!(cache.look((1, 10), false, later), Look::Ask);
    cache.claim(later);
    assert_eq!(cache.look((1, 10), false, later), Look::Wait);
    cache.fail();
    assert_eq!(cache.look((1, 10), false, later), Look::Ask);
}
