use weir_limiting::owner::Account;
use weir_limiting::settlement::Accounted;
use weir_wire::exchange::VERSION;

use super::*;
use crate::settled::Cursors;

const NOW: EpochMs = EpochMs(PURGE_MS / 2);
const FIRST: u8 = 1;
const SECOND: u8 = 2;

type Node = SettlementNode<u8, &'static str>;

fn node() -> Node {
    let settled = SettledNode::new("weur", 0, Cursors::default());
    SettlementNode::new("weur", settled)
}

fn change(pool: &str, back: u64, debt: u64) -> PoolChange {
    PoolChange {
        pool: pool.to_owned(),
        tenant: None,
        label: WindowLabel(3),
        back,
        debt,
        reserved: 10,
    }
}

fn settle(op: u64, pools: &[PoolChange]) -> Event<&'static str> {
    let body = SettleBody {
        v: VERSION,
        region: "weur".to_owned(),
        op: OpId(op),
        actual: 7,
        expires_at: EpochMs(900_000),
        pools: pools.to_vec(),
        account: Account::default(),
        accounted: Accounted::default(),
    };
    Event::Settle {
        body: Box::new(body),
        facts: Facts::default(),
    }
}

fn lent(units: u64) -> Event<&'static str> {
    let label = WindowLabel(4);
    Event::Lent(Debt { units, label })
}

fn taken(units: u64, row: Option<&'static str>) -> Event<&'static str> {
    Event::Refunded(Some(Refund { units, row }))
}

fn reply(returned: &[u64], charged: &[u64]) -> SettleReply {
    SettleReply {
        actual: 7,
        returned: returned.to_vec(),
        charged: charged.to_vec(),
    }
}

fn written(pool: &str, durable: bool) -> Effect<u8, &'static str> {
    let pool = pool.to_owned();
    Effect::Written { pool, durable }
}

/// A settlement of two pools whose rows are to be written.
fn writing(node: &mut Node) -> Rows<&'static str> {
    let pools = [change("tokens", 3, 0), change("bytes", 3, 0)];
    assert_eq!(
        node.step(&FIRST, settle(9, &pools), NOW),
        [Effect::Load(OpId(9))]
    );
    let [first, second] = pools;
    let loaded = node.step(&FIRST, Event::Loaded(None), NOW);
    assert_eq!(loaded, [Effect::Refund(first)]);
    let next = node.step(&FIRST, taken(3, Some("row of tokens")), NOW);
    assert_eq!(next, [Effect::Refund(second)]);
    match &node.step(&FIRST, taken(2, None), NOW)[..] {
        [Effect::Persist(rows)] => (**rows).clone(),
        other => panic!("{other:?} writes nothing"),
    }
}

#[test]
fn all_that_a_settlement_comes_to_is_one_write_and_the_answer_leaves_after_it() {
    let mut node = node();
    let pools = [change("tokens", 0, 5), change("bytes", 3, 0)];
    let [debt, back] = pools.clone();
    let _load = node.step(&FIRST, settle(9, &pools), NOW);
    let first = node.step(&FIRST, Event::Loaded(None), NOW);
    assert_eq!(first, [Effect::Lend(debt)]);
    assert_eq!(node.step(&FIRST, lent(4), NOW), [Effect::Refund(back)]);
    let effects = node.step(&FIRST, taken(2, Some("row of bytes")), NOW);
    let [Effect::Persist(rows)] = &effects[..] else {
        panic!("{effects:?} write nothing");
    };
    assert_eq!((rows.op, rows.expires_at), (OpId(9), EpochMs(900_000)));
    assert_eq!(rows.pools, [("bytes".to_owned(), "row of bytes")]);
    assert_eq!(rows.reply, reply(&[0, 2], &[4, 0]));
    let (number, entry) = rows.entry.as_ref().expect("it is accounted for");
    assert_eq!(*number, NOW.0);
    let labels = entry.windows["tokens"].keys().copied();
    assert_eq!(
        labels.collect::<Vec<_>>(),
        [WindowLabel(3), WindowLabel(4)],
        "what is charged beyond is of the window that had room for it"
    );
    assert!(node.settled().is_told(), "the entry is not durable yet");
    let done = [
        written("bytes", true),
        Effect::Flush,
        Effect::Reply(FIRST, reply(&[0, 2], &[4, 0])),
    ];
    assert_eq!(node.step(&FIRST, Event::Persisted, NOW), done);
    assert!(!node.settled().is_told());
    assert_eq!(node.step(&FIRST, Event::Persisted, NOW), []);
}

