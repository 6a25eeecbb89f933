//! An origin of eight slots, one tenant that sends fifty requests at once and ten that send one each.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;
use tokio::time::sleep;
use weir_tests::clock::now;
use weir_tests::fixtures::with;
use weir_tests::origin::{Beyond, Origin, Served};
use weir_tests::tempo::Tempo;
use weir_tests::watch::{Stood, Watch};
use weir_tests::workerd::Setup;

use crate::gateway::{Gateway, SETTLING, route};

const SLOTS: usize = 8;
const NOISY: usize = 50;
const MODEST: usize = 10;

/// How long the origin works on a request, in the middle: on one of the fifty up to 300 ms less or more, so that its slots do
/// not all come free at once.
const SERVICE: Duration = Duration::from_millis(1_000);

/// For how long a request waits for its answer: a dozen services, each stretched.
const LONGEST: Duration = Duration::from_secs(60);

/// When the first of the ten comes, and after how long the next one does.
const FIRST: Duration = Duration::from_millis(600);
const NEXT: Duration = Duration::from_millis(330);

/// Two routes: by `/fair` requests wait for a slot of a resource; by `/first` the origin has them stand in line.
async fn gateway(control: &Origin) -> Gateway {
    let control = control.url();
    let gateway = Gateway::of(Setup::isolates(&["weur"]), |document, origin| {
        let resources = json!({ "models": { "slots": SLOTS }, "open": {} });
        let document = with(document, "/overload", resources);
        let fair = json!([{ "overload": "models", "wait_ms": 30_000 }]);
        let mut routes = [
            route(origin, fair),
            route(&control, json!([{ "overload": "open" }])),
        ];
        (routes[0]["name"], routes[0]["path"]) = (json!("fair"), json!("/fair/*"));
        routes[0]["origin"]["strip_prefix"] = json!("/fair");
        (routes[1]["name"], routes[1]["path"]) = (json!("first"), json!("/first/*"));
        routes[1]["origin"]["strip_prefix"] = json!("/first");
        for route in &mut routes {
            route["origin"]["timeout_ms"] = json!(60_000);
        }
        with(document, "/routes", json!(routes))
    })
    .await;
    gateway.origin.slots(SLOTS, Beyond::Refused);
    gateway
}

/// A request that had its service: from when to when it was under way, and how long it waited for it.
#[derive(Debug)]
struct Had {
    span: (Instant, Instant),
    waited: Duration,
}

async fn ask(gateway: &Gateway, by: &str, tenant: &str, service: Duration) -> Had {
    let start = now();
    let path = format!("/{by}/slow?ms={}", service.as_millis());
    let request = gateway.request(Method::GET, &path, tenant);
    let reply = gateway.send(request.timeout(LONGEST)).await;
    assert_eq!(reply.status, 200, "{tenant}: {}", reply.text());
    let end = now();
    Had {
        span: (start, end),
        waited: (end - start).saturating_sub(service),
    }
}

/// What became of the ten.
async fn play(gateway: &Gateway, by: &str, tempo: Tempo) -> Vec<Had> {
    let noisy = (0..NOISY as u64).map(|number| {
        let service = Duration::from_millis(700 + number * 149 % 600);
        ask(gateway, by, "pro:noisy", tempo.stretched(service))
    });
    let noisy = join_all(noisy);
    let modest = (0..MODEST).map(|number| async move {
        sleep(tempo.stretched(FIRST + NEXT * number as u32)).await;
        let service = tempo.stretched(SERVICE);
        ask(gateway, by, &format!("pro:{number}"), service).await
    });
    let (_, modest) = tokio::join!(noisy, join_all(modest));
    modest
}

/// How much of the slots was used from the first request on until the last one began, but for when the machine stood still.
fn used(spans: &[Served], stood: &Stood) -> f64 {
    let first = spans.iter().map(|(since, _)| *since).min().unwrap();
    let last = spans.iter().map(|(since, _)| *since).max().unwrap();
    let within = |(since, until): &Served| -> Duration {
        let until: Instant = (*until).min(last);
        until.duration_since(*since)
    };
    let busy: Duration = spans.iter().map(within).sum();
    let time = (last - first).saturating_sub(stood.during(first, last));
    busy.as_secs_f64() / (SLOTS as f64 * time.as_secs_f64())
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_with_one_request_each_wait_for_less_than_one_service_beside_one_with_fifty() {
    let control = Origin::start().await.unwrap();
    control.slots(SLOTS, Beyond::Queued);
    let gateway = gateway(&control).await;
    gateway.get("/fair/x", "pro:noisy").await;
    // Eight services wait one after the other: of four seconds each they would be longer than a route may let wait.
    let tempo = Tempo::of(&gateway.workerd.clients().unwrap())
        .await
        .at_most(3);
    let service = tempo.stretched(SERVICE);
    let watch = Watch::start(&gateway.workerd.clients().unwrap());
    let (fair, first) = tokio::join!(
        play(&gateway, "fair", tempo),
        play(&gateway, "first", tempo)
    );
    let stood = watch.stop().await;
    let still = |had: &Had| stood.during(had.span.0, had.span.1);
    let longest = |all: &[Had]| all.iter().map(|had| had.waited).max().unwrap();
    let used = used(&gateway.origin.spans()[1..], &stood);
    println!(
        "fair {fair:?}\nfirst come {first:?}\nused {:.1}%; meanwhile the machine stood still for {:?}",
        100.0 * used,
        fair.iter().map(still).collect::<Vec<_>>()
    );
    for had in &fair {
        let still = still(had);
        assert!(
            had.waited < service + still.min(service),
            "{had:?}, {still:?}"
        );
    }
    // By arrival most of the fifty come before them.
    assert!(longest(&first) > 2 * service, "{first:?}");
    assert!(used >= 0.95, "{used}");
    assert_eq!(gateway.origin.refused(), 0, "nobody came beyond the slots");
    assert_eq!(gateway.origin.in_flight_max(), SLOTS as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_wait_whoever_finds_no_slot_is_denied_and_one_that_leaves_frees_its_own() {
    let gateway = Gateway::of(Setup::isolates(&["weur"]), |document, origin| {
        let document = with(document, "/overload", json!({ "models": { "slots": 1 } }));
        let checks = json!([{ "overload": "models" }]);
        with(document, "/routes", json!([route(origin, checks)]))
    })
    .await;
    assert_eq!(gateway.get("/x", "pro:a").await.status, 200);
    let mut held = gateway.asks("/hold", "pro:a").await;
    assert!(!held.waits_for(SETTLING).await, "its answer begins");
    let denied = gateway.get("/x", "pro:b").await;
    assert_eq!(denied.status, 503);
    let problem = denied.problem().unwrap();
    assert!(problem.retry_after_ms.is_some(), "{problem:?}");
    assert!(denied.header("retry-after").is_some());
    held.goes();
    crate::gateway::eventually("the slot is free", async || {
        gateway.get("/x", "pro:b").await.status == 200
    })
    .await;
}
