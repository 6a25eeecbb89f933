//! An isolate's part of a pool: who waits, what is asked, and whom an answer decides.

use weir_shared::decision::Reason;
use weir_shared::federation::ahead::Ahead;
use weir_shared::federation::holder::{Holder, Lease};
use weir_shared::limits::{CALL_MS_MAX, DECIDE_WAIT_MS_MAX, EARLY_MS_MAX};
use weir_shared::node::lease::{Effect, Event, HolderDecision, LeaseNode, Verdict, WaitingAsk};
use weir_shared::node::leases::{Caller, Fate, Leases, Polled};
use weir_shared::node::pool::PoolNode;
use weir_shared::node::{LendAnswer, Spent};
use weir_shared::units::{EpochMs, HolderId, Sequence, WindowLabel};
use weir_shared::wire::exchange::{ExchangeBody, Refusal, Terms};

use super::{LIMIT, NOW, above, granted, minutes, root};
use crate::federation::{everyone, holder};

fn isolate() -> LeaseNode<u8> {
    LeaseNode::new(holder(1))
}

fn asked(cost: u64) -> WaitingAsk {
    WaitingAsk {
        party: everyone(),
        cost,
        terms: minutes(),
        denial: Reason::CapReached,
        again: false,
    }
}

fn check(caller: u8, cost: u64) -> Event<u8> {
    Event::Check {
        caller,
        asked: asked(cost),
    }
}

fn answered(body: &ExchangeBody, answer: LendAnswer) -> Event<u8> {
    Event::Answered {
        sequence: body.sequence,
        answer: Some(answer),
    }
}

/// What is to be sent.
fn sent(effects: &[Effect<u8>]) -> Vec<ExchangeBody> {
    let bodies = effects.iter().filter_map(|effect| match effect {
        Effect::Send(body) => Some((**body).clone()),
        _ => None,
    });
    bodies.collect()
}

fn one(effects: &[Effect<u8>]) -> ExchangeBody {
    let bodies = sent(effects);
    assert_eq!(bodies.len(), 1, "{effects:?}");
    bodies[0].clone()
}

/// Who hears an answer.
fn replied(effects: &[Effect<u8>]) -> Vec<u8> {
    let callers = effects.iter().filter_map(|effect| match effect {
        Effect::Reply(caller) => Some(*caller),
        _ => None,
    });
    callers.collect()
}

fn wakes_at(effects: &[Effect<u8>]) -> Option<EpochMs> {
    let mut instants = effects.iter().filter_map(|effect| match effect {
        Effect::WakeAt(at) => Some(*at),
        _ => None,
    });
    instants.next_back()
}

fn admitted(verdict: Option<Verdict>) -> bool {
    matches!(verdict, Some(Verdict::Decided((decision, _))) if decision.admitted())
}

fn waiting(body: &ExchangeBody) -> u64 {
    body.wants.iter().map(|want| want.waiting).sum()
}

/// The node after it was lent what a first request of so many units asked for, of a pool with that limit.
fn lent(units: u64) -> (LeaseNode<u8>, PoolNode<()>) {
    let (mut node, mut root) = (isolate(), root());
    let body = one(&node.step(check(1, units), NOW));
    let answer = above(&mut root, &body, NOW);
    let effects = node.step(answered(&body, answer), NOW);
    assert_eq!(replied(&effects), [1]);
    assert!(admitted(node.take(1)));
    (node, root)
}

#[test]
fn what_is_held_decides_and_nothing_is_sent() {
    let (mut node, _) = lent(5);
    let ask = asked(1);
    let held = node.holder().balance(None, NOW);
    let decided = node.check(&ask.ask(), NOW);
    assert_eq!(matches!(decided, HolderDecision::Decided(_)), held > 0);
    assert_eq!(node.holder().balance(None, NOW), held.saturating_sub(1));
}

