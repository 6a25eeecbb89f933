//! A question at several shards: all commit, or all undo.

use std::rc::Rc;

use weir_shared::algorithms::composite::Mode;
use weir_shared::limiting::messages::{AnsweredBody, DecideReply, FinishBody};
use weir_shared::limiting::verdict::{DimensionRules, StepRules};
use weir_shared::limits::{CALL_MS_MAX, UNDO_ATTEMPTS_MAX};
use weir_shared::node::commit::{Commit, Effect, Event};
use weir_shared::node::question::answers::{Answers, Part};
use weir_shared::units::EpochMs;
use weir_shared::wire::check::Reason;
use weir_shared::wire::exchange::VERSION;

use super::NOW;
use super::question::decision;
use crate::shard::store::decide;

/// A question of one key at each of so many shards.
fn asked(shards: usize) -> (Commit<&'static str>, Vec<Effect>) {
    let rules = vec![StepRules {
        mode: Mode::All,
        enforced: true,
        dimensions: vec![DimensionRules::default(); shards],
    }];
    let part = |index: usize| Part {
        shard: ["north", "south", "west"][index],
        body: decide(7, Mode::All, &[("ten", "a", 1)], shards > 1),
        keys: vec![((0, index), (0, 0))],
    };
    let answers = Answers::open(&rules);
    Commit::begin(Rc::new(rules), answers, (0..shards).map(part).collect())
}

fn decided(part: usize, admits: bool) -> Event {
    let answer = AnsweredBody {
        decision: decision(admits).into(),
        receipt: None,
        drawn: None,
        in_flight: None,
    };
    let reply = DecideReply {
        v: VERSION,
        taken: true,
        admitted: admits,
        groups: vec![vec![answer]],
    };
    Event::Decided {
        part,
        reply: Some(reply),
    }
}

fn unheard(part: usize) -> Event {
    Event::Decided { part, reply: None }
}

fn finished(part: usize, standing: Option<bool>) -> Event {
    Event::Finished { part, standing }
}

fn finish(part: usize, commit: bool, heard: bool) -> Effect {
    let body = FinishBody {
        v: VERSION,
        op: weir_shared::units::OpId(7),
        commit,
        heard,
    };
    Effect::Finish(part, body)
}

/// Whether the answers let the request through, and what is done beside.
fn replied(effects: Vec<Effect>) -> (bool, Vec<Effect>) {
    let mut effects = effects.into_iter();
    let Some(Effect::Reply(answers)) = effects.next() else {
        panic!("no answer");
    };
    let decisions = answers.decisions();
    let mut all = decisions.iter().flatten().flatten();
    (all.all(|one| one.admitted()), effects.collect())
}

#[test]
fn nobody_commits_before_all_hold_and_nobody_is_answered_before_all_have_committed() {
    let (mut commit, first) = asked(2);
    assert_eq!(first, [Effect::Decide(0), Effect::Decide(1)]);
    assert_eq!(commit.step(decided(1, true), NOW), []);
    let commits = commit.step(decided(0, true), NOW);
    assert_eq!(commits, [finish(0, true, true), finish(1, true, true)]);
    assert_eq!(commit.step(finished(0, Some(true)), NOW), []);
    let answered = commit.step(finished(1, Some(true)), NOW);
    assert_eq!(replied(answered), (true, vec![]));
}

#[test]
fn when_one_denies_all_are_told_to_undo_and_nobody_to_commit() {
    let (mut commit, _) = asked(2);
    assert_eq!(commit.step(decided(0, true), NOW), []);
    let answered = commit.step(decided(1, false), NOW);
    let undone = vec![finish(0, false, true), finish(1, false, true)];
    assert_eq!(replied(answered), (false, undone));
}

#[test]
fn a_shard_that_is_not_heard_of_denies_and_is_told_so() {
    let (mut commit, _) = asked(2);
    assert_eq!(commit.step(unheard(0), NOW), []);
    let answered = commit.step(decided(1, true), NOW);
    let undone = vec![finish(0, false, false), finish(1, false, true)];
    assert_eq!(replied(answered), (false, undone));
}

#[test]
fn when_one_cannot_commit_all_are_undone_with_what_was_drawn() {
    for failure in [Some(false), None] {
        let (mut commit, _) = asked(2);
        let _asked = commit.step(decided(0, true), NOW);
        let _commits = commit.step(decided(1, true), NOW);
        assert_eq!(commit.step(finished(0, Some(true)), NOW), []);
        let answered = commit.step(finished(1, failure), NOW);
        let undone = vec![finish(0, false, false), finish(1, false, false)];
        assert_eq!(replied(answered), (false, undone));
    }
}

#[test]
fn one_shard_alone_charges_in_one_step() {
    for admits in [true, false] {
        let (mut commit, first) = asked(1);
        assert_eq!(first, [Effect::Decide(0)]);
        let answered = commit.step(decided(0, admits), NOW);
        assert_eq!(replied(answered), (admits, vec![]), "nothing to undo");
    }
    let (mut commit, _) = asked(1);
    let answered = commit.step(unheard(0), NOW);
    let Some(Effect::Reply(answers)) = answered.first() else {
        panic!("{answered:?}");
    };
    let open = answers.get((0, 0)).unwrap();
    assert_eq!(open.decision.reason, Reason::Unavailable);
    assert_eq!(answered[1..], [finish(0, false, false)]);
}

#[test]
fn an_undoing_that_is_not_heard_of_is_tried_again_at_growing_intervals() {
    let (mut commit, _) = asked(1);
    let _answered = commit.step(unheard(0), NOW);
    let mut at = NOW;
    for tried in 0..UNDO_ATTEMPTS_MAX - 1 {
        let wakes_at = at.plus(CALL_MS_MAX << tried);
        let again = commit.step(finished(0, None), at);
        assert_eq!(again, [Effect::WakeAt(wakes_at)]);
        let early = EpochMs(wakes_at.0 - 1);
        assert_eq!(commit.step(Event::Woke, early), again, "not yet");
        at = wakes_at;
        assert_eq!(commit.step(Event::Woke, at), [finish(0, false, false)]);
    }
    assert_eq!(commit.step(finished(0, None), at), [], "it lapses");
    assert_eq!(commit.step(Event::Woke, EpochMs(u64::MAX)), []);
}

#[test]
fn an_undoing_that_was_heard_of_is_not_repeated() {
    let (mut commit, _) = asked(1);
    let _answered = commit.step(unheard(0), NOW);
    assert_eq!(commit.step(finished(0, Some(false)), NOW), []);
    assert_eq!(commit.step(Event::Woke, EpochMs(u64::MAX)), []);
}

#[test]
fn what_comes_late_or_twice_changes_nothing() {
    let (mut commit, _) = asked(2);
    let _first = commit.step(unheard(0), NOW);
    assert_eq!(commit.step(decided(0, true), NOW), [], "it was given up");
    let answered = commit.step(decided(1, true), NOW);
    assert!(!replied(answered).0);
    for late in [decided(0, true), decided(1, true), decided(9, true)] {
        assert_eq!(commit.step(late, NOW), []);
    }
    assert_eq!(commit.step(finished(0, Some(false)), NOW), []);
    assert_eq!(commit.step(finished(0, Some(true)), NOW), []);
}
