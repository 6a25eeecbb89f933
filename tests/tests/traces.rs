//! Traces, end to end: a real collector, a real origin, and a request that goes all the way to a coordinator.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use weir_shared::decision::id::HEADER;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::collector::{Collected, Collector};
use weir_tests::fixtures::{policy, with};
use weir_tests::origin::{Echo, Origin};
use weir_tests::reply::Reply;
use weir_tests::workerd::{Setup, Workerd};

/// Thirty days: the budget ends in no test.
const LONG_MS: u64 = 30 * 24 * 3_600_000;

/// How long spans may take to arrive on a busy machine.
const ARRIVING: Duration = Duration::from_secs(15);

/// How often a request is tried anew.
const TRIES: u32 = 5;

/// Long enough for what was sent to have arrived.
const QUIET: Duration = Duration::from_secs(4);

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

fn parent(flags: &str) -> String {
    format!("00-{TRACE}-{SPAN}-{flags}")
}

struct Traced {
    _workerd: Workerd,
    _origin: Origin,
    client: Client,
}

impl Traced {
    /// A route to an origin with a budget; the collector is at `endpoint`, where there is one.
    async fn start(endpoint: Option<&str>, share: &str) -> Self {
        let origin = Origin::start().await.expect("the origin starts");
        let mut setup = Setup::isolates(&["weur"]).local_network();
        if let Some(endpoint) = endpoint {
            setup = setup
                .variable("WEIR_OTLP_ENDPOINT", endpoint)
                .variable("WEIR_OTLP_HEADERS", "api-key=a%2Cb")
                .variable("WEIR_TRACE_SAMPLE", share);
        }
        let workerd = setup.start().await.expect("workerd starts");
        let route = json!({
            "name": "all", "path": "/llm/*", "tenant": { "header": "x-tenant" },
            "checks": [{ "budget": "tokens", "cost": 600 }], "origin": { "url": origin.url(), "strip_prefix": "/llm" },
        });
        let document = with(policy(1_000, LONG_MS), "/routes", json!([route]));
        workerd.apply(&document).await.expect("the policy is saved");
        let client = workerd.client(0).unwrap();
        Self {
            _workerd: workerd,
            _origin: origin,
            client,
        }
    }

    async fn forward(&self, headers: &[(&str, &str)]) -> Reply {
        let mut request = self
            .client
            .anonymous()
            .request(Method::GET, "/llm/echo?secret=x")
            .header("x-tenant", "pro:acme");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.client.send(request).await.unwrap()
    }

    /// Asks until its holders answer, and admit it.
    async fn admitted(&self) {
        let start = now();
        loop {
            let told: Value = self.check(&[]).await.ok().unwrap();
            if told["allowed"] == true {
                return;
            }
            let is_away = told["reason"] == "unavailable";
            assert!(is_away && start.elapsed() < ARRIVING, "{told}");
        }
    }

    async fn check(&self, headers: &[(&str, &str)]) -> Reply {
        let question = json!({ "tenant": "pro:acme", "budget": "tokens", "cost": 1 });
        let mut request = self
            .client
            .request(Method::POST, "/v1/check")
            .json(&question);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.client.send(request).await.unwrap()
    }
}

/// The spans of a trace, once there is one by each of these names.
async fn arrived(collector: &Collector, trace: &str, names: &[&str]) -> Vec<Collected> {
    let start = now();
    loop {
        let mut spans = collector.spans();
        spans.retain(|span| span.trace == trace);
        let has = |name: &&str| spans.iter().any(|span| span.name == **name);
        if names.iter().all(has) {
            return spans;
        }
        assert!(start.elapsed() < ARRIVING, "{names:?} of {spans:#?}");
        tokio::time::sleep(QUIET / 40).await;
    }
}

#[track_caller]
fn named<'a>(spans: &'a [Collected], name: &str, kind: u64) -> &'a Collected {
    let mut of = spans
        .iter()
        .filter(|span| span.name == name && span.kind == kind);
    of.next()
        .unwrap_or_else(|| panic!("no {name} of kind {kind} in {spans:#?}"))
}

