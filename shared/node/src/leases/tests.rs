//! What an isolate asks, sends and forgets of the pools that it holds.

use weir_core::limits::{CALL_MS_MAX, HOLDERS_ISOLATE_MAX, OWNER_PART, STRANGERS_MAX};
use weir_core::units::Revision;
use weir_decision::Reason;
use weir_fairness::ask::{Claimant, Party, TenantClaim};
use weir_limiting::owner::Owner;
use weir_wire::exchange::{Grant, ReplyBody, Seen, VERSION, WindowBody};

use super::*;

const NOW: EpochMs = EpochMs(10_000);

fn terms() -> Terms {
    Terms {
        limit: 100,
        window_ms: 60_000,
        revision: Revision(1),
        cycle: None,
        sharing: None,
        lease: None,
        standing: 0,
    }
}

fn asked(cost: u64) -> WaitingAsk {
    WaitingAsk {
        party: Party::Everyone,
        cost,
        terms: terms(),
        denial: Reason::CapReached,
        again: false,
    }
}

fn leases() -> Leases {
    Leases::new(HolderId(1))
}

fn account() -> Account {
    Account {
        owner: Some(Owner::tenant("acme")),
        ..Account::default()
    }
}

/// Takes what is to be sent and answers it.
fn lend(leases: &mut Leases) {
    for body in leases.unsent() {
        answer(leases, &body);
    }
}

/// Answers a message with 10 units of a window of a minute.
fn answer(leases: &mut Leases, body: &ExchangeBody) {
    let reply = ReplyBody {
        v: VERSION,
        to: Seen {
            incarnation: body.incarnation,
            sequence: body.sequence,
        },
        window: WindowBody {
            label: WindowLabel(7),
            remaining_ms: 60_000,
            limit: 100,
        },
        grants: vec![Grant {
            tenant: None,
            units: 10,
            ceiling: 100,
            used: 10,
            left: 50,
            allowance: 0,
            contended: false,
            retry_ms: None,
        }],
        ahead: Vec::new(),
        left: 50,
        outage: false,
        next_contact_ms: 1_000,
        retry_ms: None,
    };
    leases.answered(&body.budget, body.sequence, Some(Ok(reply)), NOW);
}

#[test]
fn of_a_pool_that_the_policy_has_no_more_nothing_is_sent_and_no_account_is_kept() {
    let mut leases = leases();
    for pool in ["hourly\u{1}stays", "hourly\u{1}goes"] {
        assert!(leases.has_room(pool, &account(), NOW));
        leases.wait(pool, asked(1), NOW);
    }
    let mut before = leases.clone();
    let bodies = before.unsent();
    assert_eq!(before.accounts_of(&bodies).len(), 2);
    let fate = |pool: &str| match pool {
        "hourly\u{1}goes" => Fate::Gone,
        _ => Fate::Stays,
    };
    leases.adopt(fate, NOW);
    let kept: Vec<_> = leases.accounts_of(&bodies).into_keys().collect();
    assert_eq!(kept, ["hourly\u{1}stays"]);
    let unsent = leases.unsent();
    let pools: Vec<_> = unsent.iter().map(|body| body.budget.as_str()).collect();
    assert_eq!(pools, ["hourly\u{1}stays"]);
}

#[test]
fn what_was_to_be_sent_of_a_pool_that_moved_is_replaced_and_of_others_is_sent() {
    let mut leases = leases();
    for pool in ["moves", "stays"] {
        leases.wait(pool, asked(1), NOW);
    }
    let fate = |pool: &str| match pool {
        "moves" => Fate::Moved,
        _ => Fate::Stays,
    };
    leases.adopt(fate, NOW);
    let unsent = leases.unsent();
    let lives: Vec<_> = unsent
        .iter()
        .map(|body| (body.budget.as_str(), body.incarnation))
        .collect();
    assert_eq!(
        lives,
        [("stays", Incarnation(2)), ("moves", Incarnation(3))]
    );
}

#[test]
fn a_pool_is_heard_of_at_once_where_units_of_an_open_window_are_held_and_nowhere_else() {
    let mut leases = leases();
    leases.look_again("tokens", terms(), NOW);
    assert_eq!(leases.unsent(), [], "nothing is held");
    leases.wait("tokens", asked(10), NOW);
    lend(&mut leases);
    assert_eq!(leases.unsent(), []);
    leases.look_again("tokens", terms(), NOW);
    assert_eq!(leases.unsent().len(), 1);
    let over = NOW.plus(60_000 + CALL_MS_MAX);
    leases.look_again("tokens", terms(), over);
    assert_eq!(leases.unsent(), [], "the window is over");
}

