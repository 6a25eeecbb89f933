//! The order in which nodes write, send and answer.

use weir_shared::federation::escrow::Escrow;
use weir_shared::federation::holder::Holder;
use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::stored::{StoredEscrow, StoredPool};
use weir_shared::federation::waiting::Need;
use weir_shared::limits::{CALL_MS_MAX, COORDINATOR_CALL_MS_MAX};
use weir_shared::node::escrow::{EscrowNode, Event};
use weir_shared::node::pool::{self, PoolNode};
use weir_shared::node::{Effect, LendAnswer, Spent};
use weir_shared::units::{EpochMs, HolderId, Incarnation};
use weir_shared::wire::exchange::{ExchangeBody, Refusal, Terms};

use crate::federation::{everyone, holder, message, terms};

mod answers;
mod commit;
mod keys;
mod lease;
mod question;
mod rules;
mod settlement;

const LIMIT: u64 = 40;
const NOW: EpochMs = EpochMs(0);

/// Windows of a minute.
fn minutes() -> Terms {
    Terms {
        window_ms: 60_000,
        ..terms(LIMIT)
    }
}

type Effects = Vec<Effect<u8, StoredEscrow>>;

fn region() -> EscrowNode<u8> {
    let escrow = Escrow::wake("tokens".to_owned(), HolderId(7), Incarnation(1), None);
    EscrowNode::new(escrow)
}

fn root() -> PoolNode<()> {
    PoolNode::new(Pool::open(minutes(), NOW))
}

/// What an isolate with that many waiting asks for.
fn asked(holder: &mut Holder, units: u64, now: EpochMs) -> Message {
    let need = Need::one(units);
    let _ticket = holder.wait_on(&everyone(), None, need, now).unwrap();
    message(&holder.begin(minutes(), now).unwrap())
}

fn exchange(caller: u8, message: Message) -> Event<u8> {
    Event::Exchange {
        caller,
        message,
        terms: minutes(),
    }
}

/// What the root answers, its row written.
fn above(root: &mut PoolNode<()>, body: &ExchangeBody, now: EpochMs) -> LendAnswer {
    let exchange = pool::Event::Exchange {
        caller: (),
        message: message(body),
    };
    let mut effects = root.step(exchange, now);
    if let [Effect::Persist(_)] = effects[..] {
        effects = root.step(pool::Event::Persisted, now);
    }
    match effects.pop() {
        Some(Effect::Reply((), answer)) => answer,
        other => panic!("no answer but {other:?}"),
    }
}

/// Carries out what the region says, its rows written, until nothing is left: what was answered to whom.
fn carried_out(
    node: &mut EscrowNode<u8>,
    root: &mut PoolNode<()>,
    first: Effects,
    now: EpochMs,
) -> Vec<(u8, LendAnswer)> {
    let (mut effects, mut answered) = (first, Vec::new());
    while !effects.is_empty() {
        let next = match effects.remove(0) {
            Effect::Persist(_) => node.step(Event::Persisted, now),
            Effect::Send(body) => {
                let answer = Some(above(root, &body, now));
                let sequence = body.sequence;
                node.step(Event::Answered { sequence, answer }, now)
            }
            Effect::Reply(caller, answer) => {
                answered.push((caller, answer));
                continue;
            }
            Effect::Fail(_) | Effect::WakeAt(_) => continue,
        };
        effects.extend(next);
    }
    answered
}

fn granted(answer: &LendAnswer) -> u64 {
    let grants = &answer.as_ref().expect("it was taken").grants;
    grants.iter().map(|grant| grant.units).sum()
}

/// The one message among effects.
fn sent(effects: &Effects) -> ExchangeBody {
    let bodies = effects.iter().filter_map(|effect| match effect {
        Effect::Send(body) => Some((**body).clone()),
        _ => None,
    });
    let bodies: Vec<_> = bodies.collect();
    assert_eq!(bodies.len(), 1, "{effects:?}");
    bodies[0].clone()
}

fn answers(effects: &Effects) -> usize {
    let is_answer = |effect: &&Effect<_, _>| matches!(effect, Effect::Reply(..));
    effects.iter().filter(is_answer).count()
}

#[test]
fn a_coordinator_answers_when_what_it_lent_is_durable() {
    let (mut root, mut isolate) = (root(), holder(1));
    let message = asked(&mut isolate, 5, NOW);
    let caller = ();
    let first = root.step(pool::Event::Exchange { caller, message }, NOW);
    let [Effect::Persist(row)] = &first[..] else {
        panic!("{first:?}");
    };
    assert!(row.watermark >= 5, "{row:?}");
    let second = root.step(pool::Event::Persisted, NOW);
    assert!(
        matches!(second[..], [Effect::Reply((), Ok(_))]),
        "{second:?}"
    );
}

