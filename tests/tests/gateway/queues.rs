//! Requests that wait in the queue of a shaper: they leave at the rate, a full queue says so, and who goes away makes room.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, with};

use crate::gateway::{Gateway, LEASE_MS, SETTLING, eventually, route};

const QUEUE_FULL: &str = "/problems/queue-full";

/// Longer than any answer that is given at once takes.
const AT_ONCE: Duration = Duration::from_millis(1_500);

/// A leaky bucket.
fn queue(rate_per_sec: f64, max_queue_ms: u64, scope: &str) -> Value {
    json!({
        "algorithm": "leaky_bucket", "rate_per_sec": rate_per_sec, "max_queue_ms": max_queue_ms, "scope": scope
    })
}

/// A gateway before whose origin everybody stands in one queue, `shape`, with these checks beside.
async fn queued(shape: Value, others: &[Value]) -> Gateway {
    let mut checks = vec![json!({ "limit": "shape", "key": { "fixed": "all" } })];
    checks.extend_from_slice(others);
    Gateway::with_policy(|document, origin| {
        let document = with(document, "/limits/shape", shape);
        with(document, "/routes", json!([route(origin, json!(checks))]))
    })
    .await
}

impl Gateway {
    /// How long the next would wait in the queue; `None` where it is full.
    async fn next_waits_ms(&self) -> Option<u64> {
        let client = self.workerd.client(0).unwrap();
        let start = now();
        let look = loop {
            match client.place("shape", "all", 0).await {
                Ok(look) => break look,
                Err(error) => assert!(start.elapsed() < SETTLING, "{error:#}"),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        look.accepted.then_some(look.delay_ms)
    }

    /// A request that is still waiting after a while, and then goes away.
    async fn waits(&self, tenant: &str) -> bool {
        let mut asked = self.asks("/x", tenant).await;
        let waits = asked.waits_for(AT_ONCE).await;
        asked.goes();
        waits
    }
}

#[tokio::test]
async fn requests_leave_at_the_rate_and_a_full_queue_is_a_problem_of_its_own() {
    for scope in ["region", "isolate"] {
        // One leaves at once; others after 4 and 8 s. All have come before a fourth would find room, after three and a half.
        let gateway = queued(queue(0.25, 8_500, scope), &[]).await;
        gateway.next_waits_ms().await;
        let start = now();
        let asked = (0..7).map(|_| async {
            let reply = gateway.get("/x", "pro:a").await;
            (start.elapsed(), reply)
        });
        let mut replies = join_all(asked).await;
        replies.sort_by_key(|(elapsed, _)| *elapsed);
        let (passed, refused): (Vec<_>, Vec<_>) =
            replies.iter().partition(|(_, reply)| reply.status == 200);
        assert_eq!(passed.len(), 3, "{scope}: {replies:?}");
        for (nth, (elapsed, _)) in passed.iter().enumerate() {
            // Clocks count whole milliseconds.
            let due = Duration::from_millis((4_000 * nth as u64).saturating_sub(2));
            assert!(*elapsed >= due, "{scope}: {nth} left after {elapsed:?}");
        }
        for (elapsed, reply) in refused {
            assert_eq!(reply.status, 429, "{scope}");
            assert!(*elapsed < Duration::from_secs(8), "{scope}: {elapsed:?}");
            let problem = reply.problem().unwrap();
            assert_eq!(problem.kind, QUEUE_FULL, "{scope}");
            assert!(problem.detail.contains("shape"), "{problem:?}");
            let after_ms = problem.retry_after_ms.unwrap();
            assert!((1..=3_500).contains(&after_ms), "{scope}: {after_ms}");
            let after_s = after_ms.div_ceil(1_000).to_string();
            assert_eq!(reply.header("retry-after"), Some(&*after_s), "{scope}");
            let told = reply.header("ratelimit").unwrap();
            assert!(told.starts_with("\"shape\";r=0"), "{told}");
        }
        assert_eq!(gateway.origin.served(), 3, "{scope}");
    }
}

#[tokio::test]
async fn without_a_queue_a_request_leaves_or_is_refused_at_once() {
    let gateway = queued(queue(0.01, 0, "region"), &[]).await;
    assert_eq!(gateway.get("/x", "pro:a").await.status, 200);
    let refused = gateway.get("/x", "pro:a").await;
    assert_eq!(refused.status, 429);
    let problem = refused.problem().unwrap();
    assert_eq!(problem.kind, QUEUE_FULL);
    let after_ms = problem.retry_after_ms.unwrap();
    assert!((90_000..=100_000).contains(&after_ms), "{after_ms}");
}

#[tokio::test]
async fn a_client_that_goes_away_while_it_waits_frees_its_place() {
    for scope in ["region", "isolate"] {
        // 100 s each: one leaves, two wait.
        let gateway = queued(queue(0.01, 250_000, scope), &[]).await;
        assert_eq!(gateway.get("/x", "pro:a").await.status, 200);
        assert!(gateway.waits("pro:a").await, "{scope}");
        eventually("the end of the queue is back", async || {
            gateway
                .next_waits_ms()
                .await
                .is_some_and(|ms| ms <= 100_000)
        })
        .await;
        // The one in the middle goes, the one behind it stays.
        let mut first = gateway.asks("/x", "pro:a").await;
        assert!(first.waits_for(AT_ONCE).await, "{scope}");
        let mut second = gateway.asks("/x", "pro:b").await;
        assert!(second.waits_for(AT_ONCE).await, "{scope}");
        eventually("both wait", async || {
            gateway.next_waits_ms().await.is_none()
        })
        .await;
        assert_eq!(gateway.get("/x", "pro:c").await.status, 429, "{scope}");
        first.goes();
        eventually("the place in the middle is free", async || {
            gateway
                .next_waits_ms()
                .await
                .is_some_and(|ms| ms <= 100_000)
        })
        .await;
        assert!(gateway.waits("pro:c").await, "{scope}");
        second.goes();
        eventually("the queue is empty", async || gateway.waits("pro:d").await).await;
        assert_eq!(gateway.origin.served(), 1, "{scope}: nobody else has left");
    }
}

#[tokio::test]
async fn who_goes_away_gives_back_what_was_reserved_and_its_slot() {
    let reserved =
        json!({ "budget": BUDGET, "cost": { "response_header": "x-tokens-used", "reserve": 10 } });
    let shape = queue(0.01, 250_000, "region");
    let checks = [reserved, json!({ "guard": "calls" })];
    let gateway = Gateway::with_policy(|document, origin| {
        let document = with(document, "/limits/shape", shape);
        let guard = json!({ "concurrency": 1, "per_minute": "unlimited", "lease_ms": LEASE_MS });
        let document = with(document, "/guards", json!({ "calls": guard }));
        let mut all = vec![json!({ "limit": "shape", "key": { "fixed": "all" } })];
        all.extend(checks);
        with(document, "/routes", json!([route(origin, json!(all))]))
    })
    .await;
    assert_eq!(gateway.get("/x?used=10", "pro:a").await.status, 200);
    gateway.await_left(BUDGET, "pro:a", 990).await;
    let mut waiting = gateway.asks("/x", "pro:a").await;
    // Two leases long: the slot is renewed while the request waits.
    let two_leases = Duration::from_millis(2 * LEASE_MS + 500);
    assert!(waiting.waits_for(two_leases).await);
    gateway.await_left(BUDGET, "pro:a", 980).await;
    let denied = gateway.get("/x", "pro:a").await;
    assert_eq!(
        denied.problem().unwrap().detail,
        "As many calls of calls are running as may."
    );
    waiting.goes();
    gateway.await_left(BUDGET, "pro:a", 990).await;
    eventually("the slot is free", async || gateway.waits("pro:a").await).await;
    assert_eq!(gateway.origin.served(), 1);
}

#[tokio::test]
async fn a_wait_that_is_longer_than_a_timer_does_not_end_at_once() {
    // One unit in 30 days: a timer of that length fires at once.
    let gateway = queued(queue(0.000_000_385_802_5, 3_000_000_000, "region"), &[]).await;
    assert_eq!(gateway.get("/x", "pro:a").await.status, 200);
    let waits_ms = gateway.next_waits_ms().await.unwrap();
    assert!(waits_ms > i32::MAX as u64, "{waits_ms}");
    assert!(gateway.waits("pro:a").await);
}

#[tokio::test]
async fn what_is_only_tried_out_delays_nobody() {
    let mut shape = queue(0.01, 0, "region");
    shape["shadow"] = json!(true);
    let gateway = queued(shape, &[]).await;
    for _ in 0..3 {
        assert_eq!(gateway.get("/x", "pro:a").await.status, 200, "a limit");
    }
    let gateway = Gateway::with_policy(|document, origin| {
        let document = with(document, "/limits/shape", queue(0.01, 250_000, "region"));
        let checks = json!([{ "limit": "shape", "key": "tenant" }]);
        let route = with(route(origin, checks), "/shadow", json!(true));
        with(document, "/routes", json!([route]))
    })
    .await;
    for _ in 0..3 {
        assert_eq!(gateway.get("/x", "pro:a").await.status, 200, "a route");
    }
}

#[tokio::test]
async fn a_proxy_that_asks_is_answered_when_the_turn_has_come() {
    // One waits for five seconds; another one would for almost ten.
    let gateway = queued(queue(0.2, 5_500, "region"), &[]).await;
    let operator = gateway.workerd.client(0).unwrap();
    let ask = || {
        let asked = operator.request(Method::GET, "/v1/authorize");
        let asked = asked
            .header("x-forwarded-uri", "/x")
            .header("x-tenant", "pro:a");
        gateway.send(asked)
    };
    let start = now();
    assert_eq!(ask().await.status, 200);
    assert_eq!(ask().await.status, 200);
    assert!(start.elapsed() >= Duration::from_millis(4_998));
    let held = ask();
    let (held, refused) = tokio::join!(held, async {
        eventually("the other one waits", async || {
            gateway.next_waits_ms().await.is_none()
        })
        .await;
        ask().await
    });
    assert_eq!(held.status, 200);
    assert_eq!(
        (refused.status, refused.problem().unwrap().kind.as_str()),
        (429, QUEUE_FULL)
    );
    assert!(start.elapsed() < Duration::from_secs(30));
}
