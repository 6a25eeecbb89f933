//! The stores of express-rate-limit and hono-rate-limiter, in front of real applications.

use serde_json::{Value, json};

use super::Package;
use crate::clients::lost::visits_go_on_while_weir_is_killed_in_the_middle;
use crate::clients::{Deployed, left, run};

/// One visit, as the limiter tells it.
fn visit(status: u16, remaining: u64) -> Value {
    json!({ "status": status, "remaining": remaining, "again": status == 429 })
}

/// The same promises of both, with a limit of five.
async fn keeps_its_promises(script: &str) {
    let (deployed, mut told) = run(&Package::built(), script, Deployed::start).await;
    let admitted = (0..5).rev().map(|remaining| visit(200, remaining));
    let ann: Vec<_> = admitted.chain([visit(429, 0), visit(429, 0)]).collect();
    assert_eq!(told["ann"], json!(ann));
    assert_eq!(told["bob"], json!([visit(200, 4)]), "keys are apart");
    // Failures are given back.
    assert_eq!(told["bad"], json!(vec![400; 10]));
    assert_eq!(told["good"], json!([200, 200, 200, 200, 200, 429, 429]));
    // A question instead of a limit's name, and a limiter whose own limit depends on the request: 400 twice of 1,000.
    assert_eq!(told["budget"], json!([200, 200, 429]));
    assert_eq!(left(&deployed.client).await, 200);
    assert_eq!(
        told["gone"].take(),
        json!([429, 429]),
        "closed while Weir is out of reach"
    );
    assert!(told["looked"].as_u64() >= Some(5), "{}", told["looked"]);
    assert!(
        told["reset"]
            .as_str()
            .is_some_and(|why| why.contains("/operator/v1/reset"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn express_rate_limit_asks_weir() {
    keeps_its_promises("express").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hono_rate_limiter_asks_weir() {
    keeps_its_promises("hono").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn visits_behind_express_rate_limit_go_on_while_weir_is_killed() {
    visits_go_on_while_weir_is_killed_in_the_middle(&Package::built(), "express-killed", 429).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn visits_behind_hono_rate_limiter_go_on_while_weir_is_killed() {
    visits_go_on_while_weir_is_killed_in_the_middle(&Package::built(), "hono-killed", 429).await;
}
