//! Several checks in one request: all of them admit, or nothing is charged, wherever their states are kept.

use serde_json::{Value, json};
use weir_shared::wire::check::Reason;
use weir_tests::calls::{charge, charge_keys, together};
use weir_tests::fixtures::BUDGET;
use weir_tests::workerd::Setup;

use crate::limits::{
    BUDGET_LIMIT, LONG_MS, admitted, alone, await_allowed, await_left, decide, fixed, key_in, left,
    start, still, storm, take, take_the_rest,
};

const TENANT: &str = "pro:a";

fn limits() -> Value {
    json!({
        "first": still(50),
        "second": still(30),
        "planet": fixed(40, LONG_MS, "global"),
        "own": fixed(60, LONG_MS, "isolate"),
        "pair": { "all": ["first", "second"] },
    })
}

fn budget(cost: u64) -> Value {
    json!({ "budget": BUDGET, "cost": cost })
}

fn of_budget(cost: u64) -> Value {
    json!({ "tenant": TENANT, "budget": BUDGET, "cost": cost })
}

/// A budget, a global limit, a limit of the isolate, and two keys in different shards.
fn everything(round: usize, costs: [u64; 5]) -> Value {
    let [budgeted, planet, own, first, second] = costs;
    let checks = [
        budget(budgeted),
        charge("planet", &format!("p{round}"), planet),
        charge("own", &format!("o{round}"), own),
        charge("first", &key_in(0, round), first),
        charge("second", &key_in(3, round), second),
    ];
    together(TENANT, &checks)
}

#[tokio::test]
async fn what_admits_charges_each_check_its_own_cost() {
    let workerd = start(alone(), limits()).await;
    let client = workerd.client(0).unwrap();
    let decision = decide(&client, &everything(0, [100, 7, 11, 13, 17])).await;
    assert_eq!(
        (
            decision.allowed,
            decision.binding.as_str(),
            decision.remaining
        ),
        (true, "second", 13),
        "the check with the least left binds"
    );
    await_left(&client, "own", "o0", 49).await;
    await_left(&client, "first", &key_in(0, 0), 37).await;
    await_left(&client, "second", &key_in(3, 0), 13).await;
    await_allowed(&client, &charge("planet", "p0", 33)).await;
    assert!(!take(&client, "planet", "p0", 1).await.allowed);
    await_allowed(&client, &of_budget(BUDGET_LIMIT - 100)).await;
    assert!(!decide(&client, &of_budget(1)).await.allowed);
}

/// Each of the five is the one that denies, once.
#[tokio::test]
async fn what_denies_charges_nothing_anywhere() {
    let workerd = start(alone(), limits()).await;
    let client = workerd.client(0).unwrap();
    let names = [BUDGET, "planet", "own", "first", "second"];
    let mut budget_used = 0;
    for (round, name) in names.into_iter().enumerate().rev() {
        let (planet, own) = (format!("p{round}"), format!("o{round}"));
        let (first, second) = (key_in(0, round), key_in(3, round));
        match name {
            BUDGET => {
                // Last, as it is the same one in every round.
                await_allowed(&client, &of_budget(BUDGET_LIMIT - budget_used)).await;
                budget_used = BUDGET_LIMIT;
            }
            "planet" => assert!(take(&client, "planet", &planet, 40).await.allowed),
            "own" => assert!(take(&client, "own", &own, 60).await.allowed),
            "first" => assert!(take(&client, "first", &first, 50).await.allowed),
            _ => assert!(take(&client, "second", &second, 30).await.allowed),
        }
        for _ in 0..6 {
            let denied = decide(&client, &everything(round, [1; 5])).await;
            assert_eq!(
                (denied.allowed, denied.binding.as_str()),
                (false, name),
                "{denied:?}"
            );
            let reason = if name == BUDGET {
                Reason::CapReached
            } else {
                Reason::LimitExceeded
            };
            assert_eq!(denied.reason, reason, "{denied:?}");
        }
        for (other, key, whole) in [
            ("planet", &planet, 40),
            ("own", &own, 60),
            ("first", &first, 50),
            ("second", &second, 30),
        ] {
            if other != name {
                await_allowed(&client, &charge(other, key, whole)).await;
                let over = take(&client, other, key, 1).await;
                assert!(!over.allowed, "{name} denied: {over:?}");
            }
        }
        if name != BUDGET {
            await_allowed(&client, &of_budget(10)).await;
            budget_used += 10;
        }
    }
    assert!(!decide(&client, &of_budget(1)).await.allowed);
}