#[test]
fn what_could_not_be_written_is_not_answered_and_is_the_same_the_next_time() {
    let (mut root, mut isolate) = (root(), holder(1));
    let message = asked(&mut isolate, 5, NOW);
    let ask = |message: &Message| pool::Event::Exchange {
        caller: (),
        message: message.clone(),
    };
    let _write = root.step(ask(&message), NOW);
    let failed = root.step(pool::Event::NotPersisted, NOW);
    assert_eq!(failed, [Effect::Fail(())]);
    let again: Vec<Effect<(), StoredPool>> = root.step(ask(&message), NOW);
    assert!(matches!(again[..], [Effect::Persist(_)]), "{again:?}");
    let answer = root.step(pool::Event::Persisted, NOW);
    let [Effect::Reply((), answer)] = &answer[..] else {
        panic!("{answer:?}");
    };
    assert!(granted(answer) >= 5);
}

#[test]
fn a_region_asks_for_what_it_is_short_of_and_answers_when_that_is_written() {
    let (mut node, mut root, mut isolate) = (region(), root(), holder(1));
    let message = asked(&mut isolate, 5, NOW);
    let first = node.step(exchange(1, message), NOW);
    let body = sent(&first);
    assert_eq!(answers(&first), 0);
    let answer = Some(above(&mut root, &body, NOW));
    let sequence = body.sequence;
    let credited = node.step(Event::Answered { sequence, answer }, NOW);
    assert!(matches!(credited[..], [Effect::Persist(_), ..]));
    assert_eq!(answers(&credited), 0, "it rests on the row: {credited:?}");
    let held = node.step(Event::Persisted, NOW);
    assert_eq!(answers(&held), 0, "what it lends is not written: {held:?}");
    assert!(matches!(held[..], [Effect::Persist(_)]), "{held:?}");
    let lent = node.step(Event::Persisted, NOW);
    let [Effect::Reply(1, answer)] = &lent[..] else {
        panic!("{lent:?}");
    };
    assert!(granted(answer) >= 5);
}

#[test]
fn what_waits_behind_one_call_is_answered_by_it() {
    let (mut node, mut root) = (region(), root());
    let mut isolates = [holder(1), holder(2), holder(3)];
    let messages = isolates.each_mut().map(|isolate| asked(isolate, 5, NOW));
    let mut effects = Vec::new();
    for (caller, message) in (1..).zip(messages) {
        effects.extend(node.step(exchange(caller, message), NOW));
    }
    sent(&effects);
    let answered = carried_out(&mut node, &mut root, effects, NOW);
    let callers: Vec<_> = answered.iter().map(|(caller, _)| *caller).collect();
    assert_eq!(callers, [1, 2, 3]);
    assert!(answered.iter().all(|(_, answer)| granted(answer) >= 5));
    assert!(node.is_quiet());
}

/// A region that is about to give something back: when, and what it held until then.
fn about_to_return(node: &mut EscrowNode<u8>, root: &mut PoolNode<()>) -> (EpochMs, u64) {
    let mut isolate = holder(1);
    let effects = node.step(exchange(1, asked(&mut isolate, 20, NOW)), NOW);
    carried_out(node, root, effects, NOW);
    for now in (0..60_000).step_by(500).map(EpochMs) {
        let held = node.escrow_mut().holding("tokens", now).held;
        let mut tried = node.clone();
        let effects = tried.step(flush(), now);
        if let Some(Effect::Persist(row)) = effects.first()
            && row.held < held
        {
            return (now, held);
        }
        let effects = node.step(flush(), now);
        carried_out(node, root, effects, now);
    }
    panic!("it gives nothing back")
}

fn flush() -> Event<u8> {
    Event::Flush { terms: minutes() }
}

#[test]
fn a_return_leaves_when_the_lower_holding_is_durable() {
    let (mut node, mut root) = (region(), root());
    let (now, held) = about_to_return(&mut node, &mut root);
    let effects = node.step(flush(), now);
    let [Effect::Persist(row), Effect::WakeAt(_)] = &effects[..] else {
        panic!("{effects:?}");
    };
    let body = sent(&node.step(Event::Persisted, now));
    let returned: u64 = body.returns.iter().map(|back| back.units).sum();
    assert_eq!(returned, held - row.held);
}