#[tokio::test]
async fn a_request_through_the_gateway_is_one_tree_from_the_client_to_the_coordinator_and_the_origin()
 {
    let collector = Collector::start().await.unwrap();
    let parent = parent("01");
    let headers = [("traceparent", parent.as_str()), ("tracestate", "rojo=1")];
    let (mut attempt, mut collector) = (0, collector);
    let mut traced = Traced::start(Some(&collector.url()), "0").await;
    let mut reply = traced.forward(&headers).await;
    // Somebody was out of reach of a busy machine: the tree of that request is another one.
    while reply.status == 503 && attempt < TRIES {
        attempt += 1;
        collector = Collector::start().await.unwrap();
        traced = Traced::start(Some(&collector.url()), "0").await;
        reply = traced.forward(&headers).await;
    }
    let echo: Echo = reply.ok().unwrap();
    let names = [
        "GET all",
        "GET",
        "region_escrow contact",
        "contact",
        "coordinator exchange",
        "exchange",
    ];
    let spans = arrived(&collector, TRACE, &names).await;
    let request = named(&spans, "GET all", 2);
    assert_eq!(request.parent, SPAN);
    let below = |name: &str, kind: u64, above: &Collected| {
        let of: Vec<_> = spans
            .iter()
            .filter(|span| span.name == name && span.kind == kind && span.parent == above.id)
            .collect();
        assert!(!of.is_empty(), "no {name} below {above:#?} in {spans:#?}");
        of[0]
    };
    let origin = below("GET", 3, request);
    // A contact that refreshes may be beside the one that asks for units.
    let exchanged = named(&spans, "coordinator exchange", 3);
    below("exchange", 2, exchanged);
    let contact = spans
        .iter()
        .find(|span| span.id == exchanged.parent)
        .expect("its region");
    assert_eq!((contact.name.as_str(), contact.kind), ("contact", 2));
    let asked = spans
        .iter()
        .find(|span| span.id == contact.parent)
        .expect("who asked it");
    assert_eq!(
        (asked.name.as_str(), asked.kind),
        ("region_escrow contact", 3)
    );
    assert_eq!(asked.parent, request.id);
    // The origin gets the trace, from the span that asks it.
    assert_eq!(
        echo.headers["traceparent"],
        format!("00-{TRACE}-{}-01", origin.id)
    );
    assert_eq!(echo.headers["tracestate"], "rojo=1");
    let said = |span: &Collected, name: &str| span.said.get(name).cloned().unwrap_or_default();
    for (name, value) in [
        ("http.request.method", "GET"),
        ("url.path", "/llm/echo"),
        ("http.response.status_code", "200"),
        ("server.address", "127.0.0.1"),
        ("weir.tenant", "pro:acme"),
        ("weir.rule", "budget:tokens"),
        ("weir.outcome", "admitted"),
    ] {
        assert!(
            said(request, name).starts_with(value),
            "{name}: {request:#?}"
        );
    }
    for span in &spans {
        assert!(span.ended_ns >= span.began_ns && !span.failed, "{span:#?}");
        assert!(!format!("{:?}", span.said).contains("secret"), "{span:#?}");
        assert_eq!(span.headers["api-key"], "a,b");
    }
    let ids: weir_shared::ordered::OrderedSet<_> = spans.iter().map(|span| &span.id).collect();
    assert_eq!(ids.len(), spans.len());

    // A denial's span leads to its explanation.
    let denied = traced
        .forward(&[("traceparent", &format!("00-{}-{SPAN}-01", "a".repeat(32)))])
        .await;
    assert_eq!(denied.status, 429);
    let spans = arrived(&collector, &"a".repeat(32), &["GET all"]).await;
    let request = named(&spans, "GET all", 2);
    assert_eq!(
        said(request, "weir.decision"),
        denied.header(HEADER).unwrap()
    );
    assert_eq!(said(request, "http.response.status_code"), "429");
}

#[tokio::test]
async fn a_check_is_traced_by_whoever_asks_however_often_it_was_asked_before() {
    let collector = Collector::start().await.unwrap();
    let traced = Traced::start(Some(&collector.url()), "0").await;
    for _ in 0..4 {
        traced.admitted().await;
    }
    let before = traced.check(&[("traceparent", &parent("01"))]).await;
    let told: Value = before.ok().unwrap();
    assert_eq!(told["allowed"], true);
    let spans = arrived(&collector, TRACE, &["POST /v1/check"]).await;
    let span = named(&spans, "POST /v1/check", 2);
    assert_eq!(
        (span.parent.as_str(), span.said["weir.outcome"].as_str()),
        (SPAN, "admitted")
    );
    assert_eq!(span.said["http.response.status_code"], "200");
}

#[tokio::test]
async fn what_is_not_sampled_and_what_is_forged_or_broken_sends_nothing() {
    let collector = Collector::start().await.unwrap();
    let traced = Traced::start(Some(&collector.url()), "0").await;
    let zeros = format!("00-{}-{SPAN}-01", "0".repeat(32));
    let doubled = format!("{0}, {0}", parent("01"));
    let unsampled = parent("00");
    let long = format!("{}-{}", parent("01"), "x".repeat(4_000));
    for value in ["", "x", &zeros, &doubled, &unsampled, &long, "ff-x"] {
        let headers = [("traceparent", value)];
        assert_eq!(traced.check(&headers).await.status, 200, "{value}");
    }
    let reply = traced.forward(&[("traceparent", &unsampled)]).await;
    // Whoever asks goes on by itself: its word reaches the origin as it came.
    let echo: Echo = reply.ok().unwrap();
    assert_eq!(echo.headers["traceparent"], unsampled);
    tokio::time::sleep(QUIET).await;
    assert_eq!(collector.messages(), 0, "{:#?}", collector.spans());
}

#[tokio::test]
async fn with_a_share_of_one_every_request_begins_a_trace_of_its_own() {
    let collector = Collector::start().await.unwrap();
    let traced = Traced::start(Some(&collector.url()), "1").await;
    let reply = traced
        .forward(&[("traceparent", "00-broken"), ("tracestate", "rojo=1")])
        .await;
    let echo: Echo = reply.ok().unwrap();
    let trace = echo.headers["traceparent"]
        .split('-')
        .nth(1)
        .unwrap()
        .to_owned();
    assert_eq!(echo.headers.get("tracestate"), None);
    let spans = arrived(&collector, &trace, &["GET all", "GET"]).await;
    assert_eq!(named(&spans, "GET all", 2).parent, "");
}

#[tokio::test]
async fn without_a_collector_nothing_is_traced_and_with_one_that_is_silent_nothing_is_slower() {
    let off = Traced::start(None, "1").await;
    let (parent, state) = (parent("01"), "rojo=1");
    let reply = off
        .forward(&[("traceparent", &parent), ("tracestate", state)])
        .await;
    let echo: Echo = reply.ok().unwrap();
    // Nobody of Weir's takes part: the word of whoever asks goes to the origin.
    assert_eq!(echo.headers["traceparent"], parent);
    assert_eq!(echo.headers["tracestate"], state);

    // Nobody takes its connections, so that a message waits for as long as it may.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = format!("http://{}", listener.local_addr().unwrap());
    let silent = Traced::start(Some(&nobody), "1").await;
    let start = now();
    for _ in 0..20 {
        silent.admitted().await;
    }
    // 20 answers that each waited for a message would take a minute.
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "{:?}",
        start.elapsed()
    );
}