#[tokio::test]
async fn a_look_at_several_changes_nothing() {
    let workerd = start(alone(), limits()).await;
    let client = workerd.client(0).unwrap();
    for _ in 0..20 {
        let look = decide(&client, &everything(0, [0; 5])).await;
        assert!(look.allowed, "{look:?}");
    }
    await_allowed(&client, &everything(0, [BUDGET_LIMIT, 40, 60, 50, 30])).await;
    for _ in 0..20 {
        let look = decide(&client, &everything(0, [0; 5])).await;
        assert!(!look.allowed, "{look:?}");
    }
    // What is looked at beside a charge is not charged, and does not stand in its way when it is not used up.
    let mixed = everything(1, [0, 5, 0, 0, 2]);
    let denied = decide(&client, &mixed).await;
    assert_eq!((denied.allowed, denied.binding.as_str()), (false, BUDGET));
    let without = together(
        TENANT,
        &[
            charge("first", &key_in(0, 1), 0),
            charge("second", &key_in(3, 1), 2),
        ],
    );
    assert!(decide(&client, &without).await.allowed);
    await_left(&client, "first", &key_in(0, 1), 50).await;
    await_left(&client, "second", &key_in(3, 1), 28).await;
}

#[tokio::test]
async fn one_limit_may_be_named_several_times() {
    let workerd = start(alone(), limits()).await;
    let client = workerd.client(0).unwrap();
    for limit in ["first", "own", "planet"] {
        let checks = [
            charge(limit, "a", 10),
            charge(limit, "b", 20),
            charge(limit, "a", 15),
        ];
        assert!(
            decide(&client, &together(TENANT, &checks)).await.allowed,
            "{limit}"
        );
        let bound = limits()[limit]["limit"].as_u64().unwrap();
        await_allowed(&client, &charge(limit, "a", bound - 25)).await;
        assert!(
            !take(&client, limit, "a", 1).await.allowed,
            "{limit}: the sum was charged"
        );
        await_allowed(&client, &charge(limit, "b", bound - 20)).await;
        assert!(!take(&client, limit, "b", 1).await.allowed, "{limit}");
        let over = [charge(limit, "c", bound - 1), charge(limit, "c", 2)];
        assert!(
            !decide(&client, &together(TENANT, &over)).await.allowed,
            "{limit}: the sum is over"
        );
        await_allowed(&client, &charge(limit, "c", bound)).await;
    }
}

/// One shard decides all of it in one step: to the unit, also while others ask.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_questions_of_one_shard_admit_exactly_the_tightest_bound() {
    let workerd = start(Setup::isolates(&["weur", "weur"]), limits()).await;
    let clients = workerd.clients().unwrap();
    let (first, second) = (key_in(2, 0), key_in(2, 1));
    let question = charge_keys("pair", &[("first", &first), ("second", &second)], 1);
    let decisions = storm(&clients, 200, |_| question.clone()).await;
    let mut all = admitted(&decisions);
    assert!(all <= 30, "{all}");
    // What a busy machine was too late to answer is undone, while others were denied for it.
    while all < 30 {
        await_allowed(&clients[all as usize % 2], &question).await;
        all += 1;
    }
    for client in &clients {
        await_left(client, "first", &first, 20).await;
        await_left(client, "second", &second, 0).await;
        let denied = decide(client, &question).await;
        assert!(!denied.allowed, "{denied:?}");
    }
}

/// A budget, a global limit and two shards: never more than the tightest, in the end all of it, and each is charged
/// exactly for what was admitted.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_questions_of_several_holders_charge_each_for_what_was_admitted() {
    let workerd = start(Setup::isolates(&["weur", "weur"]), limits()).await;
    let clients = workerd.clients().unwrap();
    let (first, second) = (key_in(0, 0), key_in(3, 0));
    let checks = [
        budget(3),
        charge("planet", "p", 1),
        charge("first", &first, 1),
        charge("second", &second, 1),
    ];
    let question = together(TENANT, &checks);
    let mut all = admitted(&storm(&clients, 120, |_| question.clone()).await);
    println!("{all} of 30 in the storm");
    assert!(all <= 30, "{all}");
    // Questions that stood in each other's way ask again, when what they held is back.
    while all < 30 {
        await_allowed(&clients[all as usize % 2], &question).await;
        all += 1;
    }
    for client in &clients {
        let denied = decide(client, &question).await;
        assert!(!denied.allowed, "{denied:?}");
        await_left(client, "first", &first, 20).await;
        assert_eq!(left(client, "second", &second).await, 0);
    }
    assert_eq!(take_the_rest(&clients[0], "planet", "p", 10).await, 10);
    await_allowed(&clients[1], &of_budget(BUDGET_LIMIT - 3 * 30)).await;
    assert!(!decide(&clients[0], &of_budget(1)).await.allowed);
}
