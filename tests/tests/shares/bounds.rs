//! Ceilings and floors of tenants: no window admits more of one than its ceiling, whatever is free and wherever it asks, and
//! what is set aside for one is there when it comes.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use weir_shared::wire::check::Reason;
use weir_tests::again::answered;
use weir_tests::checker::{admitted_by_window, violations};
use weir_tests::fixtures::with;
use weir_tests::history::outcomes;
use weir_tests::stage::Stage;
use weir_tests::workerd::{REGIONS, Setup};

use crate::shares::{
    LONG_MS, SIX, alone, assert_rule, await_allowed, budget, document, escrow, flood, load, run,
    start, take, take_the_rest, take_until_denied,
};

const CEILING: u64 = 30;

fn claim(of: Value) -> Value {
    json!({ "budgets": { "tokens": of } })
}

/// Alone, under every rule that keeps accounts, at every scope that it is served at.
#[tokio::test]
async fn a_tenant_alone_has_its_ceiling_and_no_more() {
    for (sharing, scope, reserve) in [
        ("fair_share", "isolate", "pinned"),
        ("fair_share", "region", "pinned"),
        ("weighted_fair_share", "region", "pinned"),
        ("weighted_fair_escrow", "isolate", "paced"),
        ("weighted_fair_escrow", "region", "pinned"),
        ("weighted_fair_escrow", "global", "pinned"),
        ("weighted_fair_escrow", "global", "paced"),
    ] {
        let what = format!("{sharing} {scope} {reserve}");
        let body = with(
            budget(sharing, scope, 100, LONG_MS),
            "/reserve",
            json!(reserve),
        );
        let tenants = json!({ "bound": claim(json!({ "ceiling": CEILING })) });
        let workerd = start(alone(), &document(body, tenants)).await;
        let client = workerd.client(0).unwrap();
        let (taken, denied) = take_until_denied(&client, "bound").await;
        assert_eq!(
            (taken, denied.reason),
            (CEILING, Reason::OverShare),
            "{what}"
        );
        assert_eq!(
            (denied.limit, denied.remaining),
            (CEILING, 0),
            "{what}: {denied:?}"
        );
        assert!(denied.retry_after_ms > Some(0), "{what}: {denied:?}");
    }
}

/// A flood over two regions: exactly the ceiling, edited in mid-window, and what it leaves is free for others.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_over_two_regions_is_admitted_exactly_its_ceiling() {
    let body = with(
        budget("weighted_fair_escrow", "global", 400, LONG_MS),
        "/reserve",
        json!("paced"),
    );
    let with_ceiling = |ceiling: u64| {
        let tenants = json!({ "bound": claim(json!({ "ceiling": ceiling })) });
        document(body.clone(), tenants)
    };
    let setup = Setup::isolates(&[REGIONS[0], REGIONS[1]]);
    let workerd = start(setup, &with_ceiling(CEILING)).await;
    let clients = workerd.clients().unwrap();
    let flood = || async {
        let each = clients.iter().map(|client| async move {
            let asks = (0..120).map(|_| take(client, "bound", 1));
            let decisions = join_all(asks).await;
            decisions.iter().filter(|one| one.allowed).count() as u64
        });
        join_all(each).await.into_iter().sum::<u64>()
    };
    let mut taken = flood().await;
    // What one holder had ahead comes back and is had by the other.
    taken += take_the_rest(&clients[1], "bound", CEILING - taken).await;
    assert_eq!(taken, CEILING);
    assert_eq!(flood().await, 0);

    // A lower one takes nothing back; a higher one counts at once.
    workerd.apply(&with_ceiling(CEILING / 2)).await.unwrap();
    assert_eq!(flood().await, 0);
    workerd.apply(&with_ceiling(CEILING + 12)).await.unwrap();
    await_allowed(&clients[0], "bound", 1).await;
    assert_eq!(take_the_rest(&clients[1], "bound", 11).await, 11);
    assert_eq!(flood().await, 0);
    // An even pace of its guarantee is kept for it alone up to its ceiling: all else is free.
    let free = 400 - CEILING - 12;
    assert_eq!(take_the_rest(&clients[0], "other", free).await, free);
}

