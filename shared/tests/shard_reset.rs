//! A key that an operator put back to its start: full again, and whatever was charged before gives nothing back to it.

use crate::shard::store::{Store, decide, key, terms};
use weir_shared::algorithms::composite::Mode;
use weir_shared::algorithms::scale::ScaledReceipt;
use weir_shared::limiting::messages::{DecideBody, FinishBody, ReturnBody, SettleKeysBody};
use weir_shared::limits::{HOLD_MS, RESERVATION_MS, RESET_DRAWS_MS};
use weir_shared::units::{EpochMs, OpId};
use weir_shared::wire::exchange::VERSION;

/// Far from the end of an hour.
const NOW: EpochMs = EpochMs(3_600_000 * 500_000 + 60_000);

/// Charges a key, and what names the charge.
fn charged(store: &mut Store, limit: &str, cost: u64, now: EpochMs) -> ScaledReceipt {
    // Each is a question of its own.
    let question = decide(now.0, Mode::All, &[(limit, "a", cost)], false);
    let reply = store.decide(&question, now);
    assert!(reply.admitted);
    reply.groups[0][0].receipt.clone().expect("it is charged")
}

fn back(limit: &str, units: u64, receipt: &ScaledReceipt) -> ReturnBody {
    ReturnBody {
        limit: limit.to_owned(),
        key: "a".to_owned(),
        units,
        receipt: receipt.clone(),
    }
}

/// The settlement of a reservation that was made at `made_at`.
fn settlement(op: u64, back: ReturnBody, made_at: EpochMs) -> SettleKeysBody {
    SettleKeysBody {
        v: VERSION,
        op: OpId(op),
        expires_at: made_at.plus(2 * RESERVATION_MS),
        limits: vec![terms(&back.limit)],
        returns: vec![back],
        debts: Vec::new(),
    }
}

#[test]
fn a_reservation_from_before_gives_nothing_back_and_one_from_after_does_also_after_a_crash() {
    for (limit, crash) in [("ten", false), ("log", false), ("ten", true), ("log", true)] {
        let mut store = Store::default();
        let before = charged(&mut store, limit, 8, NOW);
        assert_eq!(store.left(limit, "a", NOW), 2);
        let reset_at = NOW.plus(10);
        store.reset(key(limit, "a"), reset_at);
        assert_eq!(store.left(limit, "a", reset_at), 10, "{limit} starts anew");
        let later = reset_at.plus(RESET_DRAWS_MS + 1);
        let after = charged(&mut store, limit, 10, later);
        if crash {
            store.crash();
        }
        let told = store.settle(&settlement(7, back(limit, 8, &before), NOW), later);
        assert_eq!(told.returned, [0], "{limit}");
        assert_eq!(store.left(limit, "a", later), 0, "{limit}");
        let told = store.settle(&settlement(8, back(limit, 4, &after), later), later);
        assert_eq!(told.returned, [4], "{limit}");
        assert_eq!(store.left(limit, "a", later), 4, "{limit}");
    }
}

#[test]
fn units_that_were_drawn_before_stay_spent_when_they_come_back() {
    let mut store = Store::default();
    let drawn = charged(&mut store, "ten", 6, NOW);
    store.reset(key("ten", "a"), NOW.plus(1));
    charged(&mut store, "ten", 10, NOW.plus(2));
    let returning = DecideBody {
        limits: vec![terms("ten")],
        returns: vec![back("ten", 6, &drawn)],
        ..decide(2, Mode::All, &[], false)
    };
    store.decide(&returning, NOW.plus(600));
    assert_eq!(store.left("ten", "a", NOW.plus(600)), 0);
}

#[test]
fn a_question_that_was_held_before_is_undone_without_giving_back() {
    let mut store = Store::default();
    let held = decide(3, Mode::All, &[("ten", "a", 9)], true);
    assert!(store.decide(&held, NOW).admitted);
    store.reset(key("ten", "a"), NOW.plus(1));
    charged(&mut store, "ten", 10, NOW.plus(2));
    let undo = FinishBody {
        v: VERSION,
        op: OpId(3),
        commit: false,
        heard: true,
    };
    store.finish(undo, NOW.plus(3));
    assert_eq!(store.left("ten", "a", NOW.plus(HOLD_MS + 5)), 0);
}

#[test]
fn another_key_is_not_touched() {
    let mut store = Store::default();
    store.decide(&decide(1, Mode::All, &[("ten", "b", 7)], false), NOW);
    store.reset(key("ten", "a"), NOW);
    assert_eq!(store.left("ten", "b", NOW), 3);
}
