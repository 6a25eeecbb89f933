//! A shard of keys: what it writes before it answers, what waits meanwhile, and what lapses.

use weir_shared::algorithms::composite::Mode;
use weir_shared::limiting::messages::{DecideBody, DecideReply, FinishBody};
use weir_shared::limiting::rows::Put;
use weir_shared::limiting::shard::Shard;
use weir_shared::limits::HOLD_MS;
use weir_shared::node::keys::{Effect, Event, Reply, ShardCall, ShardNode};
use weir_shared::units::{EpochMs, OpId};
use weir_shared::wire::exchange::VERSION;

use crate::shard::store::{Table, decide};

const NOW: EpochMs = EpochMs(1_000_000);

fn shard() -> (ShardNode<u8>, Table) {
    (ShardNode::new(Shard::default()), Table::default())
}

fn question(op: u64, cost: u64, hold: bool) -> DecideBody {
    decide(op, Mode::All, &[("ten", "a", cost)], hold)
}

fn asked(caller: u8, body: DecideBody) -> Event<u8> {
    let ask = ShardCall::Decide(body);
    Event::Asked { caller, ask }
}

/// What is to be written, beside nothing but when to wake.
fn rows(effects: &[Effect<u8>]) -> Vec<Put> {
    match effects {
        [Effect::Persist(puts)] | [Effect::Persist(puts), Effect::WakeAt(_)] => puts.clone(),
        other => panic!("not a row alone: {other:?}"),
    }
}

fn decided(effect: &Effect<u8>) -> (u8, DecideReply) {
    match effect {
        Effect::Reply(caller, Ok(Reply::Decide(reply))) => (*caller, reply.clone()),
        other => panic!("no decision: {other:?}"),
    }
}

fn remaining(reply: &DecideReply) -> u64 {
    reply.groups[0][0].decision.remaining
}

#[test]
fn a_shard_answers_when_what_it_charged_is_durable() {
    let (mut node, mut table) = shard();
    let puts = rows(&node.step(asked(1, question(1, 4, false)), &mut table, NOW));
    table.write(puts);
    let effects = node.step(Event::Persisted, &mut table, NOW);
    let (caller, reply) = decided(&effects[0]);
    assert_eq!((caller, remaining(&reply), effects.len()), (1, 6, 1));
}

#[test]
fn what_charges_nothing_is_answered_at_once() {
    let (mut node, mut table) = shard();
    for body in [question(1, 0, false), question(2, 11, false)] {
        let effects = node.step(asked(1, body), &mut table, NOW);
        decided(&effects[0]);
    }
}

#[test]
fn what_comes_while_rows_are_written_waits_and_counts_them() {
    let (mut node, mut table) = shard();
    let puts = rows(&node.step(asked(1, question(1, 4, false)), &mut table, NOW));
    assert_eq!(
        node.step(asked(2, question(2, 4, false)), &mut table, NOW),
        []
    );
    assert_eq!(
        node.step(asked(3, question(3, 4, false)), &mut table, NOW),
        []
    );
    table.write(puts);
    let effects = node.step(Event::Persisted, &mut table, NOW);
    assert_eq!(decided(&effects[0]).0, 1);
    let puts = rows(&effects[1..]);
    table.write(puts);
    let effects = node.step(Event::Persisted, &mut table, NOW);
    assert_eq!(decided(&effects[0]).0, 2);
    let (caller, reply) = decided(&effects[1]);
    assert_eq!((caller, reply.admitted), (3, false), "two are left");
}

#[test]
fn what_could_not_be_written_is_answered_to_nobody_and_forgotten() {
    let (mut node, mut table) = shard();
    let _rows = rows(&node.step(asked(1, question(1, 4, false)), &mut table, NOW));
    assert_eq!(
        node.step(asked(2, question(2, 4, false)), &mut table, NOW),
        []
    );
    let effects = node.step(Event::NotPersisted, &mut table, NOW);
    assert_eq!(effects, [Effect::Fail(1), Effect::Fail(2), Effect::Restart]);
    // The one that wakes from the rows knows nothing of it.
    let (mut node, _) = shard();
    let effects = node.step(asked(3, question(3, 0, false)), &mut table, NOW);
    assert_eq!(remaining(&decided(&effects[0]).1), 10);
}

#[test]
fn a_hold_says_when_it_lapses_and_is_released_then() {
    let (mut node, mut table) = shard();
    let effects = node.step(asked(1, question(1, 4, true)), &mut table, NOW);
    let lapses_at = NOW.plus(HOLD_MS);
    assert_eq!(effects[1], Effect::WakeAt(lapses_at));
    table.write(rows(&effects));
    let _answered = node.step(Event::Persisted, &mut table, NOW);
    let early = node.step(Event::Woke, &mut table, EpochMs(lapses_at.0 - 1));
    assert_eq!(early, [Effect::WakeAt(lapses_at)]);
    let puts = rows(&node.step(Event::Woke, &mut table, lapses_at));
    let released = |put: &Put| matches!(put, Put::Hold { row: None, .. });
    assert!(puts.iter().any(released), "{puts:?}");
    table.write(puts);
    assert_eq!(node.step(Event::Persisted, &mut table, lapses_at), []);
    let look = node.step(asked(2, question(2, 0, false)), &mut table, lapses_at);
    assert_eq!(remaining(&decided(&look[0]).1), 10);
}

#[test]
fn a_commit_is_answered_when_it_is_durable() {
    let (mut node, mut table) = shard();
    let puts = rows(&node.step(asked(1, question(1, 4, true)), &mut table, NOW));
    table.write(puts);
    let _answered = node.step(Event::Persisted, &mut table, NOW);
    let ask = ShardCall::Finish(FinishBody {
        v: VERSION,
        op: OpId(1),
        commit: true,
        heard: true,
    });
    let commit = Event::Asked { caller: 2, ask };
    let puts = rows(&node.step(commit, &mut table, NOW));
    table.write(puts);
    let effects = node.step(Event::Persisted, &mut table, NOW);
    let Effect::Reply(2, Ok(Reply::Finish(reply))) = &effects[0] else {
        panic!("{effects:?}");
    };
    assert!(reply.standing);
}

#[test]
fn a_question_with_bad_rules_is_refused_and_memory_begins_anew() {
    let (mut node, mut table) = shard();
    let mut body = question(1, 4, false);
    body.limits.clear();
    let effects = node.step(asked(1, body), &mut table, NOW);
    let [Effect::Reply(1, Err(_)), Effect::Restart] = &effects[..] else {
        panic!("{effects:?}");
    };
}
