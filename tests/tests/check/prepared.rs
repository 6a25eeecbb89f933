//! Questions that come again in the same words: the isolate decides them by number, and nobody can tell.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use weir_shared::limits::{CALL_MS_MAX, COORDINATOR_CALL_MS_MAX, PREPARED_MAX};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;
use weir_shared::wire::role::Role;
use weir_tests::client::Client;
use weir_tests::clock::{epoch_ms, now};
use weir_tests::fixtures::{BUDGET, policy, token_request, with};
use weir_tests::reply::Reply;
use weir_tests::workerd::Setup;

use crate::check::{LONG_MS, deployment};

/// From the second time on a question is prepared, from the third on it is asked by number.
const TIMES: usize = 5;

/// A change of tokens or of the policy is in force everywhere within a second, on a busy machine later.
const IN_FORCE: Duration = Duration::from_secs(10);

fn question(tenant: &str, cost: u64) -> Value {
    json!({ "tenant": tenant, "budget": BUDGET, "cost": cost })
}

/// The answer, once the holders answer: on a busy machine they may be out of reach for a moment.
async fn ask(client: &Client, question: &Value) -> Reply {
    let begun = now();
    loop {
        let reply = client.post("/v1/check", question).await.unwrap();
        let body = reply.json::<Value>().unwrap_or_default();
        if body["reason"] != "unavailable" || begun.elapsed() > IN_FORCE {
            return reply;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The answer that comes by another way, on which nothing is prepared: it asks of the same in other words.
async fn ask_at_length(client: &Client, tenant: &str, cost: u64) -> Reply {
    let long = json!({ "tenant": tenant, "checks": [{ "budget": BUDGET, "cost": cost }] });
    ask(client, &long).await
}

/// A text with `#` for each run of digits.
fn without_numbers(text: &str) -> String {
    let mut shown = String::new();
    for letter in text.chars() {
        match letter.is_ascii_digit() {
            false => shown.push(letter),
            true if shown.ends_with('#') => {}
            true => shown.push('#'),
        }
    }
    shown
}

/// Everything of a reply but the value of numbers.
fn form(reply: &Reply) -> (u16, String, OrderedMap<String, String>) {
    let headers = reply.headers.iter().filter(|(name, _)| *name != "date");
    let headers = headers.map(|(name, value)| {
        let value = without_numbers(value.to_str().unwrap());
        (name.to_string(), value)
    });
    let body = String::from_utf8(reply.body.clone()).unwrap();
    (reply.status, without_numbers(&body), headers.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_by_number_has_the_form_and_the_numbers_of_any_other() {
    const LIMIT: u64 = 600;
    const RESETS_APART_MS: u64 = 100 + CALL_MS_MAX + COORDINATOR_CALL_MS_MAX;
    let shared = json!("weighted_fair_escrow");
    let document = with(policy(LIMIT, LONG_MS), "/budgets/tokens/sharing", shared);
    // Whoever asks at once for all that is its own gets it, however fast it asks.
    let document = with(document, "/budgets/tokens/reserve", json!("pinned"));
    let (workerd, revision) = deployment(Setup::isolates(&["weur"]), document).await;
    let client = workerd.client(0).unwrap();
    let mut spent = 0;
    for round in 0..40 {
        for (tenant, cost) in [("pro:a", 3), ("pro:b", 4), ("pro:b", 5)] {
            let again = ask(&client, &question(tenant, cost)).await;
            let decision: Value = again.ok().unwrap();
            spent += cost * u64::from(decision["allowed"] == true);
            assert_eq!(decision["policy_revision"], revision, "{decision}");
            let other = ask_at_length(&client, tenant, cost).await;
            let by_length: Value = other.ok().unwrap();
            spent += cost * u64::from(by_length["allowed"] == true);
            // The moment in which the window is used up lies between two answers once.
            if decision["allowed"] == by_length["allowed"] {
                assert_eq!(form(&again), form(&other), "round {round}, {tenant} {cost}");
                assert_eq!(decision["window"], by_length["window"]);
                let resets = [&decision, &by_length].map(|body| body["reset_at"].as_u64().unwrap());
                // Clocks of an isolate and its region agree to some milliseconds, and the end of what was lent is counted
                // from when it was asked for.
                assert!(
                    resets[0].abs_diff(resets[1]) < RESETS_APART_MS,
                    "{resets:?}"
                );
            }
        }
    }
    assert!(spent <= LIMIT, "{spent} of {LIMIT}");
    // All that one asked for, which is less than its half, and the half of the other.
    assert!(spent + 5 >= 40 * 2 * 3 + LIMIT / 2, "{spent} of {LIMIT}");
    let denied = ask(&client, &question("pro:b", 5)).await;
    assert_eq!(denied.ok::<Value>().unwrap()["allowed"], false);
    let after_s = denied
        .header("retry-after")
        .unwrap()
        .parse::<u64>()
        .unwrap();
    assert!(after_s > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_the_policy_is_in_force_for_what_is_prepared() {
    let (workerd, revision) = deployment(Setup::isolates(&["weur"]), policy(1_000, LONG_MS)).await;
    let client = workerd.client(0).unwrap();
    for _ in 0..TIMES {
        let decision: Value = ask(&client, &question("pro:a", 2)).await.ok().unwrap();
        assert_eq!(decision["policy_revision"], revision);
    }
    let newer = workerd.apply(&policy(700, LONG_MS)).await.unwrap();
    for _ in 0..TIMES {
        let decision: Value = ask(&client, &question("pro:a", 2)).await.ok().unwrap();
        assert_eq!(decision["policy_revision"], newer.revision().unwrap());
        assert_eq!(decision["limit"], 700, "{decision}");
    }
    let gone = with(policy(700, LONG_MS), "/budgets", json!({}));
    workerd
        .apply(&with(
            gone,
            "/budgets/other",
            policy(9, LONG_MS)["budgets"][BUDGET].clone(),
        ))
        .await
        .unwrap();
    let refused = ask(&client, &question("pro:a", 2)).await;
    assert_eq!(
        refused.status,
        404,
        "{}",
        String::from_utf8_lossy(&refused.body)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_was_revoked_or_has_expired_decides_nothing() {
    let (workerd, _) = deployment(Setup::isolates(&["weur"]), policy(100_000, LONG_MS)).await;
    let admin = workerd.client(0).unwrap();
    let made = admin
        .make_token(&token_request("gateway", Role::Service))
        .await
        .unwrap();
    let gateway = admin.with_token(&made.token);
    await_known(&gateway).await;
    for _ in 0..TIMES {
        assert_eq!(ask(&gateway, &question("pro:a", 2)).await.status, 200);
    }
    let path = format!("/operator/v1/tokens/{}", made.view.id);
    let revoked = admin
        .send(admin.request(Method::DELETE, &path))
        .await
        .unwrap();
    assert_eq!(revoked.status, 204);
    assert_refused_soon(&gateway).await;

    let mut short = token_request("short", Role::Service);
    short.expires_at = Some(EpochMs(epoch_ms() + 3_000));
    let made = admin.make_token(&short).await.unwrap();
    let short = admin.with_token(&made.token);
    assert_refused_soon(&short).await;
    // Who else asks the same is not concerned.
    assert_eq!(ask(&admin, &question("pro:a", 2)).await.status, 200);
}

/// Waits until a new token decides: on a busy machine its region may hear of it late.
async fn await_known(client: &Client) {
    let begun = now();
    while ask(client, &question("pro:a", 2)).await.status != 200 {
        assert!(begun.elapsed() < IN_FORCE, "the token is not known");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Asks the same until it is refused, and then never answers again.
async fn assert_refused_soon(client: &Client) {
    let begun = now();
    while ask(client, &question("pro:a", 2)).await.status != 401 {
        assert!(begun.elapsed() < IN_FORCE, "it still decides");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for _ in 0..TIMES {
        assert_eq!(ask(client, &question("pro:a", 2)).await.status, 401);
    }
}

/// More questions than are kept: each is charged to whom it names, also while all that is kept is dropped.
#[tokio::test(flavor = "multi_thread")]
async fn any_number_of_questions_is_charged_to_those_who_ask() {
    const LIMIT: u64 = 1_000_000_000;
    let tenants = PREPARED_MAX + PREPARED_MAX / 8;
    let (workerd, _) = deployment(Setup::isolates(&["weur"]), policy(LIMIT, LONG_MS)).await;
    let client = workerd.client(0).unwrap();
    let spent = |index: usize| 1 + index as u64 % 7;
    for _ in 0..3 {
        for first in (0..tenants).step_by(64) {
            let asked = (first..tenants.min(first + 64)).map(async |index| {
                let question = question(&format!("pro:{index}"), spent(index));
                let decision: Value = ask(&client, &question).await.ok().unwrap();
                assert_eq!(decision["allowed"], true, "{decision}");
            });
            join_all(asked).await;
        }
    }
    let expected: u64 = (0..tenants).map(|index| 3 * spent(index)).sum();
    // What was charged for an answer that came too late is back a little later.
    let begun = now();
    loop {
        let last: Value = ask(&client, &question("pro:last", 0)).await.ok().unwrap();
        if last["remaining"] == LIMIT - expected {
            return;
        }
        assert!(
            begun.elapsed() < IN_FORCE,
            "{last}, not {}",
            LIMIT - expected
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
