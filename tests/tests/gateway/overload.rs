//! An origin that a noisy tenant drives into overload.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use weir_shared::fairness::weight::Weight;
use weir_shared::overload::config::Config;
use weir_shared::overload::resource::{Client, Outcome, Resource};
use weir_shared::units::{EpochMs, Revision};
use weir_tests::clock::now;
use weir_tests::fixtures::with;
use weir_tests::ports;

use crate::gateway::{Gateway, TENANT, eventually, route};

/// What the origin serves a second.
const CAPACITY: f64 = 24.0;
/// Tenants that ask for a twenty-fourth of it each.
const MODEST: usize = 8;
const MODEST_PER_S: u64 = 1;
/// A tenant that asks for three times as much as there is.
const NOISY: &str = "free:noisy";
const NOISY_PER_S: u64 = 72;

/// How long the gateway may take to learn what the origin bears.
const LEARNING: Duration = Duration::from_secs(15);
/// For how long it is measured then.
const MEASURED: Duration = Duration::from_secs(20);

/// When a request was sent, and when its answer came if it passed.
type Times = (Duration, Option<Duration>);

#[derive(Debug, Default)]
struct Got {
    asked: u64,
    served: u64,
    overloaded: u64,
    denied: u64,
    /// Connections that ended while a request was on them, as those that are kept open may at any time.
    lost: u64,
    /// Those of the time of learning as well.
    times: Vec<Times>,
}

impl Got {
    /// What it asked, and what came of it, for messages.
    fn counts(&self) -> [u64; 5] {
        [
            self.asked,
            self.served,
            self.overloaded,
            self.denied,
            self.lost,
        ]
    }
}

/// One tenant's requests at a pace, each without waiting for the one before; what it got after the time of learning.
async fn tenant(gateway: &Gateway, name: String, per_s: u64) -> Got {
    let (start, every) = (now(), Duration::from_micros(1_000_000 / per_s));
    let mut asked = Vec::new();
    let mut number = 0;
    while start.elapsed() < LEARNING + MEASURED {
        let due = every * number;
        tokio::time::sleep(due.saturating_sub(start.elapsed())).await;
        number += 1;
        let sent = start.elapsed();
        let request = gateway
            .client
            .request(Method::GET, "/work")
            .header(TENANT, &name);
        let client = gateway.client.clone();
        asked.push(tokio::spawn(async move {
            let reply = client.send(request).await.ok();
            let answer = reply.map(|reply| {
                let of_weir = reply.header("content-type") == Some("application/problem+json");
                (reply.status, of_weir)
            });
            (sent, start.elapsed(), answer)
        }));
    }
    let mut got = Got::default();
    for reply in join_all(asked).await {
        let (sent, received, answer) = reply.unwrap();
        let passed = matches!(answer, Some((_, false)));
        got.times.push((sent, passed.then_some(received)));
        if sent < LEARNING {
            continue;
        }
        got.asked += 1;
        match answer {
            Some((200, _)) => got.served += 1,
            Some((503, false)) => got.overloaded += 1,
            Some((503, true)) => got.denied += 1,
            None => got.lost += 1,
            other => panic!("{name}: {other:?}"),
        }
    }
    got
}

/// What comes of requests of these tenants that are decided by the shipped machine, and reported as late as they were answered,
/// without a deployment: what of the modest ones' is served, and what of the origin is used. A busy machine sends requests in
/// bursts and hears of them late, which no limiter makes even.
fn without_a_deployment(mut sent: Vec<(Times, String)>) -> (f64, f64) {
    sent.sort();
    let began = EpochMs(1_700_000_100_000);
    let when = |at: Duration| began.plus(at.as_millis() as u64);
    let mut resource = Resource::new(&Config::default(), Revision(1), &[7; 32], "origin", began);
    let client = |name| Client {
        name,
        weight: Weight::WHOLE,
    };
    // Reports that are due, the latency of the last that passed, and the tokens of the origin's bucket and since when.
    let mut due: Vec<(Duration, &String, Outcome)> = Vec::new();
    let (mut modest, mut modest_served) = (0, 0);
    let mut latency = Duration::ZERO;
    let (mut tokens, mut filled, mut served) = (0.0, Duration::ZERO, 0);
    for ((at, received), name) in &sent {
        let (at, counts) = (*at, u64::from(*at >= LEARNING));
        let of_modest = counts * u64::from(name != NOISY);
        modest += of_modest;
        latency = received.map_or(latency, |received| received - at);
        due.sort_by_key(|(heard, ..)| std::cmp::Reverse(*heard));
        while let Some((heard, name, outcome)) = due.pop_if(|(heard, ..)| *heard <= at) {
            resource.report(&client(name), outcome, when(heard));
        }
        if !resource.check(&client(name), 1, 0.5, when(at)).admitted {
            continue;
        }
        tokens = CAPACITY.min(tokens + (at - filled).as_secs_f64() * CAPACITY);
        filled = at;
        let outcome = if tokens >= 1.0 {
            tokens -= 1.0;
            served += counts;
            modest_served += of_modest;
            Outcome::Success
        } else {
            Outcome::Failure
        };
        due.push((at + latency, name, outcome));
    }
    let share = modest_served as f64 / modest as f64;
    (share, served as f64 / (CAPACITY * MEASURED.as_secs_f64()))
}