#[test]
fn those_that_wait_behind_one_message_are_asked_for_together_and_decided_by_one_answer() {
    let (mut node, mut root) = (isolate(), root());
    let first = one(&node.step(check(1, 5), NOW));
    for caller in [2, 3] {
        let effects = node.step(check(caller, 12), NOW);
        assert_eq!(sent(&effects), [], "a message is under way");
        assert!(replied(&effects).is_empty());
    }
    let answer = above(&mut root, &first, NOW);
    let effects = node.step(answered(&first, answer), NOW);
    assert_eq!(replied(&effects), [1]);
    let second = one(&effects);
    assert_eq!(waiting(&second), 24);
    let answer = above(&mut root, &second, NOW);
    let effects = node.step(answered(&second, answer), NOW);
    assert_eq!(replied(&effects), [2, 3]);
    assert!((1..=3).all(|caller| admitted(node.take(caller))));
}

#[test]
fn an_answer_serves_another_than_it_was_asked_for_when_that_one_left() {
    let (mut node, mut root) = (isolate(), root());
    let body = one(&node.step(check(1, 5), NOW));
    assert_eq!(node.step(check(2, 5), NOW).len(), 1, "when to wake alone");
    assert_eq!(node.step(Event::Left { caller: 1 }, NOW), []);
    let answer = above(&mut root, &body, NOW);
    let effects = node.step(answered(&body, answer), NOW);
    assert_eq!(replied(&effects), [2]);
    assert_eq!(node.take(1), None);
    assert!(admitted(node.take(2)));
}

#[test]
fn a_request_that_left_is_not_asked_for_again() {
    let (mut node, mut root) = (isolate(), root());
    let body = one(&node.step(check(1, 1), NOW));
    let _waits = node.step(check(2, 30), NOW);
    let _left = node.step(Event::Left { caller: 2 }, NOW);
    let _waits = node.step(check(3, 20), NOW);
    let answer = above(&mut root, &body, NOW);
    let effects = node.step(answered(&body, answer), NOW);
    assert_eq!(waiting(&one(&effects)), 20);
}

#[test]
fn an_answer_that_is_not_taken_is_given_back_when_the_request_leaves() {
    let (mut node, mut root) = (isolate(), root());
    let body = one(&node.step(check(1, 5), NOW));
    let answer = above(&mut root, &body, NOW);
    let lent = granted(&answer);
    let effects = node.step(answered(&body, answer), NOW);
    assert_eq!(replied(&effects), [1]);
    assert_eq!(node.holder().balance(None, NOW), lent - 5);
    let _left = node.step(Event::Left { caller: 1 }, NOW);
    assert_eq!(node.holder().balance(None, NOW), lent);
    assert_eq!(node.take(1), None);
    let _again = node.step(Event::Left { caller: 1 }, NOW);
    assert_eq!(node.holder().balance(None, NOW), lent, "once");
}

#[test]
fn an_answer_to_a_request_that_the_platform_ended_is_given_back_in_time() {
    let (mut node, mut root) = (isolate(), root());
    let body = one(&node.step(check(1, 5), NOW));
    let answer = above(&mut root, &body, NOW);
    let lent = granted(&answer);
    let _answered = node.step(answered(&body, answer), NOW);
    for (at, balance) in [
        (DECIDE_WAIT_MS_MAX - 1, lent - 5),
        (DECIDE_WAIT_MS_MAX, lent),
    ] {
        assert!(node.has_unsent(EpochMs(at)));
        let mut node = node.clone();
        let terms = Terms {
            revision: minutes().revision,
            ..minutes()
        };
        // What it tells is another question.
        let _told = node.step(Event::Flush { terms }, EpochMs(at));
        let kept = node.holder().lease().unwrap();
        assert_eq!(
            kept.held - kept.used.min(kept.held),
            balance - (lent - kept.held)
        );
    }
}

#[test]
fn a_wait_ends_whatever_becomes_of_the_message() {
    let mut node = isolate();
    let effects = node.step(check(1, 5), NOW);
    let body = one(&effects);
    // First when the message may be repeated.
    assert_eq!(wakes_at(&effects), Some(EpochMs(CALL_MS_MAX)));
    let effects = node.step(Event::Woke, EpochMs(CALL_MS_MAX));
    assert_eq!(one(&effects), body, "as it was");
    assert_eq!(wakes_at(&effects), Some(EpochMs(DECIDE_WAIT_MS_MAX)));
    assert!(replied(&effects).is_empty());
    let effects = node.step(Event::Woke, EpochMs(DECIDE_WAIT_MS_MAX));
    assert_eq!(effects, [Effect::Reply(1)]);
    assert_eq!(node.take(1), Some(Verdict::Unavailable));
}

