//! A question of several checks: what is done in which order, and what is given back at its end.

use std::rc::Rc;

use weir_shared::algorithms::composite::Mode;
use weir_shared::decision::{Decision, Reason, Retry};
use weir_shared::limiting::verdict::{DimensionRules, StepRules};
use weir_shared::node::question::answers::{At, Charge, DimensionAnswer};
use weir_shared::node::question::{Effect, End, Event, LocalAnswer, Question};
use weir_shared::units::{EpochMs, WindowLabel};

use super::NOW;

/// Enforced checks of so many dimensions each.
fn rules(dimensions: &[usize]) -> Rc<Vec<StepRules>> {
    let step = |count: &usize| StepRules {
        mode: Mode::All,
        enforced: true,
        dimensions: vec![DimensionRules::default(); *count],
    };
    Rc::new(dimensions.iter().map(step).collect())
}

pub(super) fn decision(admits: bool) -> Decision {
    Decision {
        reason: match admits {
            true => Reason::Admitted,
            false => Reason::LimitExceeded,
        },
        limit: 10,
        remaining: 5,
        reset_at: EpochMs(60_000),
        retry: match admits {
            true => Retry::Now,
            false => Retry::AfterMs(40),
        },
    }
}

fn charged() -> DimensionAnswer {
    DimensionAnswer {
        charge: Charge::Pool(WindowLabel(1)),
        ..DimensionAnswer::uncharged(decision(true))
    }
}

fn denied() -> DimensionAnswer {
    DimensionAnswer::uncharged(decision(false))
}

fn held(at: At, answer: DimensionAnswer) -> Event {
    Event::Held(at, LocalAnswer::Decided(Box::new(answer)))
}

/// A question that nothing is known of.
fn begun(dimensions: &[usize], late: bool) -> (Question, Effect) {
    let (mut question, first) = Question::begin(rules(dimensions), late);
    assert_eq!(first, Effect::Look);
    let next = question.step(Event::Looked(Vec::new()), NOW);
    if late {
        return (question, next);
    }
    assert_eq!(next, Effect::Probe);
    let next = question.step(Event::Probed { busy: false }, NOW);
    (question, next)
}

fn ended(effect: Effect) -> (bool, Vec<At>) {
    match effect {
        Effect::End(End::Decided(verdict), back) => (verdict.admitted, back),
        other => panic!("it goes on: {other:?}"),
    }
}

#[test]
fn what_is_held_is_charged_in_the_order_of_the_request_and_no_more_once_one_denies() {
    let (mut question, first) = begun(&[1, 2, 1], false);
    assert_eq!(first, Effect::Hold((0, 0)));
    let next = question.step(held((0, 0), charged()), NOW);
    assert_eq!(next, Effect::Hold((1, 0)));
    let next = question.step(held((1, 0), charged()), NOW);
    assert_eq!(next, Effect::Hold((1, 1)));
    let end = question.step(held((1, 1), denied()), NOW);
    assert_eq!(ended(end), (false, vec![(0, 0), (1, 0)]));
}

#[test]
fn what_admits_keeps_all_that_it_charged() {
    let (mut question, _) = begun(&[1, 1], false);
    let _next = question.step(held((0, 0), charged()), NOW);
    let end = question.step(held((1, 0), charged()), NOW);
    assert_eq!(ended(end), (true, vec![]));
}

#[test]
fn a_denial_that_is_known_charges_nothing() {
    let (mut question, _) = Question::begin(rules(&[1, 1]), false);
    let known = vec![((1, 0), denied())];
    let end = question.step(Event::Looked(known), NOW);
    assert_eq!(ended(end), (false, vec![]));
}

#[test]
fn a_question_whose_key_another_asks_for_begins_anew_with_nothing_charged() {
    let (mut question, _) = Question::begin(rules(&[1]), false);
    let _probe = question.step(Event::Looked(Vec::new()), NOW);
    let end = question.step(Event::Probed { busy: true }, NOW);
    assert_eq!(end, Effect::End(End::Busy, vec![]));
    // Also when the other came in between.
    let (mut question, _) = begun(&[1, 1], false);
    let _next = question.step(held((0, 0), charged()), NOW);
    let claim = question.step(Event::Held((1, 0), LocalAnswer::Elsewhere), NOW);
    assert_eq!(claim, Effect::Claim);
    let end = question.step(Event::Claimed(false), NOW);
    assert_eq!(end, Effect::End(End::Busy, vec![(0, 0)]));
}

#[test]
fn one_that_has_waited_for_too_long_is_denied_instead() {
    let (mut question, first) = begun(&[1, 1], true);
    assert_eq!(first, Effect::Hold((0, 0)));
    let _next = question.step(held((0, 0), charged()), NOW);
    let _claim = question.step(Event::Held((1, 0), LocalAnswer::Elsewhere), NOW);
    let end = question.step(Event::Claimed(false), NOW);
    assert_eq!(ended(end), (false, vec![(0, 0)]));
    let open = question.answers().get((1, 0)).unwrap();
    assert_eq!(open.decision.reason, Reason::Unavailable);
}

#[test]
fn shards_are_asked_for_what_is_open_once_all_that_is_held_here_admits() {
    for (admits, back) in [(true, vec![]), (false, vec![(0, 0)])] {
        let (mut question, _) = begun(&[1, 1], false);
        let _next = question.step(held((0, 0), charged()), NOW);
        let _claim = question.step(Event::Held((1, 0), LocalAnswer::Elsewhere), NOW);
        assert_eq!(question.step(Event::Claimed(true), NOW), Effect::Ask);
        let mut answers = question.answers().clone();
        answers.set((1, 0), DimensionAnswer::uncharged(decision(admits)));
        let end = question.step(Event::Asked(answers), NOW);
        assert_eq!(ended(end), (admits, back));
    }
}

#[test]
fn what_a_newer_policy_has_no_more_gives_everything_back() {
    let (mut question, _) = begun(&[1, 1], false);
    let _next = question.step(held((0, 0), charged()), NOW);
    let end = question.step(Event::Held((1, 0), LocalAnswer::Gone), NOW);
    assert_eq!(end, Effect::End(End::Gone, vec![(0, 0)]));
}

#[test]
fn a_check_that_is_not_enforced_charges_nothing_where_it_would_have_denied() {
    let mut rules = rules(&[2, 1]).as_ref().clone();
    rules[0].enforced = false;
    let (mut question, _) = Question::begin(Rc::new(rules), true);
    let first = question.step(Event::Looked(Vec::new()), NOW);
    assert_eq!(first, Effect::Hold((0, 0)));
    let _next = question.step(held((0, 0), charged()), NOW);
    let next = question.step(held((0, 1), denied()), NOW);
    assert_eq!(next, Effect::Hold((1, 0)), "it denies nobody");
    let end = question.step(held((1, 0), charged()), NOW);
    assert_eq!(ended(end), (true, vec![(0, 0)]));
}