/// The control of the control.
#[test]
fn evenly_sent_and_soon_reported_requests_of_modest_tenants_pass_and_most_of_the_origin_is_used() {
    let of = |name: String, per_s: u64| {
        let count = per_s * (LEARNING + MEASURED).as_secs();
        (0..count).map(move |number| {
            let at = Duration::from_micros(1_000_000 / per_s) * number as u32;
            ((at, Some(at + Duration::from_millis(5))), name.clone())
        })
    };
    let modest = (0..MODEST).flat_map(|index| of(format!("free:{index}"), MODEST_PER_S));
    let sent = modest.chain(of(NOISY.to_owned(), NOISY_PER_S));
    let (share, used) = without_a_deployment(sent.collect());
    println!("{share:.3} served, {used:.3} used");
    assert!(share >= 0.85, "{share}");
    assert!(used >= 0.75, "{used}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_noisy_tenant_does_not_take_an_origin_from_the_others() {
    let gateway = Gateway::with_policy(|document, origin| {
        let document = with(document, "/overload", json!({ "origin": {} }));
        let route = route(origin, json!([{ "overload": "origin" }]));
        with(document, "/routes", json!([route]))
    })
    .await;
    gateway.origin.limit_to(Some(CAPACITY));
    let modest = (0..MODEST).map(|index| tenant(&gateway, format!("free:{index}"), MODEST_PER_S));
    let noisy = tenant(&gateway, NOISY.to_owned(), NOISY_PER_S);
    let (modest, noisy) = futures_util::future::join(join_all(modest), noisy).await;
    let asked: u64 = modest.iter().map(|got| got.asked).sum();
    let served: u64 = modest.iter().map(|got| got.served).sum();
    let share = served as f64 / asked as f64;
    let told: Vec<_> = modest.iter().chain([&noisy]).map(Got::counts).collect();
    let all = (served + noisy.served) as f64;
    let used = all / (CAPACITY * MEASURED.as_secs_f64());
    let names = (0..MODEST).map(|index| format!("free:{index}"));
    let tenants = names.chain([NOISY.to_owned()]);
    let sent = tenants.zip(modest.iter().chain([&noisy]));
    let sent =
        sent.flat_map(|(name, got)| got.times.iter().map(move |times| (*times, name.clone())));
    let control = without_a_deployment(sent.collect());
    println!("{share:.3} served, {used:.3} used; without a deployment {control:.3?}");
    // Without the gateway each would be served three of ten. The rate is felt for, and where it is too high the origin
    // refuses some of everybody's.
    let least = (0.95 * control.0).min(0.85);
    assert!(
        share >= least.max(0.6),
        "{share}, without a deployment {control:?}: {told:?}"
    );
    assert!(noisy.denied > noisy.asked / 2, "{told:?}");
    assert!(noisy.lost <= noisy.asked / 200, "{told:?}");
    // What the others leave is not thrown away.
    let least = (0.8 * control.1).min(0.6);
    assert!(
        used >= least.max(0.4),
        "{used}, without a deployment {control:?}: {told:?}"
    );

    let denied = tenant_denied(&gateway).await;
    assert_eq!(
        denied.kind,
        "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
    );
    assert!(
        denied.retry_after_ms.is_some_and(|ms| ms >= 1),
        "{denied:?}"
    );
}

/// A denial of the noisy tenant, which goes on meanwhile.
async fn tenant_denied(gateway: &Gateway) -> weir_shared::wire::problem::Problem {
    for _ in 0..1_000 {
        let reply = gateway.get("/work", NOISY).await;
        if reply.status == 503 && reply.header("retry-after").is_some() {
            return reply.problem().unwrap();
        }
    }
    panic!("a thousand requests in a row pass");
}

/// Requests of which two fail, if any does: after the first each is denied with one half. One in 2^23 times it is fewer.
const ENOUGH: usize = 24;

/// Whether so many requests of a tenant, each of which ends as `request` does, count against the origin: with the rule of
/// probabilities, half of one for each failure, the next ten are then as good as all denied.
async fn counts_against_origin(gateway: &Gateway, tenant: &str, due: bool) -> bool {
    let denies = async || gateway.get("/x", tenant).await.status == 503;
    if due {
        // A report may come late.
        eventually("a request is denied", denies).await;
    }
    let mut denied = 0;
    for _ in 0..10 {
        let reply = gateway.get("/x", tenant).await;
        denied += u64::from(reply.status == 503);
    }
    assert!(denied == 0 || denied >= 5, "{tenant}: {denied} of 10");
    denied > 0
}

/// Routes whose overload resource remembers failures for as long as a test lasts. At `/never` the origin has little time; at
/// the others a slow machine has enough.
fn remembering(document: Value, origin: &str) -> Value {
    let blue =
        json!({ "steering": "blue", "increase": 0.5, "decrease": 0.00001, "decay_per_s": 0 });
    let document = with(document, "/overload", json!({ "origin": blue }));
    let route = || route(origin, json!([{ "overload": "origin" }]));
    let (mut never, others) = (route(), route());
    (never["name"], never["path"]) = (json!("never"), json!("/never"));
    never["origin"]["timeout_ms"] = json!(300);
    with(document, "/routes", json!([never, others]))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_origin_counts_as_failing() {
    let dead = format!("http://127.0.0.1:{}", ports::free().unwrap());
    let gateway = Gateway::with_policy(|document, _| remembering(document, &dead)).await;
    for (method, body) in [
        (Method::GET, ""),
        (Method::PUT, ""),
        (Method::POST, "small"),
    ] {
        let tenant = format!("free:{method}");
        for _ in 0..ENOUGH {
            let request = gateway.request(method.clone(), "/x", &tenant);
            gateway.send(request.body(body)).await;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        let counted = counts_against_origin(&gateway, &tenant, true).await;
        assert!(counted, "{method} {body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_origin_fails_at_counts_against_it_and_what_a_client_does_not() {
    let gateway = Gateway::with_policy(remembering).await;
    for (path, fails) in [
        ("/status/200", false),
        ("/status/302", false),
        ("/status/404", false),
        ("/status/501", false),
        ("/status/500", true),
        ("/status/429", true),
        ("/never", true),
        // Who broke an answer off cannot be told.
        ("/break", false),
    ] {
        let tenant = format!("free:{path}");
        for _ in 0..ENOUGH {
            let request = gateway.request(Method::GET, path, &tenant);
            if let Ok(reply) = request.send().await {
                let _whole_or_not = reply.bytes().await;
            }
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        let counted = counts_against_origin(&gateway, &tenant, fails).await;
        assert_eq!(counted, fails, "{path}");
    }
    // A client that goes away in the middle of an answer.
    for _ in 0..6 {
        let request = gateway.request(Method::GET, "/hold", "free:leaves");
        let mut reply = request.send().await.unwrap();
        reply.chunk().await.unwrap();
        drop(reply);
    }
    // Clients that go away in the middle of their requests.
    for _ in 0..6 {
        let address = gateway.client.origin().trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).await.unwrap();
        let begun = "POST /echo HTTP/1.1\r\nhost: h\r\nx-tenant: free:begins\r\ncontent-length: 1000\r\n\r\nbegun";
        stream.write_all(begun.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    for tenant in ["free:begins", "free:leaves"] {
        let counted = counts_against_origin(&gateway, tenant, false).await;
        assert!(!counted, "{tenant}");
    }
}