#[test]
fn what_changes_while_a_message_is_under_way_is_asked_for_after_its_answer_once() {
    let mut leases = leases();
    leases.wait("tokens", asked(10), NOW);
    lend(&mut leases);
    for _ in 0..3 {
        leases.look_again("tokens", terms(), NOW);
    }
    let [under_way] = &leases.unsent()[..] else {
        panic!("one message");
    };
    leases.answered("tokens", under_way.sequence, None, NOW);
    let [again] = &leases.unsent()[..] else {
        panic!("one message");
    };
    assert_eq!(again, under_way, "one that nobody answered is said again");
    leases.look_again("tokens", terms(), NOW);
    answer(&mut leases, again);
    let [newer] = &leases.unsent()[..] else {
        panic!("one message");
    };
    assert!(newer.sequence > again.sequence);
    answer(&mut leases, newer);
    assert_eq!(leases.unsent(), []);
}

#[test]
fn tenants_that_the_policy_does_not_name_share_a_seat_when_there_are_too_many_of_them() {
    let stranger = |name: &str| {
        let claim = TenantClaim {
            known: false,
            ..TenantClaim::default()
        };
        let name = name.to_owned();
        Party::from(Claimant { name, claim })
    };
    let mut leases = leases();
    let new = stranger("new");
    assert_eq!(*leases.seat("tokens", &new), new, "there is no holder yet");
    leases.wait("tokens", asked(10), NOW);
    let holder = leases.known("tokens").unwrap();
    for name in 1..STRANGERS_MAX {
        holder.deny(&stranger(&name.to_string()), 1, NOW);
    }
    assert_eq!(*leases.seat("tokens", &stranger("1")), stranger("1"));
    let seat = leases.seat("tokens", &new);
    assert!(seat.tenant().is_some_and(Claimant::is_overflow));
    let named = Claimant::plain("named").into();
    assert_eq!(*leases.seat("tokens", &named), named);
    let everyone = Party::Everyone;
    assert_eq!(*leases.seat("tokens", &everyone), everyone);
}

#[test]
fn what_nobody_could_decide_is_demand_in_the_next_message() {
    let mut leases = leases();
    leases.wait("tokens", asked(10), NOW);
    lend(&mut leases);
    leases.deny("tokens", &asked(4).ask(), NOW);
    leases.look_again("tokens", terms(), NOW);
    let [body] = &leases.unsent()[..] else {
        panic!("one message");
    };
    assert_eq!(body.denied, 4);
}

#[test]
fn a_check_asks_for_more_when_what_is_decided_leaves_little_and_not_before() {
    let mut leases = leases();
    let check = |leases: &mut Leases, cost, now| {
        let held = leases.check("tokens", &asked(cost).ask(), &terms(), now);
        (
            matches!(held, HolderDecision::Decided(_)),
            leases.unsent().len(),
        )
    };
    assert_eq!(check(&mut leases, 1, NOW), (false, 0), "it has to wait");
    leases.wait("tokens", asked(1), NOW);
    lend(&mut leases);
    // 9 of 10 are left.
    let later = NOW.plus(900);
    let mut lent = leases.clone();
    assert_eq!(check(&mut lent, 10, later), (false, 0), "it has to wait");
    assert_eq!(check(&mut leases, 1, later), (true, 0));
    assert_eq!(
        check(&mut leases, 7, later),
        (true, 1),
        "9 were used in 900 ms"
    );
}

#[test]
fn there_is_something_left_to_tell_while_a_message_or_an_answer_is_under_way_or_units_are_held() {
    let mut leases = leases();
    assert!(!leases.has_unsent(NOW));
    leases.known("tokens");
    assert!(!leases.has_unsent(NOW), "a look makes no holder");
    let caller = leases.wait("tokens", asked(10), NOW);
    assert!(leases.has_unsent(NOW), "it is not answered");
    lend(&mut leases);
    assert!(leases.has_unsent(NOW), "the answer is not taken");
    assert!(matches!(
        leases.poll("tokens", caller, NOW),
        Polled::Answered(_)
    ));
    assert!(!leases.has_unsent(NOW), "all 10 are used");
    leases.wait("others", asked(9), NOW);
    lend(&mut leases);
    assert!(leases.has_unsent(NOW), "1 of 10 is held");
}

fn key_pool(key: usize) -> String {
    format!("hourly\u{1}acme\u{1}{key}")
}

/// As many pools of keys as an owner may have, each of which does something.
fn full(leases: &mut Leases, now: EpochMs, does: impl Fn(&mut Leases, &str)) {
    for key in 0..HOLDERS_ISOLATE_MAX / OWNER_PART {
        let pool = key_pool(key);
        leases.has_room(&pool, &account(), now);
        does(leases, &pool);
    }
}

