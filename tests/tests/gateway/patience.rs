//! Requests that wait for a budget in place of a denial.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;
use weir_tests::clock::{epoch_ms, now};
use weir_tests::fixtures::{BUDGET, with};
use weir_tests::reply::Reply;
use weir_tests::workerd::Setup;

use crate::gateway::{Gateway, LONG_MS, eventually, route};

/// The budget's window where a dozen requests, or seventy, have to come within one.
const LONGER_MS: u64 = 6_000;

/// Where something has to be so before the next one, and how long requests wait that would have to wait for two.
const SHORT_MS: u64 = 6_000;
const SHORT_WAIT_MS: u64 = 9_000;

/// A gateway of one isolate whose budget has so many units in a window, and for which requests wait.
async fn patient((limit, window_ms): (u64, u64), cost: Value, wait_ms: u64) -> Gateway {
    Gateway::of(Setup::isolates(&["weur"]), |document, origin| {
        let document = with(document, "/budgets/tokens/limit", json!(limit));
        let document = with(document, "/budgets/tokens/window_ms", json!(window_ms));
        let waits = json!({ "budget": BUDGET, "cost": cost, "wait_ms": wait_ms });
        let quick = json!({ "budget": BUDGET, "cost": cost });
        let mut routes = [route(origin, json!([quick])), route(origin, json!([waits]))];
        (routes[0]["name"], routes[0]["path"]) = (json!("quick"), json!("/quick"));
        with(document, "/routes", json!(routes))
    })
    .await
}

/// The answer, and how long it took.
async fn timed(gateway: &Gateway, tenant: &str, start: Instant) -> (Reply, Duration) {
    let reply = gateway.get("/x", tenant).await;
    (reply, start.elapsed())
}

/// Waits until a window has just begun, and returns the instant at which it began.
async fn window_begins(window_ms: u64) -> Instant {
    loop {
        sleep(Duration::from_millis(
            window_ms - epoch_ms() % window_ms + 50,
        ))
        .await;
        let into_ms = epoch_ms() % window_ms;
        // A busy machine may sleep for longer.
        if into_ms < window_ms / 8 {
            return now() - Duration::from_millis(into_ms);
        }
    }
}

#[tokio::test]
async fn what_would_be_denied_waits_for_the_next_window_and_counts_as_admitted_alone() {
    let gateway = patient((5, LONGER_MS), json!(1), 30_000).await;
    gateway.get("/x", "pro:a").await;
    let start = window_begins(LONGER_MS).await;
    let asked = (0..12).map(|_| timed(&gateway, "pro:a", start));
    let replies = join_all(asked).await;
    let mut times: Vec<_> = replies.iter().map(|(_, time)| *time).collect();
    for (reply, _) in &replies {
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(reply.header("retry-after"), None);
    }
    times.sort();
    // Five in each window: whoever has to wait does until the next one, but for the 250 ms that it may open early, and what is
    // lost to whole milliseconds.
    let window = Duration::from_millis(LONGER_MS);
    let early = Duration::from_millis(252);
    assert!(times[5] >= window - early, "{times:?}");
    assert!(times[10] >= 2 * window - early, "{times:?}");
    assert!(times[11] < 3 * window, "{times:?}");
    let admin = gateway.workerd.client(0).unwrap();
    eventually("all are counted", async || {
        let tenants = admin.fairness().await.unwrap().tenants;
        let of_a = tenants.iter().find(|report| report.tenant == "pro:a");
        of_a.is_some_and(|report| {
            let total = &report.total;
            assert_eq!(total.denied_calls.0, 0, "a wait is no denial");
            total.admitted_calls.0 == 13
        })
    })
    .await;
}

#[tokio::test]
async fn a_wait_that_could_not_end_in_time_is_a_denial_at_once() {
    let gateway = patient(
        (5, LONG_MS),
        json!({ "header": "x-cost", "max": 9 }),
        20_000,
    )
    .await;
    let ask = async |cost: u64| {
        let request = gateway.request(Method::GET, "/x", "pro:a");
        let start = now();
        let reply = gateway.send(request.header("x-cost", cost)).await;
        assert!(start.elapsed() < Duration::from_secs(15));
        reply
    };
    let never = ask(6).await;
    let problem = never.problem().unwrap();
    assert_eq!((problem.status, problem.retry_after_ms), (429, None));
    assert_eq!(ask(5).await.status, 200);
    let denied = ask(1).await;
    let problem = denied.problem().unwrap();
    assert_eq!(problem.status, 429);
    assert!(problem.retry_after_ms > Some(20_000), "{problem:?}");
    let after_s: u64 = denied.header("retry-after").unwrap().parse().unwrap();
    assert_eq!(
        Some(after_s),
        problem.retry_after_ms.map(|ms| ms.div_ceil(1_000))
    );
}

