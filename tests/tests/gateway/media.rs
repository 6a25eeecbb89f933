//! Endpoints of a provider of models beside its conversations: embeddings, pictures, sounds, batches, each charged by what it
//! tells of its own use, or by what is sent.

use reqwest::{Body, Method, RequestBuilder};
use serde_json::{Value, json};
use weir_tests::fixtures::with;
use weir_tests::reply::Reply;

use crate::gateway::{Gateway, route};

/// Routes to the origin, each with a path and a cost in tokens.
async fn gateway(costs: &[(&str, Value)]) -> Gateway {
    Gateway::with_policy(|document, origin| {
        let numbered = costs.iter().enumerate();
        let routes = numbered.map(|(number, (path, cost))| {
            let mut route = route(origin, json!([{ "budget": "tokens", "cost": cost }]));
            (route["name"], route["path"]) = (json!(format!("route-{number}")), json!(path));
            route
        });
        let routes: Vec<Value> = routes.collect();
        with(document, "/routes", json!(routes))
    })
    .await
}

fn by_usage(format: &Value) -> Value {
    json!({ "usage": { "format": format, "reserve": 200 } })
}

async fn passed(gateway: &Gateway, request: RequestBuilder) -> Reply {
    let reply = gateway.send(request).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply
}

fn post(gateway: &Gateway, path: &str, body: &Value) -> RequestBuilder {
    gateway.request(Method::POST, path, "pro:a").json(body)
}

/// A form with a file of so many bytes, as clients send sounds and batches; its length is declared.
fn form(gateway: &Gateway, path: &str, file_bytes: usize) -> (RequestBuilder, u64) {
    let head = "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n";
    let mut body = head.as_bytes().to_vec();
    body.extend(vec![b'x'; file_bytes]);
    body.extend(
        b"\r\n--b\r\ncontent-disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n--b--\r\n",
    );
    let length = body.len() as u64;
    let request = gateway.request(Method::POST, path, "pro:a");
    let request = request.header("content-type", "multipart/form-data; boundary=b");
    (request.body(Body::from(body)), length)
}

#[tokio::test]
async fn embeddings_and_pictures_cost_what_they_tell_and_a_picture_s_bytes_are_no_text() {
    let gateway = gateway(&[("/v1/*", by_usage(&json!("openai")))]).await;
    let embed = json!({ "model": "embed", "input": ["these are", "four words"] });
    passed(&gateway, post(&gateway, "/v1/embeddings", &embed)).await;
    gateway.await_left("tokens", "pro:a", 996).await;
    let mut left = 996;
    for streams in [false, true] {
        let draw = json!({ "model": "gpt-image-1", "prompt": "draw four red words", "user": "words=90", "stream": streams });
        let reply = passed(&gateway, post(&gateway, "/v1/images/generations", &draw)).await;
        assert!(reply.body.len() > 20_000, "{}", reply.body.len());
        left -= 94;
        gateway.await_left("tokens", "pro:a", left).await;
    }
    let (input, output) = gateway.origin.tokens();
    assert_eq!(input + output, 1_000 - left, "the origin's own count");
}

#[tokio::test]
async fn speech_that_is_heard_costs_its_tokens_or_its_seconds_as_the_model_tells_them() {
    let seconds = json!({ "pointer": "/usage/seconds" });
    let gateway = gateway(&[
        ("/v1/audio/timed", by_usage(&seconds)),
        ("/v1/*", by_usage(&json!("openai"))),
    ])
    .await;
    let (request, _) = form(&gateway, "/v1/audio/transcriptions?words=3", 50_000);
    passed(&gateway, request).await;
    // Fourteen heard, three written.
    gateway.await_left("tokens", "pro:a", 983).await;
    let (request, _) = form(&gateway, "/v1/audio/timed", 50_000);
    passed(&gateway, request).await;
    // 8.47 seconds are nine.
    gateway.await_left("tokens", "pro:a", 974).await;
    // Where it tells nothing, what was reserved stays.
    let (request, _) = form(&gateway, "/v1/audio/timed?usage=none", 50_000);
    passed(&gateway, request).await;
    gateway.await_left("tokens", "pro:a", 774).await;
}

#[tokio::test]
async fn speech_that_is_made_costs_what_the_route_says_as_its_answer_is_no_text() {
    let spoken = json!({ "body_bytes": { "per": 10, "reserve": 50 } });
    let gateway = gateway(&[
        ("/v1/audio/speech", spoken),
        ("/v1/*", by_usage(&json!("openai"))),
    ])
    .await;
    let speak = json!({ "model": "tts-1", "voice": "alloy", "input": "these are four words" });
    let bytes = speak.to_string().len() as u64;
    let reply = passed(&gateway, post(&gateway, "/v1/audio/speech", &speak)).await;
    assert_eq!(
        (reply.body.len(), reply.header("content-type")),
        (4_000, Some("audio/mpeg"))
    );
    gateway
        .await_left("tokens", "pro:a", 1_000 - bytes.div_ceil(10))
        .await;
}

#[tokio::test]
async fn a_batch_costs_its_file_once_and_nothing_however_often_it_is_looked_at() {
    let file = json!({ "body_bytes": { "per": 100, "reserve": 500 } });
    let gateway = gateway(&[("/v1/files", file), ("/v1/batches/*", json!(0))]).await;
    let (request, bytes) = form(&gateway, "/v1/files", 40_000);
    passed(&gateway, request).await;
    let left = 1_000 - bytes.div_ceil(100);
    gateway.await_left("tokens", "pro:a", left).await;
    let batch = json!({ "input_file_id": "file-1", "endpoint": "/v1/chat/completions", "completion_window": "24h" });
    passed(&gateway, post(&gateway, "/v1/batches", &batch)).await;
    for _ in 0..3 {
        let reply = passed(
            &gateway,
            gateway.request(Method::GET, "/v1/batches/batch_1", "pro:a"),
        )
        .await;
        let told: Value = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!(told["usage"]["total_tokens"], 990);
    }
    assert_eq!(gateway.left("tokens", "pro:a").await, left);
}