#[test]
fn pools_for_which_somebody_waits_make_no_room_for_others_and_those_of_which_nothing_is_held_do() {
    let begin = EpochMs(1_000_000);
    let waits = |leases: &mut Leases, pool: &str| {
        leases.wait(pool, asked(1), begin);
    };
    let looks = |leases: &mut Leases, pool: &str| {
        let _never = leases.never(pool, &asked(1).ask(), begin);
    };
    let has_room = |leases: &mut Leases| leases.has_room("hourly\u{1}new", &account(), begin);
    let (mut busy, mut idle) = (leases(), leases());
    full(&mut busy, begin, waits);
    full(&mut idle, begin, looks);
    assert_eq!([has_room(&mut busy), has_room(&mut idle)], [false, true]);
    let part = HOLDERS_ISOLATE_MAX / OWNER_PART;
    assert_eq!((busy.nodes.len(), idle.nodes.len()), (part, 0));
}

#[test]
fn pools_that_make_room_are_searched_for_once_a_minute() {
    let begin = EpochMs(1_000_000);
    let looks = |leases: &mut Leases, pool: &str| {
        let _never = leases.never(pool, &asked(1).ask(), begin);
    };
    for (now, room) in [
        (begin, false),
        (begin.plus(PURGE_MS - 1), false),
        (begin.plus(PURGE_MS), true),
        (EpochMs(begin.0 - 1), true),
    ] {
        let mut leases = leases();
        full(&mut leases, begin, looks);
        assert!(leases.has_room("hourly\u{1}new", &account(), begin));
        full(&mut leases, begin, looks);
        let has_room = leases.has_room("hourly\u{1}newer", &account(), now);
        assert_eq!(has_room, room, "searched at {now:?}");
        assert!(leases.has_room("tokens", &account(), now), "a budget has");
    }
}

#[test]
fn a_pool_of_which_units_run_low_is_asked_for_once_by_the_terms_in_force() {
    let mut leases = leases();
    for pool in ["tokens", "others"] {
        leases.wait(pool, asked(1), NOW);
    }
    lend(&mut leases);
    assert!(!leases.has_low());
    for pool in ["tokens", "tokens", "others", "gone", "tokens"] {
        leases.runs_low(pool);
    }
    assert_eq!(leases.low, ["tokens", "others", "gone"]);
    assert!(leases.has_low());
    leases.refill(|pool| (pool != "gone").then(terms), NOW);
    assert!(!leases.has_low());
    let unsent = leases.unsent();
    let pools: Vec<_> = unsent.iter().map(|body| body.budget.as_str()).collect();
    assert_eq!(pools, ["tokens", "others"]);
}

#[test]
fn what_lapses_of_a_budgets_window_is_told_once_and_nothing_of_the_pools_of_keys() {
    let mut leases = leases();
    for pool in ["tokens", "hourly\u{1}acme"] {
        leases.wait(pool, asked(4), NOW);
    }
    lend(&mut leases);
    let over = NOW.plus(60_000 + CALL_MS_MAX);
    assert_eq!(leases.take_lapsed(NOW), []);
    let lapsed = [("tokens".to_owned(), WindowLabel(7), 6)];
    assert_eq!(leases.take_lapsed(over), lapsed);
    assert_eq!(leases.take_lapsed(over), []);
}

#[test]
fn who_waits_goes_along_to_another_parent_and_what_is_held_goes_back_to_the_one_before() {
    let mut leases = leases();
    let first = leases.wait("tokens", asked(4), NOW);
    lend(&mut leases);
    let polled = leases.poll("tokens", first, NOW);
    assert!(matches!(polled, Polled::Answered(Verdict::Decided(_))));
    let second = leases.wait("tokens", asked(8), NOW);
    assert!(matches!(
        leases.poll("tokens", second, NOW),
        Polled::Waits(_)
    ));

    let mut left = leases.moves(NOW);
    let (before, anew) = (left.unsent(), leases.unsent());
    assert_eq!((before.len(), anew.len()), (1, 1));
    assert!(anew[0].incarnation > before[0].incarnation && anew[0].seen.is_none());
    assert_eq!(anew[0].wants[0].waiting, 8, "it waits there");

    // The answer to what was under way comes after all: 6 that were left and 10 more go back, and nobody spends them.
    answer(&mut left, &before[0]);
    left.flush(|_| Some(terms()), NOW);
    let back = left.unsent();
    let returned: u64 = back[0].returns.iter().map(|back| back.units).sum();
    assert_eq!(returned, 16);
    answer(&mut left, &back[0]);

    answer(&mut leases, &anew[0]);
    let polled = leases.poll("tokens", second, NOW);
    assert!(matches!(polled, Polled::Answered(Verdict::Decided(_))));
}