#[tokio::test]
async fn whoever_is_still_short_when_the_time_is_over_is_denied_then_and_counted_once() {
    // What costs four of five leaves none for another in the same window.
    let gateway = patient((5, SHORT_MS), json!(4), SHORT_WAIT_MS).await;
    gateway.get("/x", "pro:a").await;
    let start = window_begins(SHORT_MS).await;
    let replies = join_all((0..4).map(|_| timed(&gateway, "pro:a", start))).await;
    let (passed, denied): (Vec<_>, Vec<_>) =
        replies.iter().partition(|(reply, _)| reply.status == 200);
    assert_eq!(passed.len(), 2, "{replies:?}");
    for (reply, time) in denied {
        assert_eq!(reply.status, 429);
        // As soon as it is known that no window opens in time, which is before the time is over.
        assert!(*time < Duration::from_millis(SHORT_WAIT_MS), "{time:?}");
        let after_ms = reply.problem().unwrap().retry_after_ms.unwrap();
        assert!((1..=SHORT_MS).contains(&after_ms), "{after_ms}");
    }
    let admin = gateway.workerd.client(0).unwrap();
    eventually("each is counted once", async || {
        let tenants = admin.fairness().await.unwrap().tenants;
        let of_a = tenants.iter().find(|report| report.tenant == "pro:a");
        let counted =
            of_a.map(|report| (report.total.admitted_calls.0, report.total.denied_calls.0));
        counted == Some((3, 2))
    })
    .await;
}

/// How often it is tried: where the machine stands still as a window opens, one of those who wait comes too late for it.
const TRIES: u32 = 3;

#[tokio::test]
async fn tenants_that_wait_are_admitted_by_what_they_have_used_not_by_arrival() {
    let window = Duration::from_millis(LONGER_MS);
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let (noisy, modest) = sixty_and_ten().await;
        assert!(noisy > 3 * window - Duration::from_millis(300), "{noisy:?}");
        // In the second window, before the forty of the noisy one that came first; by arrival it would be the fourth.
        if modest < 2 * window - Duration::from_millis(500) {
            return;
        }
        seen.push(modest);
    }
    panic!("{seen:?}");
}

/// When the last of sixty requests of one tenant passes, and the last of ten that ten others send thereafter.
async fn sixty_and_ten() -> (Duration, Duration) {
    let gateway = patient((20, LONGER_MS), json!(1), 30_000).await;
    gateway.get("/x", "pro:noisy").await;
    let start = window_begins(LONGER_MS).await;
    let noisy = join_all((0..60).map(|_| timed(&gateway, "pro:noisy", start)));
    let modest = async {
        // All sixty have come.
        sleep(Duration::from_millis(700)).await;
        let names: Vec<_> = (0..10).map(|number| format!("pro:{number}")).collect();
        join_all(names.iter().map(|name| timed(&gateway, name, start))).await
    };
    let (noisy, modest) = tokio::join!(noisy, modest);
    let last = |replies: &[(Reply, Duration)]| {
        for (reply, _) in replies {
            assert_eq!(reply.status, 200, "{}", reply.text());
        }
        replies.iter().map(|(_, time)| *time).max().unwrap()
    };
    (last(&noisy), last(&modest))
}

#[tokio::test]
async fn a_client_that_goes_away_while_it_waits_is_charged_nothing() {
    let gateway = patient((5, SHORT_MS), json!(5), 20_000).await;
    gateway.get("/x", "pro:a").await;
    let begin = window_begins(SHORT_MS).await;
    assert_eq!(gateway.get("/x", "pro:a").await.status, 200);
    let mut waits = gateway.asks("/x", "pro:a").await;
    assert!(waits.waits_for(Duration::from_millis(500)).await);
    waits.goes();
    assert_eq!(gateway.get("/x", "pro:b").await.status, 200);
    // Had it been charged, this one would have had to wait for the window after.
    assert!(begin.elapsed() < Duration::from_millis(2 * SHORT_MS - 300));
    assert_eq!(gateway.origin.served(), 3);
}

#[tokio::test]
async fn a_route_without_a_wait_denies_as_before() {
    let gateway = patient((1, LONG_MS), json!(1), 20_000).await;
    assert_eq!(gateway.get("/quick", "pro:a").await.status, 200);
    let start = now();
    assert_eq!(gateway.get("/quick", "pro:a").await.status, 429);
    // A wait would be 20 s.
    assert!(start.elapsed() < Duration::from_secs(15));
}
