//! An agent whose token is revoked says so, and spends what it holds and nothing more.

use reqwest::Method;
use serde_json::Value;
use weir_shared::wire::check::Reason;
use weir_tests::again::answered;
use weir_tests::fixtures::BUDGET;

use crate::agent::{Deployed, SETTLING};
use weir_tests::beside::AgentProcess;

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_is_told_and_leases_run_out() {
    let deployed = Deployed::with(|document| document).await;
    let agent = deployed.agent().await;
    let client = agent.client().unwrap();
    assert!(
        client
            .check_budget_once_there("pro:acme", BUDGET, 1)
            .await
            .decision
            .allowed
    );
    let path = format!("/operator/v1/tokens/{}", deployed.id);
    let revoke = async || {
        let revoke = deployed.admin.request(Method::DELETE, &path);
        deployed.admin.send(revoke).await
    };
    // What was not answered in time may have been done: then it is gone.
    let status = answered(revoke).await.status;
    assert!([204, 404].contains(&status), "{status}");
    let refused = |health: &Value| health["deployment"] == "refused" && health["status"] == "ok";
    agent.await_health(refused, SETTLING).await.unwrap();
    let metrics = client.get("/metrics").await.unwrap().text();
    assert!(
        metrics.contains("weir_agent_deployment_up 0\n"),
        "{metrics}"
    );
    assert!(agent.log().contains("refuses the token"), "{}", agent.log());
    let mut admitted = 1;
    let denied = loop {
        let decision = client
            .check_budget("pro:acme", BUDGET, 1)
            .await
            .unwrap()
            .decision;
        if !decision.allowed {
            break decision;
        }
        admitted += 1;
        assert!(admitted < 1_000, "an agent without a token leases nothing");
    };
    assert_eq!(denied.reason, Reason::Unavailable);
    let other = AgentProcess::begin(deployed.admin.origin(), "weir_wrong", None).unwrap();
    let starting =
        |health: &Value| health["status"] == "starting" && health["deployment"] == "refused";
    other.await_health(starting, SETTLING).await.unwrap();
    let asked = other
        .client()
        .unwrap()
        .check_budget("pro:acme", BUDGET, 1)
        .await;
    assert!(asked.is_err(), "nobody decides without a policy");
}
