//! An agent decides what the Worker would decide, in the same words, and both share one budget.

use serde_json::{Value, json};
use weir_shared::wire::check::{DecisionBody, Reason};
use weir_tests::fixtures::{BUDGET, with};

use crate::agent::{Deployed, LONG_MS, eventually, shared};

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_and_the_worker_never_admit_more_than_the_budget_together() {
    let deployed =
        Deployed::with(|document| with(document, "/budgets/tokens", shared(300, LONG_MS))).await;
    let agent = deployed.agent().await;
    let beside = agent.client().unwrap();
    let mut admitted = 0;
    let mut last: Option<DecisionBody> = None;
    for turn in 0.. {
        let client = if turn % 3 == 0 {
            &deployed.admin
        } else {
            &beside
        };
        let decision = client
            .check_budget_once_there("pro:acme", BUDGET, 1)
            .await
            .decision;
        if !decision.allowed {
            last = Some(decision);
            break;
        }
        assert_eq!(
            (decision.region.as_str(), decision.binding.as_str()),
            ("weur", BUDGET)
        );
        assert!(decision.window.is_some() && decision.retry_after_ms == Some(0));
        admitted += 1;
        assert!(admitted <= 300);
    }
    let denied = last.unwrap();
    assert!(
        matches!(denied.reason, Reason::CapReached | Reason::OverShare),
        "{denied:?}"
    );
    assert!(denied.decision.unwrap().contains(".weur."));
    // What lies at the one that was not denied is little.
    assert!(admitted >= 250, "{admitted}");
    let never = beside
        .check_budget_once_there("pro:acme", BUDGET, 301)
        .await
        .decision;
    assert_eq!((never.reason, never.retry_after_ms), (Reason::Never, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_does_not_decide_is_refused_at_its_field() {
    let deployed = Deployed::with(|document| {
        let isolate =
            json!({ "limit": 9, "window_ms": 1_000, "sharing": "first_come", "scope": "isolate" });
        let document = with(document, "/budgets/here", isolate);
        let document = with(document, "/budgets/tokens", shared(300, LONG_MS));
        with(document, "/default_tier", Value::Null)
    })
    .await;
    let agent = deployed.agent().await;
    let client = agent.client().unwrap();
    for (body, status, field) in [
        (json!({ "limit": "per_ip", "key": "k" }), 400, "/limit"),
        (
            json!({ "tenant": "free:a", "budget": "tokens", "reserve": true }),
            400,
            "/reserve",
        ),
        (
            json!({ "tenant": "free:a", "budget": "here" }),
            400,
            "/budget",
        ),
        (
            json!({ "tenant": "free:a", "budget": "nothing" }),
            404,
            "/budget",
        ),
        (
            json!({ "tenant": "stranger", "budget": "tokens" }),
            404,
            "/tenant",
        ),
        (
            json!({ "tenant": "free:a", "budget": "tokens", "cost": -1 }),
            400,
            "/cost",
        ),
        (json!({ "budget": "tokens" }), 400, "/tenant"),
    ] {
        let reply = client.post("/v1/check", &body).await.unwrap();
        assert_eq!(reply.status, status, "{body}: {}", reply.text());
        let problem = reply.problem().unwrap();
        assert_eq!(problem.field.as_deref(), Some(field), "{body}");
    }
    let all = json!({ "tenant": "free:a", "checks": [{ "budget": "tokens", "cost": 5 }, { "budget": "nothing" }] });
    assert_eq!(client.post("/v1/check", &all).await.unwrap().status, 404);
    let whole = client
        .check_budget_once_there("free:a", "tokens", 300)
        .await;
    assert!(whole.decision.allowed, "what was refused charged nothing");
    assert_eq!(client.get("/v1/check").await.unwrap().status, 405);
    assert_eq!(client.get("/nothing").await.unwrap().status, 404);
    let plain = client
        .request(reqwest::Method::POST, "/v1/check")
        .body("{}");
    assert_eq!(client.send(plain).await.unwrap().status, 415);
    let huge = client
        .post_bytes("/v1/check", vec![b' '; 65 * 1024])
        .await
        .unwrap();
    assert_eq!(huge.status, 413);
    eventually("the deployment answers", async || {
        let metrics = client.get("/metrics").await.unwrap().text();
        metrics.contains("weir_agent_deployment_up 1\n")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_policy_reaches_an_agent_that_is_asked_nothing() {
    let deployed = Deployed::with(|document| document).await;
    let agent = deployed.agent().await;
    let before = deployed.admin.policy().await.unwrap();
    let document = with(before.document.clone(), "/budgets/more", shared(7, LONG_MS));
    let saved = deployed.admin.save_policy(&document).await.unwrap();
    let revision = saved.revision().unwrap();
    let newer = |health: &Value| health["policy_revision"] == revision;
    agent
        .await_health(newer, crate::agent::SETTLING)
        .await
        .unwrap();
    let decision = agent
        .client()
        .unwrap()
        .check_budget_once_there("free:a", "more", 7)
        .await;
    assert!(decision.decision.allowed);
}