#[test]
fn what_was_settled_is_answered_again_from_its_row() {
    let mut node = node();
    let pools = [change("tokens", 3, 0)];
    let _load = node.step(&FIRST, settle(9, &pools), NOW);
    let before = reply(&[1], &[0]);
    let again = node.step(&FIRST, Event::Loaded(Some(before.clone())), NOW);
    assert_eq!(again, [Effect::Reply(FIRST, before)]);
    // Where it cannot be read nothing is given back either.
    let _load = node.step(&SECOND, settle(9, &pools), NOW);
    let failed = node.step(&SECOND, Event::Failed, NOW);
    assert_eq!(failed, [Effect::Fail(SECOND)]);
}

#[test]
fn who_asks_meanwhile_is_answered_with_the_first() {
    for persisted in [true, false] {
        let mut node = node();
        let rows = writing(&mut node);
        let joined = node.step(&SECOND, settle(9, &[change("tokens", 1, 0)]), NOW);
        assert_eq!(joined, []);
        // Another reservation is another settlement.
        let other = node.step(&3, settle(8, &[]), NOW);
        assert_eq!(other, [Effect::Load(OpId(8))]);
        let event = match persisted {
            true => Event::Persisted,
            false => Event::NotPersisted,
        };
        let effects = node.step(&FIRST, event, NOW);
        let answers = match persisted {
            true => [FIRST, SECOND].map(|caller| Effect::Reply(caller, rows.reply.clone())),
            false => [FIRST, SECOND].map(Effect::Fail),
        };
        assert!(effects.ends_with(&answers), "{effects:?}");
    }
}

#[test]
fn a_failed_write_undoes_what_was_credited() {
    let mut node = node();
    let _rows = writing(&mut node);
    let undone = [
        written("tokens", false),
        // What one of them took back needed no row, and is in memory all the same.
        Effect::Drop(vec!["tokens".to_owned(), "bytes".to_owned()]),
        Effect::Fail(FIRST),
    ];
    assert_eq!(node.step(&FIRST, Event::NotPersisted, NOW), undone);
    assert!(node.settled().is_told(), "nothing is to be told");
}

#[test]
fn a_pool_that_fails_undoes_what_others_took_back() {
    let mut node = node();
    let pools = [change("tokens", 3, 0), change("bytes", 3, 0)];
    let _load = node.step(&FIRST, settle(9, &pools), NOW);
    let _refund = node.step(&FIRST, Event::Loaded(None), NOW);
    let _next = node.step(&FIRST, taken(3, Some("row of tokens")), NOW);
    let undone = [
        written("tokens", false),
        Effect::Drop(vec!["tokens".to_owned()]),
        Effect::Fail(FIRST),
    ];
    assert_eq!(node.step(&FIRST, Event::Failed, NOW), undone);
}

#[test]
fn a_pool_that_is_not_there_takes_nothing_back_and_the_others_do() {
    let mut node = node();
    let pools = [
        change("tokens", 3, 0),
        change("bytes", 0, 0),
        change("calls", 3, 0),
    ];
    let _load = node.step(&FIRST, settle(9, &pools), NOW);
    let _refund = node.step(&FIRST, Event::Loaded(None), NOW);
    let next = node.step(&FIRST, Event::Refunded(None), NOW);
    assert_eq!(next, [Effect::Refund(change("calls", 3, 0))]);
    let effects = node.step(&FIRST, taken(3, None), NOW);
    let [Effect::Persist(rows)] = &effects[..] else {
        panic!("{effects:?} write nothing");
    };
    assert_eq!(rows.reply, reply(&[0, 0, 3], &[0, 0, 0]));
}

#[test]
fn settlements_that_are_over_are_dropped_once_a_minute() {
    let mut node = node();
    for (at, forgets) in [
        (NOW.0, false),
        (PURGE_MS, true),
        (2 * PURGE_MS - 1, false),
        (2 * PURGE_MS, true),
    ] {
        let now = EpochMs(at);
        let _load = node.step(&FIRST, settle(at, &[]), now);
        let effects = node.step(&FIRST, Event::Loaded(None), now);
        assert_eq!(effects.contains(&Effect::Forget(now)), forgets, "{at}");
        let _done = node.step(&FIRST, Event::Persisted, now);
    }
}

