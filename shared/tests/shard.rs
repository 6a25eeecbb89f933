//! A shard of keys: none or all, whatever is lost; holds that lapse; draws that are spends; settlements that count once.

pub(crate) mod store;

use store::{Store, decide, key, terms};
use weir_shared::algorithms::composite::Mode;
use weir_shared::limiting::messages::{
    AskedBody, DebtBody, DecideBody, DecideReply, FinishBody, ReturnBody, SettleKeysBody, ShapeBody,
};
use weir_shared::limiting::owner::Account;
use weir_shared::limits::HOLD_MS;
use weir_shared::units::{EpochMs, OpId};
use weir_shared::wire::check::Reason;
use weir_shared::wire::exchange::VERSION;

const NOW: EpochMs = EpochMs(1_000_000);

fn finish(op: u64, commit: bool) -> FinishBody {
    FinishBody {
        v: VERSION,
        op: OpId(op),
        commit,
        heard: true,
    }
}

#[test]
fn a_question_charges_all_of_its_keys_or_none() {
    let mut store = Store::default();
    let both = |op, a, b| decide(op, Mode::All, &[("ten", "a", a), ("ten", "b", b)], false);
    assert!(store.decide(&both(1, 4, 9), NOW).admitted);
    let denied = store.decide(&both(2, 4, 2), NOW);
    assert!(!denied.admitted);
    assert_eq!(denied.groups[0][1].decision.reason, Reason::LimitExceeded);
    assert_eq!(
        (store.left("ten", "a", NOW), store.left("ten", "b", NOW)),
        (6, 1)
    );
    let any = decide(3, Mode::Any, &[("ten", "a", 4), ("ten", "b", 2)], false);
    assert!(store.decide(&any, NOW).admitted);
    assert_eq!(
        (store.left("ten", "a", NOW), store.left("ten", "b", NOW)),
        (2, 1)
    );
}

#[test]
fn what_is_held_lapses_unless_it_is_committed_also_after_a_crash() {
    for crash in [false, true] {
        let mut store = Store::default();
        let hold = |op| decide(op, Mode::All, &[("ten", "a", 3)], true);
        assert!(store.decide(&hold(1), NOW).admitted);
        assert!(store.decide(&hold(2), NOW).admitted);
        assert!(store.decide(&hold(3), NOW).admitted);
        assert!(store.finish(finish(2, true), NOW).standing);
        store.finish(finish(3, false), NOW);
        assert_eq!(store.left("ten", "a", NOW), 4, "one is back");
        if crash {
            store.crash();
        }
        let late = NOW.plus(HOLD_MS);
        assert_eq!(store.left("ten", "a", NOW.plus(HOLD_MS - 1)), 4);
        assert_eq!(store.left("ten", "a", late), 7, "the open one has lapsed");
        assert!(!store.finish(finish(1, true), late).standing);
        let much_later = NOW.plus(10 * HOLD_MS);
        assert_eq!(
            store.left("ten", "a", much_later),
            7,
            "the committed one stands"
        );
    }
}

#[test]
fn what_was_committed_can_be_undone_while_another_shard_may_fail_to_commit() {
    let mut store = Store::default();
    assert!(
        store
            .decide(&decide(1, Mode::All, &[("ten", "a", 3)], true), NOW)
            .admitted
    );
    assert!(store.finish(finish(1, true), NOW).standing);
    store.finish(finish(1, false), NOW);
    assert_eq!(store.left("ten", "a", NOW), 10);
}

#[test]
fn a_question_whose_answer_was_lost_is_undone_before_or_after_it_arrives() {
    let mut store = Store::default();
    let question = decide(1, Mode::All, &[("ten", "a", 3)], false);
    assert!(store.decide(&question, NOW).admitted);
    store.finish(finish(1, false), NOW);
    store.finish(finish(1, false), NOW);
    assert_eq!(store.left("ten", "a", NOW), 10, "once");

    store.finish(finish(2, false), NOW);
    let late = store.decide(&decide(2, Mode::All, &[("ten", "a", 3)], false), NOW);
    assert!(!late.taken);
    assert_eq!(store.left("ten", "a", NOW), 10);
}

#[test]
fn a_draw_is_a_spend_of_what_is_left_and_what_comes_back_is_there_again() {
    let mut store = Store::default();
    let drawing = |op, cost, ahead| {
        let mut body = decide(op, Mode::All, &[("ten", "a", cost)], false);
        if let AskedBody::Key { ahead: asked, .. } = &mut body.groups[0].dimensions[0] {
            *asked = ahead;
        }
        body
    };
    let drawn = |reply: DecideReply| reply.groups[0][0].drawn.clone();
    let first = drawn(store.decide(&drawing(1, 1, 4), NOW)).unwrap();
    assert_eq!(first.units, 4);
    assert_eq!(
        first.spendable_ms,
        Some(3_600_000 - 1_000_000),
        "to the end of its window"
    );
    assert_eq!(store.left("ten", "a", NOW), 5);
    let second = drawn(store.decide(&drawing(2, 1, 400), NOW)).unwrap();
    assert_eq!(second.units, 4, "no more than there is");
    assert!(!store.decide(&drawing(3, 1, 1), NOW).admitted);
    let mut back = decide(4, Mode::All, &[("ten", "a", 3)], false);
    back.returns.push(ReturnBody {
        limit: "ten".to_owned(),
        key: "a".to_owned(),
        units: 4,
        receipt: second.receipt,
    });
    assert!(
        store.decide(&back, NOW).admitted,
        "what comes back is there for the same question"
    );
    assert_eq!(store.left("ten", "a", NOW), 1);
}

