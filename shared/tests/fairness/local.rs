//! A budget that one holder keeps.

use proptest::prelude::*;
use weir_shared::decision::{Reason, Retry};
use weir_shared::fairness::ask::Party;
use weir_shared::fairness::local::{LocalBudget, LocalTerms};
use weir_shared::fairness::share::Rule;
use weir_shared::units::{EpochMs, WindowLabel};

use super::world::{self, terms};

fn party(name: impl Into<String>, weight_whole: u64) -> Party {
    world::claimant(name, weight_whole).into()
}

const START: EpochMs = EpochMs(1_700_000_000_000);

fn budget(rule: Option<Rule>, limit: u64) -> LocalBudget {
    LocalBudget::new(LocalTerms {
        limit,
        window_ms: 1_000,
        share: rule.map(terms),
    })
}

const RULES: [Option<Rule>; 5] = [
    None,
    Some(Rule::Fair),
    Some(Rule::Weighted),
    Some(Rule::Pinned),
    Some(Rule::Paced),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_window_admits_more_than_its_limit(
        rule in 0..RULES.len(),
        steps in prop::collection::vec((0..400_u64, 0..5_usize, 0..40_u64, any::<bool>()), 1..80),
        limit in 1..=100_u64,
    ) {
        let mut budget = budget(RULES[rule], limit);
        let (mut now, mut used, mut label) = (START, 0_u64, None);
        for (later_ms, index, cost, is_undone) in steps {
            now = now.plus(later_ms);
            let tenant = party(format!("t{index}"), 1 + index as u64);
            let decision = budget.check(&tenant, cost, now);
            if budget.label() != label {
                (used, label) = (0, budget.label());
            }
            prop_assert_eq!(decision.retry == Retry::Never, cost > limit);
            prop_assert!(decision.reset_at > now && decision.reset_at.0.is_multiple_of(1_000));
            if decision.admitted() {
                used += cost;
                prop_assert_eq!(decision.retry, Retry::Now);
                if is_undone {
                    budget.undo(label.expect("a window is open"), &tenant, cost);
                    used -= cost;
                }
            }
            prop_assert!(used <= limit);
            prop_assert_eq!(budget.used_total(), used);
        }
    }

    #[test]
    fn a_peek_changes_nothing(
        rule in 0..RULES.len(),
        steps in prop::collection::vec((0..200_u64, 0..5_usize, 1..40_u64, 0..8_usize), 1..40),
    ) {
        let (mut peeked, mut plain) = (budget(RULES[rule], 100), budget(RULES[rule], 100));
        let mut now = START;
        for (later_ms, index, cost, other) in steps {
            now = now.plus(later_ms);
            let peek = peeked.check(&party(format!("t{other}"), 3), 0, now);
            prop_assert!(peek.admitted() || peek.retry != Retry::Never);
            prop_assert_eq!(peek.reason == Reason::CapReached, peeked.used_total() == 100);
            let tenant = party(format!("t{index}"), 1);
            prop_assert_eq!(peeked.check(&tenant, cost, now), plain.check(&tenant, cost, now));
        }
    }
}

#[test]
fn a_denial_says_whether_the_share_or_the_budget_is_spent() {
    let mut budget = budget(Some(Rule::Pinned), 100);
    let (a, b) = (party("a", 1), party("b", 1));
    assert!(budget.check(&b, 1, START).admitted());
    assert!(budget.check(&a, 50, START).admitted());
    let over = budget.check(&a, 1, START.plus(400));
    assert_eq!(
        (over.reason, over.retry),
        (Reason::OverShare, Retry::AfterMs(600))
    );
    let spent = budget.check(&a, 50, START);
    assert_eq!(
        (spent.reason, spent.limit, spent.remaining),
        (Reason::CapReached, 50, 0)
    );
    let never = budget.check(&a, 101, START);
    assert_eq!((never.reason, never.retry), (Reason::Never, Retry::Never));
}

#[test]
fn units_are_taken_back_into_their_own_window_alone() {
    let mut budget = budget(Some(Rule::Weighted), 10);
    let tenant = party("a", 1);
    assert!(budget.check(&tenant, 10, START).admitted());
    let label = budget.label().expect("a window is open");
    assert!(budget.check(&tenant, 10, START.plus(1_000)).admitted());
    budget.undo(label, &tenant, 10);
    assert_eq!(budget.used_total(), 10, "of the window before");
    budget.undo(WindowLabel(label.0 + 1), &tenant, 4);
    assert_eq!(budget.used_total(), 6);
}

#[test]
fn an_edited_policy_refunds_nothing() {
    let mut budget = budget(Some(Rule::Pinned), 100);
    let tenant = party("a", 1);
    assert!(budget.check(&tenant, 60, START).admitted());
    for (rule, limit) in [(Some(Rule::Fair), 50), (None, 60), (Some(Rule::Pinned), 70)] {
        budget.retune(LocalTerms {
            limit,
            window_ms: 5_000,
            share: rule.map(terms),
        });
        assert_eq!(budget.used_total(), 60);
        let above = limit.saturating_sub(59).max(1);
        assert!(
            !budget.check(&tenant, above, START.plus(1)).admitted(),
            "{limit}"
        );
    }
    // A new length starts at the next boundary.
    assert_eq!(
        budget.check(&tenant, 0, START.plus(2)).reset_at,
        START.plus(1_000)
    );
    assert_eq!(
        budget.check(&tenant, 0, START.plus(1_000)).reset_at,
        START.plus(5_000)
    );
}

#[test]
fn a_clock_that_steps_back_opens_no_window_again() {
    let mut budget = budget(None, 10);
    let tenant = party("a", 1);
    assert!(budget.check(&tenant, 10, START.plus(1_500)).admitted());
    for back_ms in [0, 400, 1_400] {
        assert!(
            !budget
                .check(&tenant, 1, START.plus(1_500 - back_ms))
                .admitted(),
            "{back_ms}"
        );
    }
}

#[test]
fn a_budget_is_idle_when_a_window_has_passed_without_use() {
    let mut budget = budget(Some(Rule::Pinned), 10);
    assert!(budget.is_idle(START));
    budget.check(&party("a", 1), 1, START);
    assert!(!budget.is_idle(START.plus(1_999)));
    assert!(budget.is_idle(START.plus(2_000)));
}
