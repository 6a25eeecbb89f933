//! Costs that a provider of language models tells in the body of its answer, or in its last event.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use weir_tests::clock::now;
use weir_tests::fixtures::with;
use weir_tests::reply::Reply;

use crate::gateway::{Gateway, eventually, route};

const CHAT: &str = "/v1/chat/completions";

/// A path, a request, and what it costs.
type Case = (&'static str, Value, u64);

/// A route of a format, that reserves 200 of 1,000 tokens where a request does not say what it may use.
async fn gateway(usage: Value, injects: bool) -> Gateway {
    let mut usage = usage;
    usage["reserve"] = json!(200);
    Gateway::with_policy(|document, origin| {
        let checks = json!([{ "budget": "tokens", "cost": { "usage": usage } }]);
        let mut route = route(origin, checks);
        if injects {
            route["inject_usage"] = json!(true);
        }
        with(document, "/routes", json!([route]))
    })
    .await
}

fn ask(gateway: &Gateway, path: &str, body: &Value) -> RequestBuilder {
    gateway.request(Method::POST, path, "pro:a").json(body)
}

async fn answered(gateway: &Gateway, path: &str, body: &Value) -> Reply {
    let reply = gateway.send(ask(gateway, path, body)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply
}

/// Four words, and what the answer is to be.
fn chat(user: &str, streams: bool) -> Value {
    json!({
        "model": "gpt-4o", "user": user, "stream": streams,
        "messages": [{ "role": "user", "content": "these are four words" }]
    })
}

#[tokio::test]
async fn a_request_costs_what_its_answer_tells_whole_or_streamed_in_every_provider_s_form() {
    let contents = json!([{ "role": "user", "parts": [{ "text": "these are four words" }] }]);
    let messages = |streams: bool| {
        json!({
            "model": "claude", "max_tokens": 100, "stream": streams, "metadata": { "user_id": "words=7&cached=3" },
            "messages": [{ "role": "user", "content": [{ "type": "text", "text": "these are four words" }] }]
        })
    };
    let responses = |streams: bool| json!({ "model": "gpt-5", "input": "these are four words", "stream": streams, "user": "words=7" });
    let mut asks_usage = chat("words=7", true);
    asks_usage["stream_options"] = json!({ "include_usage": true });
    let embed = json!({ "model": "embed", "input": ["these are", "four words"] });
    let gemini = "/v1beta/models/gemini-2:generateContent?words=7&reasoning=2";
    let streamed = "/v1beta/models/gemini-2:streamGenerateContent?alt=sse&words=7&reasoning=2";
    // Each with a budget of its own: four words and seven are eleven tokens.
    let cases: Vec<(&str, Vec<Case>)> = vec![
        (
            "openai",
            vec![
                (CHAT, chat("words=7", false), 11),
                (CHAT, asks_usage, 11),
                ("/v1/responses", responses(false), 11),
                ("/v1/responses", responses(true), 11),
                ("/v1/embeddings", embed, 4),
            ],
        ),
        (
            "anthropic",
            vec![
                ("/v1/messages", messages(false), 11),
                ("/v1/messages", messages(true), 11),
            ],
        ),
        (
            "gemini",
            vec![
                (gemini, json!({ "contents": contents }), 13),
                (streamed, json!({ "contents": contents }), 13),
            ],
        ),
    ];
    for (format, requests) in cases {
        let gateway = gateway(json!({ "format": format }), false).await;
        let mut left = 1_000;
        for (path, body, cost) in requests {
            answered(&gateway, path, &body).await;
            left -= cost;
            gateway.await_left("tokens", "pro:a", left).await;
        }
        let (input, output) = gateway.origin.tokens();
        let told = 1_000 - left;
        // Gemini tells two tokens of reasoning apart in each answer.
        let apart = if format == "gemini" { 4 } else { 0 };
        assert_eq!(
            told,
            input + output + apart,
            "{format}: the origin's own count"
        );
    }
}

#[tokio::test]
async fn kinds_of_tokens_have_weights_and_models_have_multipliers() {
    let usage = json!({
        "format": "openai", "models": { "gpt-4o*": 2, "gpt-4o-mini": 0.5 },
        "weights": { "input": 1, "cached_input": 0.1, "output": 4, "reasoning": 5 }
    });
    let gateway = gateway(usage, false).await;
    // 1 fresh and 3 cached, 5 read and 2 thought: 1 + 0.3 + 20 + 10 = 31.3, by 2, by a half, by 1.
    for (model, left) in [("gpt-4o", 937), ("gpt-4o-mini", 921), ("o9", 889)] {
        let mut body = chat("words=7&cached=3&reasoning=2", false);
        body["model"] = json!(model);
        answered(&gateway, CHAT, &body).await;
        gateway.await_left("tokens", "pro:a", left).await;
    }
}

#[tokio::test]
async fn a_request_reserves_what_it_says_that_it_may_use() {
    let gateway = gateway(json!({ "format": "openai", "reserve_max": 600 }), false).await;
    let slow = "words=2&gap_ms=300";
    // 20 bytes of text are 5 tokens; without a word of its own 200 are reserved.
    for (most, reserved) in [(Some(10), 15), (Some(100_000), 600), (None, 200)] {
        let before = gateway.left("tokens", "pro:a").await;
        let mut body = chat(slow, true);
        body["stream_options"] = json!({ "include_usage": true });
        if let Some(most) = most {
            body["max_completion_tokens"] = json!(most);
        }
        let reply = answered(&gateway, CHAT, &body).await;
        let told = reply.header("ratelimit").unwrap_or_default().to_owned();
        assert!(
            told.contains(&format!(";r={}", before - reserved)),
            "{most:?}: {told}"
        );
        gateway.await_left("tokens", "pro:a", before - 6).await;
    }
}

#[tokio::test]
async fn what_is_not_told_is_estimated_and_never_nothing_nor_the_whole() {
    let gateway = gateway(json!({ "format": "openai" }), false).await;
    // 20 bytes of the prompt are 5 tokens, 10 words of 6 bytes each are 15.
    answered(&gateway, CHAT, &chat("words=10", true)).await;
    gateway.await_left("tokens", "pro:a", 980).await;
    answered(&gateway, CHAT, &chat("words=10&usage=none", false)).await;
    gateway.await_left("tokens", "pro:a", 960).await;
    // A provider's failure costs nothing.
    let failed = gateway
        .send(ask(&gateway, CHAT, &chat("fail=429", false)))
        .await;
    assert_eq!(failed.status, 429);
    gateway.await_left("tokens", "pro:a", 960).await;
}

#[tokio::test]
async fn a_client_that_hangs_up_pays_for_what_has_passed() {
    let gateway = gateway(json!({ "format": "openai" }), true).await;
    let body = chat("words=1000&gap_ms=100", true);
    let mut stream = gateway.begin(ask(&gateway, CHAT, &body)).await;
    let start = now();
    let mut passed = 0;
    while start.elapsed().as_millis() < 1_000 {
        let chunk = stream
            .chunk()
            .await
            .unwrap()
            .expect("a stream that goes on");
        passed += String::from_utf8_lossy(&chunk).matches("word").count() as u64;
    }
    drop(stream);
    eventually("it is settled", async || {
        let used = 1_000 - gateway.left("tokens", "pro:a").await;
        used != 200
    })
    .await;
    let used = 1_000 - gateway.left("tokens", "pro:a").await;
    // A word of 6 to 8 bytes is 2 tokens at most; what was on its way when the client left counts too.
    assert!(
        used >= 5 + passed && used <= 5 + 2 * (passed + 50),
        "{used} for {passed} words"
    );
    eventually("the provider stops", async || {
        gateway.origin.in_flight() == 0
    })
    .await;
}

#[tokio::test]
async fn a_stream_is_asked_for_its_usage_and_the_client_gets_none_that_it_did_not_ask_for() {
    let gateway = gateway(json!({ "format": "openai" }), true).await;
    let reply = answered(&gateway, CHAT, &chat("words=7", true)).await;
    let text = reply.text();
    assert!(!text.contains("prompt_tokens"), "{text}");
    assert!(
        text.ends_with("data: [DONE]\n\n") && text.contains("word6 "),
        "{text}"
    );
    gateway.await_left("tokens", "pro:a", 989).await;
    // Who asks for it gets it.
    let mut asking = chat("words=7", true);
    asking["stream_options"] = json!({ "include_usage": true });
    let reply = answered(&gateway, CHAT, &asking).await;
    assert!(
        reply.text().contains("\"prompt_tokens\":4"),
        "{}",
        reply.text()
    );
    gateway.await_left("tokens", "pro:a", 978).await;
}

#[tokio::test]
async fn a_long_prompt_reaches_the_provider_as_it_was_sent() {
    let gateway = Gateway::with_policy(|document, origin| {
        let document = with(document, "/budgets/tokens/limit", json!(1_000_000));
        let cost = json!({ "usage": { "format": "openai", "reserve": 200 } });
        let mut route = route(origin, json!([{ "budget": "tokens", "cost": cost }]));
        route["inject_usage"] = json!(true);
        with(document, "/routes", json!([route]))
    })
    .await;
    // The last two are longer than what is read before the decision.
    let mut left = 1_000_000;
    for words in [10, 10_000, 60_000, 200_000] {
        let mut body = chat("words=1", false);
        body["messages"][0]["content"] = json!("word ".repeat(words));
        let before = gateway.origin.bytes();
        let reply = answered(&gateway, CHAT, &body).await;
        let sent = body.to_string().len() as u64;
        assert_eq!(gateway.origin.bytes() - before, sent, "{words} words");
        let told: Value = reply.ok().unwrap();
        assert_eq!(told["usage"]["prompt_tokens"], words, "{words} words");
        left -= words as u64 + 1;
        gateway.await_left("tokens", "pro:a", left).await;
    }
}
