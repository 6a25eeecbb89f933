//! Envoy, with the configuration of `examples/envoy-ratelimit/`, before a real application and beside a real agent.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use weir_tests::again::answered;
use weir_tests::beside::AgentProcess;
use weir_tests::client::Client;
use weir_tests::clock;
use weir_tests::fixtures::with;
use weir_tests::origin::Origin;
use weir_tests::recipe::Recipe;
use weir_tests::reply::Reply;

use crate::agent::{Deployed, LONG_MS, SETTLING, described};

/// An Envoy that asks an agent, before an application.
pub(super) struct Site {
    pub(super) agent: AgentProcess,
    pub(super) application: Origin,
    pub(super) proxy: Recipe,
    client: Client,
}

impl Site {
    pub(super) async fn beside(agent: AgentProcess) -> Self {
        let application = Origin::start().await.unwrap();
        let url = application.url();
        let proxy = Recipe::envoy_ratelimit(agent.port(), url.trim_start_matches("http://"));
        let proxy = proxy.expect("envoy starts");
        Self {
            client: Client::new(proxy.url()).unwrap(),
            agent,
            application,
            proxy,
        }
    }

    pub(super) async fn get(&self, path: &str, tenant: &str) -> Reply {
        let request = self.client.request(Method::GET, path);
        let sent = self.client.send(request.header("x-tenant", tenant)).await;
        sent.unwrap()
    }

    /// The same, once the holders of the budget find each other: what is unavailable charges nothing.
    async fn get_there(&self, tenant: &str) -> Reply {
        let begin = clock::now();
        loop {
            let reply = self.get("/x", tenant).await;
            let id = reply.header("weir-decision").unwrap_or_default();
            let away = reply.status == 503 || id.contains(".unavailable.");
            if !away || begin.elapsed() > SETTLING {
                return reply;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn envoy_is_told_by_an_agent_what_passes() {
    let deployed = Deployed::with(|document| {
        let budget = |limit| json!({ "limit": limit, "window_ms": LONG_MS, "sharing": "first_come", "scope": "global" });
        let document = with(document, "/budgets/tokens", budget(5));
        with(described(document), "/default_tier", json!(null))
    })
    .await;
    let mut site = Site::beside(deployed.agent().await).await;
    for passed in 1..=5 {
        let reply = site.get_there("free:acme").await;
        assert_eq!(reply.status, 200, "{}\n{}", reply.text(), site.proxy.log());
        assert_eq!(site.application.served(), passed);
        let left = reply.header("x-ratelimit-remaining").unwrap();
        assert_eq!(left, (5 - passed).to_string());
        assert!(reply.header("x-ratelimit-limit").unwrap().starts_with('5'));
    }
    let denied = site.get_there("free:acme").await;
    assert_eq!(denied.status, 429, "{}", denied.text());
    assert_eq!(denied.header("x-ratelimit-remaining").unwrap(), "0");
    assert!(
        denied
            .header("weir-decision")
            .unwrap()
            .contains(".weur.cap_reached.budget.tokens")
    );
    assert!(
        denied
            .header("retry-after")
            .unwrap()
            .parse::<u64>()
            .unwrap()
            > 0
    );
    let id = denied.header("weir-decision").unwrap().to_owned();
    let path = format!("/operator/v1/decisions/{id}");
    let explained = answered(async || deployed.admin.get(&path).await).await;
    assert_eq!(explained.status, 200, "{}", explained.text());
    // Names that no tenant can have are over every limit, and a request that names none is not asked about.
    let long = site.get("/x", &"x".repeat(129)).await;
    assert_eq!(long.status, 429);
    assert_eq!(
        site.application.served(),
        5,
        "the application heard of none"
    );
    // Without its agent nothing passes.
    site.agent.kill_hard();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(site.get("/x", "free:acme").await.status, 503);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_table_does_not_describe_is_not_limited() {
    let deployed = Deployed::with(|document| {
        let budget = json!({ "limit": 1, "window_ms": LONG_MS, "sharing": "first_come", "scope": "global" });
        let document = with(document, "/budgets/tokens", budget);
        let rules = json!([
            { "entries": [{ "key": "tenant", "value": "dear" }], "tenant": "free:dear", "budget": "tokens", "cost": 2 },
            { "entries": [{ "key": "tenant", "value": "free" }], "tenant": "free:x", "budget": "tokens" },
        ]);
        with(document, "/descriptors", json!({ "edge": rules }))
    })
    .await;
    let site = Site::beside(deployed.agent().await).await;
    for _ in 0..3 {
        assert_eq!(
            site.get_there("stranger").await.status,
            200,
            "no rule is for it"
        );
        assert_eq!(
            site.get_there("dear").await.status,
            429,
            "a hit costs more than there is"
        );
    }
    assert_eq!(site.get_there("free").await.status, 200);
    assert_eq!(site.get_there("free").await.status, 429);
    let metrics = site
        .agent
        .client()
        .unwrap()
        .get("/metrics")
        .await
        .unwrap()
        .text();
    assert!(
        metrics.contains("weir_agent_undescribed_total 3\n"),
        "{metrics}"
    );
}