#[test]
fn whoever_comes_when_a_wait_ends_does_not_put_its_end_off() {
    let mut node = isolate();
    let _waits = node.step(check(1, 5), NOW);
    let effects = node.step(check(2, 5), EpochMs(DECIDE_WAIT_MS_MAX));
    assert_eq!(replied(&effects), [1]);
    assert_eq!(node.take(1), Some(Verdict::Unavailable));
    assert!(node.waits(2));
}

#[test]
fn a_message_that_failed_is_repeated_as_it_was_while_somebody_waits() {
    let mut node = isolate();
    let body = one(&node.step(check(1, 5), NOW));
    let failed = |sequence| Event::Answered {
        sequence,
        answer: None,
    };
    let effects = node.step(failed(body.sequence), EpochMs(20));
    assert_eq!(one(&effects), body);
    let _left = node.step(Event::Left { caller: 1 }, EpochMs(20));
    assert_eq!(node.step(failed(body.sequence), EpochMs(40)), []);
}

#[test]
fn a_refusal_says_that_nothing_is_known() {
    let mut node = isolate();
    let body = one(&node.step(check(1, 5), NOW));
    let effects = node.step(answered(&body, Err(Refusal::NoRoom)), NOW);
    assert_eq!(effects, [Effect::Reply(1)]);
    assert_eq!(node.take(1), Some(Verdict::Unavailable));
}

#[test]
fn what_came_of_an_older_message_changes_nothing() {
    let mut node = isolate();
    let body = one(&node.step(check(1, 5), NOW));
    let older = Event::Answered {
        sequence: Sequence(body.sequence.0 - 1),
        answer: None,
    };
    let effects = node.step(older, NOW);
    assert_eq!((sent(&effects), replied(&effects)), (vec![], vec![]));
    assert!(node.waits(1));
}

#[test]
fn a_window_that_is_used_up_denies_whoever_waits_and_whoever_comes_next() {
    let (_, mut root) = lent(LIMIT);
    let mut node = LeaseNode::new(holder(2));
    let body = one(&node.step(check(2, 1), NOW));
    let answer = above(&mut root, &body, NOW);
    let effects = node.step(answered(&body, answer), NOW);
    assert_eq!(replied(&effects), [2]);
    let Some(Verdict::Decided((decision, Some(_)))) = node.take(2) else {
        panic!("it is decided");
    };
    assert_eq!(decision.reason, Reason::CapReached);
    // What it said stands for the next.
    let decided = node.check(&asked(1).ask(), NOW);
    assert!(matches!(decided, HolderDecision::Decided((one, _)) if !one.admitted()));
}

#[test]
fn thirty_that_have_waited_and_are_denied_again_ask_for_nothing_and_count_as_demand_once() {
    let (_, mut root) = lent(LIMIT);
    let mut node = LeaseNode::new(holder(2));
    let body = one(&node.step(check(2, 3), NOW));
    let answer = above(&mut root, &body, NOW);
    let _replied = node.step(answered(&body, answer), NOW);
    assert!(!admitted(node.take(2)));
    let again = WaitingAsk {
        again: true,
        ..asked(3)
    };
    for _ in 0..30 {
        let decided = node.check(&again.ask(), NOW);
        assert!(matches!(decided, HolderDecision::Decided((one, _)) if !one.admitted()));
    }
    let effects = node.step(Event::Refill { terms: minutes() }, NOW);
    let denied: u64 = one(&effects).wants.iter().map(|want| want.denied).sum();
    assert_eq!(denied, 3);
}