#[test]
fn one_whose_runner_is_gone_is_begun_again_and_its_late_words_change_nothing() {
    let mut node = node();
    let pools = [change("tokens", 0, 5)];
    let _load = node.step(&FIRST, settle(9, &pools), NOW);
    let _lend = node.step(&FIRST, Event::Loaded(None), NOW);
    let late = NOW.plus(SETTLEMENT_SILENT_MS_MAX + 1);
    let again = node.step(&SECOND, settle(9, &pools), late);
    assert_eq!(again, [Effect::Load(OpId(9))]);
    assert_eq!(node.step(&FIRST, lent(5), late), []);
    let lend = node.step(&SECOND, Event::Loaded(None), late);
    assert!(lend.ends_with(&[Effect::Lend(change("tokens", 0, 5))]));
    let persist = node.step(&SECOND, lent(5), late);
    assert!(matches!(persist[..], [Effect::Persist(_)]), "{persist:?}");
    let done = node.step(&SECOND, Event::Persisted, late);
    let both = [SECOND, FIRST].map(|caller| Effect::Reply(caller, reply(&[0], &[5])));
    assert!(done.ends_with(&both), "{done:?}");
}

#[test]
fn what_was_charged_before_the_runner_was_gone_is_not_charged_again() {
    let mut node = node();
    let pools = [
        change("tokens", 0, 5),
        change("bytes", 0, 6),
        change("rows", 2, 0),
    ];
    let _load = node.step(&FIRST, settle(9, &pools), NOW);
    let _lend = node.step(&FIRST, Event::Loaded(None), NOW);
    let next = node.step(&FIRST, lent(5), NOW);
    assert_eq!(next, [Effect::Lend(change("bytes", 0, 6))]);
    let late = NOW.plus(SETTLEMENT_SILENT_MS_MAX + 1);
    let _load = node.step(&SECOND, settle(9, &pools), late);
    let lend = node.step(&SECOND, Event::Loaded(None), late);
    assert!(
        lend.ends_with(&[Effect::Lend(change("bytes", 0, 6))]),
        "{lend:?}"
    );
    let refund = node.step(&SECOND, lent(6), late);
    assert_eq!(refund, [Effect::Refund(change("rows", 2, 0))]);
    let _persist = node.step(&SECOND, taken(2, Some("row")), late);
    let done = node.step(&SECOND, Event::Persisted, late);
    let both = [FIRST, SECOND].map(|caller| Effect::Reply(caller, reply(&[0, 0, 2], &[5, 6, 0])));
    for one in both {
        assert!(done.contains(&one), "{done:?}");
    }
}

#[test]
fn beyond_the_bound_a_settlement_fails_and_those_under_way_go_on() {
    let settled = SettledNode::new("weur", 0, Cursors::default());
    let mut node: SettlementNode<usize, &str> = SettlementNode::new("weur", settled);
    let pools = [change("tokens", 0, 5)];
    for caller in 0..SETTLEMENTS_WAITING_MAX {
        let op = OpId(caller as u64);
        assert_eq!(
            node.step(&caller, settle(op.0, &pools), NOW),
            [Effect::Load(op)]
        );
    }
    let more = SETTLEMENTS_WAITING_MAX;
    assert_eq!(
        node.step(&more, settle(1 << 40, &pools), NOW),
        [Effect::Fail(more)]
    );
    // One of the same reservation joins.
    assert_eq!(node.step(&more, settle(0, &pools), NOW), []);
    assert_eq!(node.step(&0, Event::Loaded(None), NOW).len(), 1);
}

#[test]
fn one_that_is_heard_of_is_under_way_however_long_it_takes() {
    let mut node = node();
    let pools = [change("tokens", 0, 5), change("bytes", 0, 5)];
    let _load = node.step(&FIRST, settle(9, &pools), NOW);
    let _lend = node.step(&FIRST, Event::Loaded(None), NOW);
    let heard = NOW.plus(SETTLEMENT_SILENT_MS_MAX);
    let next = node.step(&FIRST, lent(5), heard);
    assert_eq!(next, [Effect::Lend(change("bytes", 0, 5))]);
    let late = heard.plus(SETTLEMENT_SILENT_MS_MAX);
    assert_eq!(node.step(&SECOND, settle(9, &pools), late), []);
}

#[test]
fn one_whose_runner_is_gone_and_that_nobody_can_settle_any_more_is_kept_no_longer() {
    for (left_ms, kept) in [(0, false), (1, true)] {
        let mut node = node();
        let _load = node.step(&FIRST, settle(9, &[change("tokens", 0, 5)]), NOW);
        let _lend = node.step(&FIRST, Event::Loaded(None), NOW);
        let now = EpochMs(900_000 - left_ms);
        let _load = node.step(&SECOND, settle(8, &[]), now);
        let effects = node.step(&SECOND, Event::Loaded(None), now);
        assert_eq!(!effects.contains(&Effect::Fail(FIRST)), kept, "{effects:?}");
        let goes_on = node.step(&FIRST, lent(5), now);
        assert_eq!(!goes_on.is_empty(), kept, "{goes_on:?}");
    }
}
