//! What an agent claims widens no budget, no share and no account, and it speaks for nobody else.

use serde_json::{Value, json};
use weir_shared::limits::AGENT_CONTACT_BYTES_MAX;
use weir_shared::wire::role::Role;
use weir_tests::again::answered;
use weir_tests::client::Client;
use weir_tests::fixtures::{BUDGET, token_request, with};
use weir_tests::reply::Reply;

use crate::agent::{CONTACT, Deployed, LONG_MS, eventually, shared};

/// A contact with one message on a budget, which claims what it likes.
fn contact(agent: u64, sequence: u64, waiting: u64) -> Value {
    json!({
        "v": 2, "agent": agent, "region": "weur", "revision": 9_000_000,
        "exchanges": [{
            "v": 2, "budget": "tokens", "holder": 1, "incarnation": 1, "sequence": sequence, "seen": null,
            "window": null, "returns": [], "denied": 0,
            "terms": {
                "limit": 1_000_000, "window_ms": 1_000, "revision": 8_000_000, "standing": 16,
                "sharing": { "rule": "none", "tenants_max": 9, "unknown_weight_max": 1_000_000_000 },
            },
            "wants": [{
                "tenant": "free:acme", "waiting": waiting, "smallest": 1, "expected": 0,
                "rank": {
                    "weight": 1_000_000_000_000_u64, "known": true, "floor": 300, "floor_by_name": true,
                    "revision": 8_000_000,
                },
            }],
        }],
    })
}

/// Says it, again where a busy machine had no answer in time: a message of the same number is a repetition.
async fn say(client: &Client, body: &Value) -> Reply {
    answered(async || client.post(CONTACT, body).await).await
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_terms_claims_and_holders_change_nothing() {
    let deployed = Deployed::with(|document| {
        let document = with(
            document,
            "/tiers/free/budgets",
            json!({ "tokens": { "ceiling": 40 } }),
        );
        with(document, "/budgets/tokens", shared(300, LONG_MS))
    })
    .await;
    let agent = deployed.admin.with_token(&deployed.token);
    // The ceiling of its tier is 40, whatever it claims.
    let reply = say(&agent, &contact(7, 1, 300)).await;
    let told: Value = reply.ok().unwrap();
    let window = &told["exchanges"][0]["reply"];
    assert_eq!(window["window"]["limit"], 300, "{told}");
    let granted = window["grants"][0]["units"].as_u64().unwrap();
    assert!(granted <= 40, "{told}");
    assert!(told.get("access").is_none(), "{told}");
    // Another token with the same number is another holder: its first message is no repetition of that one.
    let other = deployed
        .admin
        .make_token(&token_request("other", Role::Agent))
        .await
        .unwrap();
    let other = deployed.admin.with_token(&other.token);
    let told: Value = say(&other, &contact(7, 1, 300)).await.ok().unwrap();
    let more = told["exchanges"][0]["reply"]["grants"][0]["units"]
        .as_u64()
        .unwrap();
    assert!(granted + more <= 40, "{told}");
    // And who knows the number of an isolate's holder does not speak for it: the Worker goes on.
    let decision = deployed
        .admin
        .check_budget_once_there("pro:acme", BUDGET, 100)
        .await
        .decision;
    assert!(decision.allowed && decision.limit <= 300, "{decision:?}");
    let policy = deployed.admin.policy().await.unwrap();
    assert_eq!(policy.document["budgets"]["tokens"]["limit"], 300);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_agent_may_say_is_refused_at_its_field_or_left_out() {
    let deployed =
        Deployed::with(|document| with(document, "/budgets/tokens", shared(300, LONG_MS))).await;
    let agent = deployed.admin.with_token(&deployed.token);
    let mut many = contact(7, 1, 1);
    many["exchanges"] = json!(vec![many["exchanges"][0].clone(); 257]);
    for (body, field) in [
        (with(contact(7, 1, 1), "/v", json!(9)), "/v"),
        (
            with(contact(7, 1, 1), "/region", json!("nowhere")),
            "/region",
        ),
        (
            with(
                contact(7, 1, 1),
                "/exchanges/0/budget",
                json!("per_ip\u{1}k"),
            ),
            "/exchanges/0/budget",
        ),
        (many, "/exchanges"),
    ] {
        let reply = say(&agent, &body).await;
        assert_eq!(reply.status, 400, "{}", reply.text());
        assert_eq!(reply.problem().unwrap().field.as_deref(), Some(field));
    }
    // The length that is said is enough: who writes so long a body meanwhile may find the connection closed.
    let length = AGENT_CONTACT_BYTES_MAX + 1;
    let head = format!(
        "POST {CONTACT} HTTP/1.1\r\nHost: weir\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n",
        deployed.token
    );
    let answer = agent.send_raw(head.as_bytes()).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    // Messages on budgets that there are not are answered in their places.
    let mut two = contact(7, 2, 1);
    let unknown = with(two["exchanges"][0].clone(), "/budget", json!("nothing"));
    two["exchanges"] = json!([unknown, two["exchanges"][0]]);
    let told: Value = say(&agent, &two).await.ok().unwrap();
    assert_eq!(told["exchanges"][0]["refused"], "unknown_budget", "{told}");
    assert!(told["exchanges"][1]["reply"].is_object(), "{told}");
    // Counters of what is no budget, and of tenants that there cannot be, are counted nowhere.
    let tally = json!({ "admitted_calls": 1, "admitted_units": 5 });
    let counters = json!({
        "free:honest": { "budgets": { "tokens": tally, "invented": tally }, "limits": { "per_ip": tally } },
        "line\nbreak": { "budgets": { "tokens": tally } },
        "free:nobody": { "meters": { "bytes": tally } },
    });
    let frame = json!({
        "v": 2, "sender": 1, "incarnation": 1, "sequence": 1, "receiver": 0, "again": false, "counters": counters,
        "usage": { "region_calls": 1_000_000 },
    });
    let body = json!({ "v": 2, "agent": 7, "region": "weur", "revision": 0, "exchanges": [], "frame": frame });
    let told: Value = say(&agent, &body).await.ok().unwrap();
    assert_eq!(told["frame"]["counted"], true, "{told}");
    let policy = &told["policy"]["document"];
    assert_eq!(policy["budgets"]["tokens"]["limit"], 300);
    assert!(
        told["policy"].get("placement").is_none(),
        "the secret of shards stays"
    );
    eventually("what is honest is counted", async || {
        let Ok(fairness) = deployed.admin.fairness().await else {
            return false;
        };
        let names: Vec<_> = fairness
            .tenants
            .iter()
            .map(|one| one.tenant.as_str())
            .collect();
        assert!(
            !names
                .iter()
                .any(|name| name.contains("nobody") || name.contains("line")),
            "{names:?}"
        );
        let honest = fairness
            .tenants
            .iter()
            .find(|one| one.tenant == "free:honest");
        honest.is_some_and(|honest| {
            assert!(
                honest.limits.is_empty() && honest.budgets.len() == 1,
                "{honest:?}"
            );
            honest.total.admitted_units.0 == 5
        })
    })
    .await;
}