#[test]
fn a_return_that_could_not_be_written_does_not_leave() {
    let (mut node, mut root) = (region(), root());
    let (now, _) = about_to_return(&mut node, &mut root);
    assert!(matches!(
        node.step(flush(), now)[..],
        [Effect::Persist(_), ..]
    ));
    assert!(node.step(Event::NotPersisted, now).is_empty());
    // It leaves with the next write.
    assert!(matches!(
        node.step(flush(), now)[..],
        [Effect::Persist(_), ..]
    ));
    assert!(!sent(&node.step(Event::Persisted, now)).returns.is_empty());
}

#[test]
fn a_coordinator_that_says_nothing_leaves_what_the_region_holds() {
    let (mut node, mut root, mut isolate) = (region(), root(), holder(1));
    let message = asked(&mut isolate, 5, NOW);
    let effects = node.step(exchange(1, message), NOW);
    carried_out(&mut node, &mut root, effects, NOW);
    let mut other = holder(2);
    let message = asked(&mut other, 30, NOW);
    let sequence = sent(&node.step(exchange(2, message), NOW)).sequence;
    let silent = Event::Answered {
        sequence,
        answer: None,
    };
    let effects = node.step(silent, NOW);
    let answered = carried_out(&mut node, &mut root, effects, NOW);
    let [(2, Ok(reply))] = &answered[..] else {
        panic!("{answered:?}");
    };
    assert!(reply.outage);
}

#[test]
fn whoever_waits_for_longer_than_a_call_is_answered_all_the_same() {
    let (mut node, mut isolate) = (region(), holder(1));
    let message = asked(&mut isolate, 5, NOW);
    let effects = node.step(exchange(1, message), NOW);
    let wakes = |effect: &Effect<_, _>| *effect == Effect::WakeAt(EpochMs(CALL_MS_MAX));
    assert!(effects.iter().any(wakes), "{effects:?}");
    assert!(node.step(Event::Woke, EpochMs(CALL_MS_MAX - 1)).is_empty());
    let late = node.step(Event::Woke, EpochMs(CALL_MS_MAX));
    assert_eq!(late, [Effect::Reply(1, Err(Refusal::NoWindow))]);
    assert!(node.is_quiet());
}

#[test]
fn a_second_call_begins_only_within_the_time_of_the_first() {
    for (now, waits) in [
        (COORDINATOR_CALL_MS_MAX - 1, true),
        (COORDINATOR_CALL_MS_MAX, false),
    ] {
        let (mut node, mut root, mut first) = (region(), root(), holder(1));
        let message = asked(&mut first, 1, NOW);
        let body = sent(&node.step(exchange(1, message), NOW));
        // It is not in the message that is under way.
        let mut second = holder(2);
        let message = asked(&mut second, LIMIT, NOW);
        assert!(node.step(exchange(2, message), NOW).is_empty());
        let answer = above(&mut root, &body, NOW).map(|mut reply| {
            reply.window.remaining_ms = 10_000;
            reply
        });
        let (sequence, answer) = (body.sequence, Some(answer));
        let mut effects = node.step(Event::Answered { sequence, answer }, EpochMs(now));
        let mut answered = 0;
        while let Some(effect) = effects.pop() {
            answered += usize::from(matches!(effect, Effect::Reply(2, _)));
            if matches!(effect, Effect::Persist(_)) {
                effects.extend(node.step(Event::Persisted, EpochMs(now)));
            }
        }
        assert_eq!(answered, usize::from(!waits), "after {now} ms");
    }
}

#[test]
fn whoever_left_is_not_answered() {
    let (mut node, mut root, mut isolate) = (region(), root(), holder(1));
    let message = asked(&mut isolate, 5, NOW);
    let effects = node.step(exchange(1, message), NOW);
    assert!(node.step(Event::Left { caller: 1 }, NOW).is_empty());
    assert_eq!(carried_out(&mut node, &mut root, effects, NOW), []);
    assert!(node.is_quiet());
}

#[test]
fn a_refund_is_one_row_with_what_says_that_it_was_taken() {
    let (mut node, mut root, mut isolate) = (region(), root(), holder(1));
    let message = asked(&mut isolate, 5, NOW);
    let effects = node.step(exchange(1, message), NOW);
    let answered = carried_out(&mut node, &mut root, effects, NOW);
    let label = answered[0].1.as_ref().unwrap().window.label;
    let spent = Spent {
        label,
        tenant: None,
        units: 3,
    };
    let refund = node.refund(spent, NOW).expect("no write is under way");
    assert_eq!(refund.units, 3);
    if refund.row.is_some() {
        assert_eq!(node.refund(spent, NOW), None, "a write is under way");
        assert!(node.step(Event::Persisted, NOW).is_empty());
    }
    let over = node.refund(spent, EpochMs(60_000)).unwrap();
    assert_eq!(over.units, 0, "the window is over");
}