/// A holder whose window is over, with ten units of the next, which opens after `ms`.
fn between_windows(ms: u64) -> LeaseNode<u8> {
    let lease = Lease {
        label: WindowLabel(7),
        ends_at: NOW,
        over_at: NOW.plus(CALL_MS_MAX),
        span_ms: 60_000,
        limit: LIMIT,
        held: 0,
        used: 0,
        left: LIMIT,
        outage: false,
    };
    let next = Ahead {
        label: WindowLabel(8),
        starts_at: NOW.plus(ms),
        ends_at: NOW.plus(60_000),
        units: 10,
        lent: 0,
    };
    LeaseNode::new(holder(1).with_lease(lease, vec![next]))
}

#[test]
fn nobody_is_asked_while_a_window_opens_at_once_of_which_units_are_held() {
    let mut node = between_windows(EARLY_MS_MAX);
    let effects = node.step(check(1, 1), NOW);
    let opens_at = NOW.plus(EARLY_MS_MAX);
    assert_eq!(effects, [Effect::WakeAt(opens_at)]);
    let effects = node.step(Event::Woke, opens_at);
    assert_eq!(replied(&effects), [1]);
    assert!(admitted(node.take(1)));
    // One that opens later is waited for, too, but the region is asked meanwhile.
    let mut node = between_windows(EARLY_MS_MAX + 1);
    let effects = node.step(check(1, 1), NOW);
    assert_eq!(sent(&effects).len(), 1);
    assert_eq!(wakes_at(&effects), Some(opens_at.plus(1)));
}

#[test]
fn what_is_given_back_serves_whoever_waits() {
    let (mut node, _) = lent(5);
    let held = node.holder().balance(None, NOW);
    let effects = node.step(check(2, held + 3), NOW);
    assert!(replied(&effects).is_empty());
    let label = node.holder().lease().unwrap().label;
    let spent = |units| Spent {
        label,
        tenant: None,
        units,
    };
    let effects = node.undo(spent(2), NOW).expect("its window is open");
    assert!(replied(&effects).is_empty(), "that is not enough");
    let effects = node.undo(spent(1), NOW).expect("its window is open");
    assert_eq!(replied(&effects), [2]);
    assert!(admitted(node.take(2)));
    assert_eq!(
        node.undo(
            Spent {
                label: WindowLabel(0),
                ..spent(1)
            },
            NOW
        ),
        None
    );
}

fn everywhere(_pool: &str) -> Fate {
    Fate::Stays
}

/// What an isolate holds, a request that waits, and the message that is under way for it.
fn waits(leases: &mut Leases) -> (Caller, ExchangeBody) {
    let caller = leases.wait("tokens", asked(5), NOW);
    let mut unsent = leases.unsent();
    assert_eq!(unsent.len(), 1);
    assert!(matches!(
        leases.poll("tokens", caller, NOW),
        Polled::Waits(_)
    ));
    (caller, unsent.remove(0))
}

fn answer(leases: &mut Leases, root: &mut PoolNode<()>, body: &ExchangeBody) {
    let answer = Some(above(root, body, NOW));
    leases.answered("tokens", body.sequence, answer, NOW);
}

#[test]
fn whoever_waits_for_a_pool_that_the_policy_has_no_more_is_lost_with_it() {
    let (mut leases, mut root) = (Leases::new(HolderId(1)), root());
    let (caller, body) = waits(&mut leases);
    leases.adopt(|_| Fate::Gone, NOW);
    assert_eq!(leases.poll("tokens", caller, NOW), Polled::Lost);
    // An answer that comes later is nobody's, and makes no holder.
    answer(&mut leases, &mut root, &body);
    assert_eq!(leases.holders().count(), 0);
    leases.leave("tokens", caller, NOW);
    assert_eq!(leases.holders().count(), 0);
}

#[test]
fn whoever_waits_for_a_pool_that_moved_is_served_by_its_new_root() {
    let (mut leases, mut old, mut new) = (Leases::new(HolderId(1)), root(), root());
    let (caller, body) = waits(&mut leases);
    leases.adopt(|_| Fate::Moved, NOW);
    let mut again = leases.unsent();
    let again = again.remove(0);
    assert!(again.incarnation > body.incarnation, "another life");
    assert_eq!(waiting(&again), 5);
    // What the old root says is nothing to it.
    answer(&mut leases, &mut old, &body);
    assert!(matches!(
        leases.poll("tokens", caller, NOW),
        Polled::Waits(_)
    ));
    answer(&mut leases, &mut new, &again);
    let polled = leases.poll("tokens", caller, NOW);
    assert!(matches!(polled, Polled::Answered(verdict) if admitted(Some(verdict))));
    assert_eq!(leases.poll("tokens", caller, NOW), Polled::Lost, "once");
}

