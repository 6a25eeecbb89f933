//! A provider that has limits of its own and tells them.

use std::time::Duration;

use futures_util::future::{join, join_all};
use reqwest::Method;
use serde_json::{Value, json};
use weir_tests::clock::now;
use weir_tests::fixtures::with;
use weir_tests::origin::{Instead, Origin};

use crate::gateway::{Gateway, TENANT, route};

/// What the provider lets through.
const LIMIT: u64 = 100;
const WINDOW: Duration = Duration::from_secs(20);

/// Each of three tenants asks for more than all that there is.
const ASKED_PER_S: u64 = 6;

/// A window to learn, and two that count.
const LEARNING: Duration = WINDOW;
const ALL: Duration = Duration::from_secs(60);

/// A gateway before such a provider, whose tenants weigh 6, 2 and 1; with `listens` it hears what the provider tells.
async fn gateway(listens: bool) -> Gateway {
    let gateway = Gateway::with_policy(|document, origin| {
        let mut route = route(origin, json!([{ "overload": "models" }]));
        if listens {
            route["origin"]["limits"] = json!({ "overload": "models", "format": "openai" });
        }
        weighted(document, &route)
    })
    .await;
    gateway.origin.let_through(LIMIT, WINDOW);
    gateway
}

/// A policy with this route and such tenants.
fn weighted(document: Value, route: &Value) -> Value {
    let tenants = json!({
        "a": { "tier": "free", "weight": 6 }, "b": { "tier": "free", "weight": 2 }, "c": { "tier": "free", "weight": 1 }
    });
    let document = with(document, "/tenants", tenants);
    let document = with(document, "/overload", json!({ "models": {} }));
    with(document, "/routes", json!([route]))
}

/// A gateway whose first origin is down, so that all goes to such a provider as its second.
async fn gateway_to_second(listens: bool) -> (Gateway, Origin) {
    let second = Origin::start().await.unwrap();
    second.let_through(LIMIT, WINDOW);
    let url = second.url();
    let gateway = Gateway::with_policy(|document, origin| {
        let mut route = route(origin, json!([]));
        route["fallback"] = json!([{ "url": url, "timeout_ms": 5_000 }]);
        if listens {
            route["fallback"][0]["limits"] = json!({ "overload": "models", "format": "openai" });
        }
        weighted(document, &route)
    })
    .await;
    gateway.origin.instead(Some(Instead::Status(503)));
    (gateway, second)
}

/// What one tenant got after the time of learning.
#[derive(Debug, Default)]
struct Got {
    served: u64,
    refused: u64,
    denied: u64,
}

async fn tenant(gateway: &Gateway, name: &'static str) -> Got {
    let (start, every) = (now(), Duration::from_micros(1_000_000 / ASKED_PER_S));
    let mut asked = Vec::new();
    while start.elapsed() < ALL {
        let due = every * u32::try_from(asked.len()).unwrap();
        tokio::time::sleep(due.saturating_sub(start.elapsed())).await;
        let counts = start.elapsed() >= LEARNING;
        let request = gateway
            .client
            .request(Method::GET, "/work")
            .header(TENANT, name);
        let client = gateway.client.clone();
        asked.push(tokio::spawn(async move {
            // A connection that is kept open may end at any time.
            let reply = client.send(request).await.ok()?;
            counts.then_some(reply.status)
        }));
    }
    let mut got = Got::default();
    for status in join_all(asked).await {
        match status.unwrap() {
            None => {}
            Some(200) => got.served += 1,
            Some(429) => got.refused += 1,
            Some(503) => got.denied += 1,
            Some(other) => panic!("{name}: {other}"),
        }
    }
    got
}

fn refused(got: &[Got]) -> u64 {
    got.iter().map(|one| one.refused).sum()
}

/// What was served is most of what there was, by weight, and the provider has seldom refused one.
fn assert_shared(got: &[Got]) {
    let served: u64 = got.iter().map(|one| one.served).sum();
    assert!(served >= 160, "{served} of 200: {got:?}");
    assert!(refused(got) * 20 <= served, "{got:?}");
    for (one, weight) in got.iter().zip([6.0, 2.0, 1.0]) {
        let share = one.served as f64 / served as f64;
        assert!(
            (share - weight / 9.0).abs() < 0.08,
            "{share} for {weight}: {got:?}"
        );
        assert!(one.denied > 0, "{got:?}");
    }
}

async fn all_of(gateway: &Gateway) -> Vec<Got> {
    join_all(["a", "b", "c"].map(|name| tenant(gateway, name))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_share_what_a_provider_lets_through_by_weight_and_it_seldom_refuses_one() {
    let (with_limits, without) = join(gateway(true), gateway(false)).await;
    let (got, control) = join(all_of(&with_limits), all_of(&without)).await;
    println!("{got:?}\nwithout what it tells {control:?}");
    assert_shared(&got);
    // The control: without what it tells, it has to refuse before anything is learned.
    assert!(
        refused(&control) >= 10 + 2 * refused(&got),
        "{control:?}, with it {got:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_share_what_a_second_provider_lets_through_by_weight_once_the_first_is_down() {
    let (with_limits, without) = join(gateway_to_second(true), gateway_to_second(false)).await;
    let (got, control) = join(all_of(&with_limits.0), all_of(&without.0)).await;
    println!("{got:?}\nwithout what it tells {control:?}");
    assert_shared(&got);
    assert!(
        refused(&control) >= 10 + 2 * refused(&got),
        "{control:?}, with it {got:?}"
    );
}
