//! Routes that are for certain models, and the list of models that a client may use.

use std::time::Duration;

use reqwest::{Body, Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use weir_tests::fixtures::{KEY_OF_ACME, with};
use weir_tests::origin::{Echo, Origin};
use weir_tests::reply::Reply;
use weir_tests::workerd::Setup;

use crate::gateway::{Gateway, SECRET, TENANT, one_token, route};

/// A route with a name, models and a budget of its own.
fn of_models(name: &str, models: Value, origin: &str) -> Value {
    let mut route = route(origin, json!([{ "budget": name }]));
    route["name"] = json!(name);
    route["errors"] = json!("openai");
    if !models.is_null() {
        route["models"] = models;
    }
    route
}

/// A budget of each name beside the common one, of 1,000 units.
fn budgets(document: Value, names: &[&str]) -> Value {
    let budget = document["budgets"]["tokens"].clone();
    names.iter().fold(document, |document, name| {
        with(document, &format!("/budgets/{name}"), budget.clone())
    })
}

/// `large` goes to the gateway's origin, `small` to a second one, and what is neither to `rest`, where there is one.
async fn gateway(with_rest: bool) -> (Gateway, Origin) {
    let second = Origin::start().await.unwrap();
    let other = second.url();
    let gateway = Gateway::with_policy(|document, origin| {
        let mut routes = vec![
            of_models("large", json!(["gpt-4o*", "o1"]), origin),
            of_models("small", json!(["gpt-4o-mini", "*-small"]), &other),
        ];
        // The first route that fits counts, not the most specific pattern.
        routes.swap(0, 1);
        if with_rest {
            routes.push(of_models("rest", Value::Null, &other));
        }
        with(
            budgets(document, &["large", "small", "rest"]),
            "/routes",
            json!(routes),
        )
    })
    .await;
    (gateway, second)
}

fn ask(gateway: &Gateway, body: impl Into<Body>) -> RequestBuilder {
    let request = gateway.request(Method::POST, "/echo", "pro:a");
    request
        .header("content-type", "application/json")
        .body(body)
}

async fn left(gateway: &Gateway) -> [u64; 3] {
    let mut left = [0; 3];
    for (left, name) in left.iter_mut().zip(["large", "small", "rest"]) {
        *left = gateway.left(name, "pro:a").await;
    }
    left
}

fn echoed(reply: &Reply) -> Echo {
    assert_eq!(reply.status, 200, "{}", reply.text());
    serde_json::from_slice(&reply.body).unwrap()
}

fn sum(body: &[u8]) -> u64 {
    body.iter().map(|byte| u64::from(*byte)).sum()
}

#[tokio::test]
async fn the_model_of_a_request_chooses_its_route_and_its_body_arrives_whole() {
    let (gateway, second) = gateway(true).await;
    let padding = "x".repeat(300_000);
    let of = |model: &str| json!({ "model": model, "messages": [] }).to_string();
    let long = json!({ "model": "o1", "padding": padding }).to_string();
    let twofold = r#"{"model":"o1","model":"x-small"}"#.to_owned();
    let cases = [
        (of("gpt-4o"), [1, 0, 0]),
        (of("o1"), [1, 0, 0]),
        (of("gpt-4o-mini"), [0, 1, 0]),
        (of("mistral-small"), [0, 1, 0]),
        (of("o3"), [0, 0, 1]),
        // None of these names a model that all readers would find.
        (long, [0, 0, 1]),
        (twofold, [0, 0, 1]),
        (r#"{"model":7}"#.to_owned(), [0, 0, 1]),
        (r#"{"messages":[{"model":"o1"}]}"#.to_owned(), [0, 0, 1]),
        (r#"{"model":"o1""#.to_owned(), [0, 0, 1]),
        ("model=o1".to_owned(), [0, 0, 1]),
        (String::new(), [0, 0, 1]),
    ];
    let mut due = [1_000, 1_000, 1_000];
    for (body, costs) in cases {
        let (bytes, total) = (body.len() as u64, sum(body.as_bytes()));
        let what = body.chars().take(60).collect::<String>();
        let reply = gateway.send(ask(&gateway, body)).await;
        let echo = echoed(&reply);
        assert_eq!((echo.bytes, echo.sum), (bytes, total), "{what}");
        due = std::array::from_fn(|index| due[index] - costs[index]);
        assert_eq!(left(&gateway).await, due, "{what}");
    }
    assert_eq!((gateway.origin.served(), second.served()), (2, 10));
}

#[tokio::test]
async fn a_body_that_is_compressed_or_says_to_be_something_else_names_no_model() {
    let (gateway, _second) = gateway(true).await;
    let named = json!({ "model": "o1" }).to_string();
    let packed = ask(&gateway, named.clone()).header("content-encoding", "br");
    echoed(&gateway.send(packed).await);
    let request = gateway
        .request(Method::POST, "/echo", "pro:a")
        .body(named.clone());
    echoed(
        &gateway
            .send(request.header("content-type", "text/plain"))
            .await,
    );
    let get = gateway.request(Method::GET, "/echo", "pro:a").body(named);
    echoed(
        &gateway
            .send(get.header("content-type", "application/json"))
            .await,
    );
    assert_eq!(left(&gateway).await, [1_000, 1_000, 997]);
}

#[tokio::test]
async fn a_model_that_no_route_is_for_is_not_found_in_the_form_of_the_route_and_reaches_nobody() {
    let (gateway, second) = gateway(false).await;
    let reply = gateway.send(ask(&gateway, r#"{"model":"o3"}"#)).await;
    assert_eq!(
        (reply.status, reply.header("x-should-retry")),
        (404, Some("false"))
    );
    let told: Value = serde_json::from_slice(&reply.body).unwrap();
    assert_eq!(told["error"]["code"], "model_not_found");
    assert_eq!(told["error"]["message"], "The model o3 is not served here.");
    let reply = gateway.send(ask(&gateway, "{}")).await;
    let told: Value = serde_json::from_slice(&reply.body).unwrap();
    assert_eq!(
        (reply.status, &told["error"]["code"]),
        (404, &json!("model_not_found"))
    );
    assert_eq!((gateway.origin.served(), second.served()), (0, 0));
    assert_eq!(left(&gateway).await, [1_000; 3]);
}

#[tokio::test]
async fn a_body_of_unknown_length_whose_head_was_read_costs_its_bytes() {
    let gateway = Gateway::with_policy(|document, origin| {
        let cost = json!({ "body_bytes": { "per": 10, "reserve": 500 } });
        let mut route = route(origin, json!([{ "budget": "tokens", "cost": cost }]));
        route["models"] = json!(["o1"]);
        with(document, "/routes", json!([route]))
    })
    .await;
    let mut left = 1_000;
    for (padding, cost) in [(20, 5), (500, 53)] {
        let body = json!({ "model": "o1", "padding": "x".repeat(padding) }).to_string();
        assert_eq!(body.len().div_ceil(10), cost as usize, "the test's own sum");
        let pieces: Vec<_> = body.as_bytes().chunks(7).map(<[u8]>::to_vec).collect();
        let pieces = futures_util::stream::iter(pieces.into_iter().map(Ok::<_, std::io::Error>));
        let echo = echoed(&gateway.send(ask(&gateway, Body::wrap_stream(pieces))).await);
        assert_eq!(
            (echo.bytes, echo.sum),
            (body.len() as u64, sum(body.as_bytes()))
        );
        left -= cost;
        gateway.await_left("tokens", "pro:a", left).await;
    }
}

/// The status of the answer to a request whose body never comes; `None` where there is none by then.
async fn answered_before_its_body(
    gateway: &Gateway,
    path: &str,
    within: Duration,
) -> Option<String> {
    let address = gateway.client.origin().trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut status = [0; 12];
    let read = timeout(within, stream.read_exact(&mut status)).await;
    read.ok()?.ok()?;
    Some(String::from_utf8_lossy(&status[9..]).into_owned())
}

#[tokio::test]
async fn a_body_is_read_before_the_decision_only_where_its_model_chooses_the_route() {
    let gateway = Gateway::with_policy(|document, origin| {
        let mut models = of_models("large", json!(["o1"]), origin);
        models["path"] = json!("/by_model/*");
        let routes = json!([models, route(origin, one_token())]);
        with(budgets(document, &["large"]), "/routes", routes)
    })
    .await;
    // Nobody's request is refused at once.
    let status = answered_before_its_body(&gateway, "/other", Duration::from_secs(10)).await;
    assert_eq!(status.as_deref(), Some("401"));
    assert_eq!(
        answered_before_its_body(&gateway, "/by_model/x", Duration::from_secs(2)).await,
        None
    );
}

#[tokio::test]
async fn a_proxy_that_asks_without_a_body_is_not_answered_by_a_route_for_certain_models() {
    let (gateway, _second) = gateway(true).await;
    let client = gateway.workerd.client(0).unwrap();
    let request = client
        .request(Method::POST, "/v1/authorize")
        .header(TENANT, "pro:a");
    let request = request
        .header("x-forwarded-uri", "/echo")
        .header("content-type", "application/json");
    let reply = gateway.send(request.body(r#"{"model":"o1"}"#)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(left(&gateway).await, [1_000, 1_000, 999]);
}

/// A deployment whose tenants are known by keys, with a list of models at `/llm/v1/models`.
async fn with_list() -> Gateway {
    let setup = Setup::isolates(&["weur"]).variable("PROVIDER_KEY", SECRET);
    Gateway::of(setup, |document, origin| {
        let key = json!({ "api_key": { "header": "authorization" } });
        let list = json!({
            "name": "list", "path": "/llm/v1/models/*", "tenant": key, "errors": "openai",
            "checks": [{ "budget": "tokens", "cost": 400 }], "answer": "models"
        });
        let chat = |name: &str, models: Value, tenant: &Value| {
            json!({
                "name": name, "path": "/llm/*", "models": models, "tenant": tenant, "errors": "openai",
                "checks": [], "origin": { "url": origin, "strip_prefix": "/llm" }
            })
        };
        let internal = json!({ "header": "x-internal" });
        let routes = json!([
            list,
            chat("openai", json!(["gpt-4o", "gpt-4o-mini", "o*"]), &key),
            chat("internal", json!(["in-house"]), &internal)
        ]);
        let document = with(document, "/api_keys", json!({ KEY_OF_ACME: "pro:acme" }));
        with(document, "/routes", routes)
    })
    .await
}

#[tokio::test]
async fn a_list_tells_the_models_that_the_client_may_use_and_is_decided_like_any_request() {
    let gateway = with_list().await;
    let list = |method: Method| {
        let request = gateway.client.request(method, "/llm/v1/models");
        request.header("authorization", "Bearer key-of-acme")
    };
    let ids = |reply: &Reply| {
        assert_eq!(reply.status, 200, "{}", reply.text());
        let told: Value = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!(told["object"], "list");
        let models = told["data"].as_array().unwrap().iter();
        let ids: Vec<_> = models
            .map(|model| model["id"].as_str().unwrap().to_owned())
            .collect();
        ids
    };
    let reply = gateway.send(list(Method::GET)).await;
    assert_eq!(ids(&reply), ["gpt-4o", "gpt-4o-mini"]);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert!(
        reply.header("ratelimit").unwrap().contains("r=600"),
        "{:?}",
        reply.header("ratelimit")
    );
    let reply = gateway
        .send(list(Method::GET).header("x-internal", "pro:x"))
        .await;
    assert_eq!(ids(&reply), ["gpt-4o", "gpt-4o-mini", "in-house"]);
    let denied = gateway.send(list(Method::GET)).await;
    let told: Value = serde_json::from_slice(&denied.body).unwrap();
    assert_eq!(
        (denied.status, &told["error"]["type"]),
        (429, &json!("rate_limit_error"))
    );
    let nobody = gateway
        .send(gateway.client.request(Method::GET, "/llm/v1/models"))
        .await;
    assert_eq!(nobody.status, 401);
    // Another method is another route's.
    let posted = gateway
        .send(list(Method::POST).json(&json!({ "model": "gpt-4o" })))
        .await;
    assert_eq!(posted.status, 200);
    assert_eq!(gateway.origin.served(), 1, "the list is Weir's own answer");
}

#[tokio::test]
async fn one_model_is_told_by_its_path_in_the_client_s_form_and_decided_like_any_request() {
    let gateway = with_list().await;
    let ask = |path: &str| {
        let request = gateway.client.request(Method::GET, path);
        request.header("authorization", "Bearer key-of-acme")
    };
    let reply = gateway.send(ask("/llm/v1/models/gpt-4o")).await;
    let told: Value = serde_json::from_slice(&reply.body).unwrap();
    let model = json!({ "id": "gpt-4o", "object": "model", "created": 0, "owned_by": "weir" });
    assert_eq!((reply.status, told), (200, model));
    assert!(reply.header("ratelimit").unwrap().contains("r=600"));
    // A model of others, which costs as much to ask for, in the form of the route.
    let reply = gateway.send(ask("/llm/v1/models/in-house")).await;
    let told: Value = serde_json::from_slice(&reply.body).unwrap();
    assert_eq!(
        (reply.status, &told["error"]["code"]),
        (404, &json!("model_not_found"))
    );
    assert!(reply.header("ratelimit").unwrap().contains("r=200"));
    assert_eq!(reply.header("x-should-retry"), Some("false"));
    let denied = gateway.send(ask("/llm/v1/models/gpt-4o")).await;
    assert_eq!(denied.status, 429);
    assert_eq!(gateway.origin.served(), 0, "models are Weir's own answer");
}

#[tokio::test]
async fn a_list_is_told_in_anthropic_s_form_to_who_sends_its_version() {
    let gateway = with_list().await;
    let request = gateway
        .client
        .request(Method::GET, "/llm/v1/models?limit=1");
    let request = request.header("authorization", "Bearer key-of-acme");
    let reply = gateway
        .send(request.header("anthropic-version", "2023-06-01"))
        .await;
    let told: Value = serde_json::from_slice(&reply.body).unwrap();
    assert_eq!(
        (&told["has_more"], &told["first_id"], &told["last_id"]),
        (&json!(false), &json!("gpt-4o"), &json!("gpt-4o-mini"))
    );
    assert_eq!(told["data"][1]["display_name"], "gpt-4o-mini");
}