/// In windows that follow each other, units lent ahead of each included.
#[tokio::test(flavor = "multi_thread")]
async fn no_window_admits_more_than_a_ceiling_over_six_isolates() {
    const LIMIT: u64 = 240;
    const WINDOW: Duration = Duration::from_secs(3);
    let tenants = json!({
        "bound": claim(json!({ "ceiling": 40 })),
        "floored": claim(json!({ "floor": 72 })),
    });
    let policy = |window| document(escrow("paced", LIMIT, window), tenants);
    let stage = Stage::new(Setup::isolates(&SIX), WINDOW, policy).await;
    let clients = &stage.clients;
    // Of 240: 72 set aside, and a third of the rest each. At an even pace it asks for less than what it is guaranteed.
    let loads = vec![
        flood(clients, "bound"),
        flood(clients, "greedy"),
        load(&clients[2..3], "floored", 1, 40),
    ];
    let operations = run(&stage, loads).await;
    println!("{:?}", outcomes(&operations));
    assert_eq!(violations(&operations, LIMIT, stage.window), []);
    let bound: Vec<_> = operations
        .iter()
        .filter(|one| one.tenant == "bound")
        .cloned()
        .collect();
    let most = admitted_by_window(&bound).into_values().max();
    assert!(most <= Some(40), "{most:?} in a window");
    assert_rule("the bound tenant", &operations, stage.window, |seen| {
        Some(seen.has("bound", 36))
    });
    assert_rule("the floored tenant", &operations, stage.window, |seen| {
        Some(seen.has("floored", 60))
    });
}

/// A tenant that was never there finds what is set aside for it, however others flood.
#[tokio::test(flavor = "multi_thread")]
async fn a_floor_is_kept_under_flood_for_a_tenant_that_was_never_there() {
    for reserve in ["paced", "pinned"] {
        let body = with(
            budget("weighted_fair_escrow", "global", 200, LONG_MS),
            "/reserve",
            json!(reserve),
        );
        let tenants = json!({ "awaited": claim(json!({ "floor": 80 })) });
        let setup = Setup::isolates(&[REGIONS[0], REGIONS[1]]);
        let workerd = start(setup, &document(body, tenants)).await;
        let clients = workerd.clients().unwrap();
        let mut taken = 0;
        for client in &clients {
            taken += take_until_denied(client, "flood").await.0;
        }
        taken += take_the_rest(&clients[0], "flood", 120 - taken.min(120)).await;
        // Thirty days: what is released meanwhile is less than what is left of the month.
        let held = held_of_a_month(80);
        assert!(taken <= 200 - held, "{reserve}: {taken} beside {held}");
        let had = take_the_rest(&clients[1], "awaited", held).await;
        assert!(had >= held, "{reserve}: {had} of {held}");
    }
}

/// What an even pace still keeps of so many units in the present window.
fn held_of_a_month(units: u64) -> u64 {
    let left_ms = LONG_MS - weir_tests::clock::epoch_ms() % LONG_MS;
    (units * left_ms / LONG_MS).saturating_sub(1)
}

/// Whose word it is, and what cannot be kept.
#[tokio::test]
async fn bounds_are_told_with_their_place_and_refused_at_theirs() {
    let tenants = json!({ "bound": {
        "budgets": { "tokens": { "ceiling": 90 } },
        "overrides": [{ "expires_at": 4_102_444_800_000_u64, "budgets": { "tokens": { "floor": 20 } } }]
    } });
    let body = budget("weighted_fair_escrow", "global", 100, LONG_MS);
    let good = document(body, tenants);
    let workerd = start(alone(), &good).await;
    let client = workerd.client(0).unwrap();
    let tenant = answered(async || client.get("/operator/v1/tenants/bound").await);
    let told: Value = tenant.await.ok().unwrap();
    let told = &told["effective"]["budgets"]["tokens"];
    assert_eq!(
        told["ceiling"],
        json!({ "value": 90, "origin": "tenant", "from": "/tenants/bound/budgets/tokens/ceiling", "until": null })
    );
    assert_eq!(
        told["floor"],
        json!({ "value": 20, "origin": "override", "until": 4_102_444_800_000_u64,
                "from": "/tenants/bound/overrides/0/budgets/tokens/floor" })
    );
    let before = client.policy().await.unwrap();
    for (pointer, value, field) in [
        (
            "/budgets/looked_at",
            json!({ "ceiling": 5 }),
            "/tenants/bound/budgets/looked_at/ceiling",
        ),
        (
            "/budgets/tokens",
            json!({ "ceiling": 19 }),
            "/tenants/bound/overrides/0/budgets/tokens/floor",
        ),
        (
            "/budgets/tokens",
            json!({ "floor": 101 }),
            "/tenants/bound/budgets/tokens/floor",
        ),
    ] {
        let candidate = with(good.clone(), &format!("/tenants/bound{pointer}"), value);
        let candidate = match field.contains("overrides") {
            true => candidate,
            false => with(candidate, "/tenants/bound/overrides", json!([])),
        };
        let put = async || client.put_policy(&candidate, Some(&before.etag)).await;
        let problem = answered(put).await.problem().unwrap();
        assert_eq!(
            (problem.status, problem.field.as_deref()),
            (400, Some(field)),
            "{problem:?}"
        );
    }
}