#[test]
fn a_log_is_not_drawn_from_as_its_units_count_from_their_own_instant() {
    let mut store = Store::default();
    let mut body = decide(1, Mode::All, &[("log", "a", 1)], false);
    if let AskedBody::Key { ahead, .. } = &mut body.groups[0].dimensions[0] {
        *ahead = 4;
    }
    let reply = store.decide(&body, NOW);
    assert_eq!(
        (reply.admitted, reply.groups[0][0].drawn.clone()),
        (true, None)
    );
    assert_eq!(store.left("log", "a", NOW), 9);
}

#[test]
fn what_is_drawn_stays_the_askers_when_the_question_is_undone_unless_its_answer_was_lost() {
    let mut store = Store::default();
    let mut body = decide(1, Mode::All, &[("ten", "a", 2), ("ten", "b", 1)], true);
    if let AskedBody::Key { ahead, .. } = &mut body.groups[0].dimensions[0] {
        *ahead = 3;
    }
    let reply = store.decide(&body, NOW);
    assert_eq!(
        reply.groups[0][0].drawn.as_ref().map(|drawn| drawn.units),
        Some(3)
    );
    assert_eq!(reply.groups[0][1].drawn, None);
    store.finish(finish(1, false), NOW);
    assert_eq!(
        store.left("ten", "a", NOW),
        7,
        "three are the asker's still"
    );
    assert_eq!(store.left("ten", "b", NOW), 10);
}

#[test]
fn a_settlement_gives_back_once_and_charges_debt_as_far_as_it_lasts() {
    let mut store = Store::default();
    let charged = store.decide(&decide(1, Mode::All, &[("ten", "a", 6)], false), NOW);
    let receipt = charged.groups[0][0].receipt.clone().unwrap();
    let settle = |op, back, debt| SettleKeysBody {
        v: VERSION,
        op: OpId(op),
        expires_at: NOW.plus(60_000),
        limits: vec![terms("ten")],
        returns: vec![ReturnBody {
            limit: "ten".to_owned(),
            key: "a".to_owned(),
            units: back,
            receipt: receipt.clone(),
        }],
        debts: vec![DebtBody {
            limit: "ten".to_owned(),
            key: "b".to_owned(),
            units: debt,
            kept: None,
        }],
    };
    let first = store.settle(&settle(7, 4, 25), NOW);
    assert_eq!((first.returned[0], first.charged[0]), (4, 10));
    store.crash();
    let again = store.settle(&settle(7, 1, 1), NOW);
    assert_eq!(again, first, "the first result");
    assert_eq!(
        (store.left("ten", "a", NOW), store.left("ten", "b", NOW)),
        (8, 0)
    );
    let next_window = EpochMs(3_600_000);
    let late = store.settle(&settle(8, 2, 0), next_window);
    assert_eq!(late.returned[0], 0, "its window is over");
    assert_eq!(store.left("ten", "a", next_window), 10);
}

#[test]
fn newer_rules_hold_at_once_and_older_ones_do_not_come_back() {
    let mut store = Store::default();
    let with_limit = |op, revision, limit| {
        let mut body = decide(op, Mode::All, &[("ten", "a", 1)], false);
        body.limits[0].revision.0 = revision;
        body.limits[0].body.limit = Some(limit);
        body
    };
    assert_eq!(
        store.decide(&with_limit(1, 5, 20), NOW).groups[0][0]
            .decision
            .limit,
        20
    );
    assert_eq!(
        store.decide(&with_limit(2, 4, 10), NOW).groups[0][0]
            .decision
            .limit,
        20
    );
    assert_eq!(
        store.decide(&with_limit(3, 6, 3), NOW).groups[0][0]
            .decision
            .limit,
        3
    );
    assert!(
        !store.decide(&with_limit(4, 6, 3), NOW).admitted,
        "three are used"
    );
}