#[test]
fn another_policy_leaves_those_that_wait_where_they_are() {
    let (mut leases, mut root) = (Leases::new(HolderId(1)), root());
    let (caller, body) = waits(&mut leases);
    leases.adopt(everywhere, NOW);
    assert_eq!(leases.unsent(), []);
    answer(&mut leases, &mut root, &body);
    let polled = leases.poll("tokens", caller, NOW);
    assert!(matches!(polled, Polled::Answered(_)));
}

#[test]
fn whoever_looks_wakes_the_node() {
    let mut leases = Leases::new(HolderId(1));
    let (caller, body) = waits(&mut leases);
    let Polled::Waits(ms) = leases.poll("tokens", caller, NOW) else {
        panic!("it waits");
    };
    assert_eq!(ms, CALL_MS_MAX);
    let _waits = leases.poll("tokens", caller, NOW.plus(ms));
    assert_eq!(leases.unsent(), [body], "repeated");
    let polled = leases.poll("tokens", caller, NOW.plus(DECIDE_WAIT_MS_MAX));
    assert_eq!(polled, Polled::Answered(Verdict::Unavailable));
}

#[test]
fn a_pool_that_runs_low_is_asked_for_by_the_terms_in_force() {
    let (mut leases, mut root) = (Leases::new(HolderId(1)), root());
    let (caller, body) = waits(&mut leases);
    answer(&mut leases, &mut root, &body);
    assert!(matches!(
        leases.poll("tokens", caller, NOW),
        Polled::Answered(_)
    ));
    leases.runs_low("tokens");
    leases.runs_low("tokens");
    assert!(leases.has_low());
    leases.refill(|_| Some(minutes()), NOW);
    assert_eq!(leases.unsent().len(), 1);
    leases.runs_low("tokens");
    leases.refill(|_| None, NOW);
    assert_eq!((leases.unsent(), leases.has_low()), (vec![], false));
}

#[test]
fn where_nobody_could_say_more_is_asked_for_all_the_same() {
    let (mut leases, mut root) = (Leases::new(HolderId(1)), root());
    let (caller, body) = waits(&mut leases);
    answer(&mut leases, &mut root, &body);
    let polled = leases.poll("tokens", caller, NOW);
    assert!(matches!(polled, Polled::Answered(_)), "{polled:?}");
    // The next is told of an outage.
    let ask = asked(LIMIT - 5);
    let caller = leases.wait("tokens", ask.clone(), NOW);
    let body = leases.unsent().remove(0);
    let mut reply = above(&mut root, &body, NOW).unwrap();
    (reply.outage, reply.left) = (true, 20);
    reply.grants.iter_mut().for_each(|grant| grant.units = 0);
    let later = NOW.plus(reply.next_contact_ms / 2);
    leases.answered("tokens", body.sequence, Some(Ok(reply)), NOW);
    let polled = leases.poll("tokens", caller, NOW);
    assert_eq!(polled, Polled::Answered(Verdict::Unavailable));
    assert_eq!(leases.unsent(), [], "not at once");
    let held = leases.check("tokens", &ask.ask(), &minutes(), later);
    assert_eq!(held, HolderDecision::Unknown);
    assert_eq!(leases.unsent().len(), 1);
}

#[test]
fn a_holder_is_another_life_than_the_one_before() {
    let born = |leases: &mut Leases| {
        let (_, body) = waits(leases);
        leases.adopt(|_| Fate::Gone, NOW);
        (body.holder, body.incarnation)
    };
    let mut leases = Leases::new(HolderId(1));
    let (first, second) = (born(&mut leases), born(&mut leases));
    assert!(first < second, "{first:?} {second:?}");
    let _kept: Option<&mut Holder> = leases.known("tokens");
}