#[test]
fn a_place_in_a_queue_is_kept_and_the_hint_of_a_refusal_is_true() {
    let mut store = Store::default();
    let ask = |cost| ShapeBody {
        v: VERSION,
        limit: terms("queue"),
        key: "a".to_owned(),
        cost,
        known: false,
        account: Account::default(),
    };
    // 10 a second, at most 250 ms of waiting: 0, 100 and 200 ms, then none.
    let delays: Vec<_> = (0..3).map(|_| store.shape(&ask(1), NOW).delay_ms).collect();
    assert_eq!(delays, [0, 100, 200]);
    store.crash();
    let refused = store.shape(&ask(1), NOW);
    assert_eq!(
        (refused.accepted, refused.retry_after_ms),
        (false, Some(50))
    );
    assert!(!store.shape(&ask(1), NOW.plus(49)).accepted);
    assert!(store.shape(&ask(1), NOW.plus(50)).accepted);
}

#[test]
fn a_row_that_cannot_be_read_counts_as_used_up() {
    let mut store = Store::default();
    store.damage(key("ten", "a"));
    let reply = store.decide(&decide(1, Mode::All, &[("ten", "a", 1)], false), NOW);
    assert!(!reply.admitted);
    let later = EpochMs(7_200_000);
    assert!(
        store
            .decide(&decide(2, Mode::All, &[("ten", "a", 1)], false), later)
            .admitted
    );
}

#[test]
fn a_question_with_bad_rules_changes_nothing() {
    let mut store = Store::default();
    let mut body: DecideBody = decide(1, Mode::All, &[("ten", "a", 1)], false);
    body.limits[0].body.limit = Some(0);
    assert!(store.try_decide(&body, NOW).is_err());
    body.limits.clear();
    assert!(store.try_decide(&body, NOW).is_err());
    assert_eq!(store.left("ten", "a", NOW), 10);
}

#[cfg(not(target_arch = "wasm32"))]
mod commits {
    //! Many askers over two shards, with losses, crashes and late messages.

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone, Copy)]
    struct Fate {
        cost: (u64, u64),
        lose_question: [bool; 2],
        lose_answer: [bool; 2],
        lose_commit: [bool; 2],
        lose_undo: [bool; 2],
        crash_after_hold: [bool; 2],
        wait_ms: u64,
    }

    fn fate() -> impl Strategy<Value = Fate> {
        let rarely = || prop::array::uniform2(prop::bool::weighted(0.15));
        (
            (0..4_u64, 0..4_u64),
            (rarely(), rarely(), rarely(), rarely(), rarely()),
            prop_oneof![4 => 0..5_u64, 1 => 2_900..3_100_u64],
        )
            .prop_map(|(cost, lost, wait_ms)| Fate {
                cost,
                lose_question: lost.0,
                lose_answer: lost.1,
                lose_commit: lost.2,
                lose_undo: lost.3,
                crash_after_hold: lost.4,
                wait_ms,
            })
    }

    /// One asker's two-phase question; whether its request was let through.
    fn ask(shards: &mut [Store; 2], op: u64, fate: &Fate, now: &mut EpochMs) -> bool {
        let costs = [fate.cost.0 + 1, fate.cost.1 + 1];
        let mut stands = true;
        for (index, shard) in shards.iter_mut().enumerate() {
            let question = decide(op, Mode::All, &[("ten", "k", costs[index])], true);
            let reply = (!fate.lose_question[index]).then(|| shard.decide(&question, *now));
            stands &= reply.is_some_and(|reply| reply.admitted) && !fate.lose_answer[index];
            if fate.crash_after_hold[index] {
                shard.crash();
            }
        }
        *now = now.plus(fate.wait_ms);
        if stands {
            for (shard, lost) in shards.iter_mut().zip(fate.lose_commit) {
                stands &= !lost && shard.finish(finish(op, true), *now).standing;
            }
        }
        for (shard, lost) in shards.iter_mut().zip(fate.lose_undo) {
            if !stands && !lost {
                shard.finish(finish(op, false), *now);
            }
        }
        stands
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        #[test]
        fn no_key_admits_more_than_its_limit_and_nothing_is_lost_but_undelivered_undoings(
            fates in prop::collection::vec(fate(), 1..12),
        ) {
            let mut shards = [Store::default(), Store::default()];
            let mut now = EpochMs(10_000);
            let mut admitted = [0_u64; 2];
            let mut undone_late = [0_u64; 2];
            for (index, fate) in fates.iter().enumerate() {
                let costs = [fate.cost.0 + 1, fate.cost.1 + 1];
                if ask(&mut shards, index as u64 + 1, fate, &mut now) {
                    admitted[0] += costs[0];
                    admitted[1] += costs[1];
                } else {
                    for shard in 0..2 {
                        // Committed here, not there, and the undoing lost: all that may stay charged.
                        if fate.lose_undo[shard] && !fate.lose_commit[shard] {
                            undone_late[shard] += costs[shard];
                        }
                    }
                }
            }
            let end = now.plus(20 * HOLD_MS);
            for shard in 0..2 {
                let left = shards[shard].left("ten", "k", end);
                prop_assert!(admitted[shard] <= 10);
                prop_assert!(left <= 10 - admitted[shard], "{left} left of 10, {} admitted", admitted[shard]);
                prop_assert!(left + admitted[shard] + undone_late[shard] >= 10);
            }
        }
    }
}
