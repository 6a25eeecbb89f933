//! The official clients of providers, as applications use them, before Weir: their base URL and key are changed, nothing
//! else.

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use weir_tests::fixtures::{KEY_OF_ACME, with};
use weir_tests::paths::{self, workspace};
use weir_tests::workerd::Setup;

use crate::gateway::{Gateway, SECRET, eventually};

/// A route of OpenAI's form and one of Anthropic's, with a budget of 100,000 tokens.
async fn gateway() -> Gateway {
    let setup = Setup::isolates(&["weur"]).variable("PROVIDER_KEY", SECRET);
    Gateway::of(setup, |document, origin| {
        let route = |name: &str, prefix: &str, headers: Value, format: &str| {
            let cost =
                json!({ "usage": { "format": format, "reserve": 200, "reserve_max": 200_000 } });
            json!({
                "name": name, "path": format!("{prefix}/*"), "errors": format,
                "tenant": { "api_key": { "header": "authorization" } },
                "checks": [{ "budget": "tokens", "cost": cost }],
                "origin": { "url": origin, "strip_prefix": prefix, "headers": headers }
            })
        };
        let bearer = json!({ "secret": "PROVIDER_KEY", "prefix": "Bearer " });
        let headers = json!({ "authorization": bearer });
        let mut openai = route("openai", "/llm", headers, "openai");
        openai["inject_usage"] = json!(true);
        let headers = json!({ "x-api-key": { "secret": "PROVIDER_KEY" } });
        let mut anthropic = route("anthropic", "/claude", headers, "anthropic");
        let document = with(document, "/api_keys", json!({ KEY_OF_ACME: "pro:acme" }));
        let document = with(document, "/budgets/tokens/limit", json!(100_000));
        openai["models"] = json!(["gpt-4o", "gpt-5", "meta/llama", "embed*"]);
        anthropic["models"] = json!(["claude-4", "claude-5"]);
        let list = |name: &str, prefix: &str, errors: &str| {
            json!({
                "name": name, "path": format!("{prefix}/v1/models/*"), "tenant": openai["tenant"], "checks": [],
                "answer": "models", "errors": errors
            })
        };
        let lists = [list("list", "/llm", "openai"), list("claudes", "/claude", "anthropic")];
        let [list, claudes] = lists;
        with(document, "/routes", json!([list, claudes, openai, anthropic]))
    })
    .await
}

/// Python with the packages of the tests.
fn python() -> Command {
    let mut python = Command::new(paths::python().expect("Python is there"));
    if let Some(packages) = paths::python_packages() {
        python.env("PYTHONPATH", packages);
    }
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    python
}

/// What a script prints.
async fn run(script: &str, gateway: &Gateway) -> Value {
    // The budget is known to be there: a client that is told to come back tells less.
    gateway.left("tokens", "pro:acme").await;
    let mut command = match script.ends_with(".py") {
        true => python(),
        false => Command::new("node"),
    };
    command
        .arg(workspace().join("tests/sdk").join(script))
        .env("BASE", gateway.client.origin())
        .env("KEY", "key-of-acme")
        .stdin(Stdio::null());
    let output = spawn_blocking(move || command.output()).await;
    let output = output.unwrap().expect("node runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {error:.2000}");
    serde_json::from_slice(&output.stdout).expect("one JSON text")
}

async fn used(gateway: &Gateway) -> u64 {
    100_000 - gateway.left("tokens", "pro:acme").await
}

fn assert_keys_stay_apart(gateway: &Gateway, header: &str) {
    for seen in gateway.origin.seen() {
        let got = seen
            .headers
            .get(header)
            .and_then(|value| value.to_str().ok());
        assert!(got.is_some_and(|got| got.ends_with(SECRET)), "{got:?}");
        let all = format!("{:?}", seen.headers);
        assert!(!all.contains("key-of-acme"), "{all}");
    }
}

#[tokio::test]
async fn openai_s_own_client_needs_a_base_url_and_is_charged_what_the_provider_counts() {
    let gateway = gateway().await;
    let told = run("openai.mjs", &gateway).await;
    assert_eq!(told["plain"], 11);
    assert_eq!(
        (&told["streamed"], &told["usage_unasked"]),
        (&json!(7), &json!(false))
    );
    assert_eq!(
        (&told["usage"], &told["response"]),
        (&json!(11), &json!(11))
    );
    assert_eq!(
        (&told["embedded"], &told["at_once"]),
        (&json!(4), &json!(50))
    );
    assert_eq!(told["before_abort"], 10);
    assert_eq!(told["models"], json!(["gpt-4o", "gpt-5", "meta/llama"]));
    assert_eq!(
        (&told["model"], &told["slashed"]),
        (&json!("gpt-5"), &json!("meta/llama"))
    );
    let unlisted = json!({ "kind": "NotFoundError", "code": "model_not_found" });
    assert_eq!(told["unlisted"], unlisted);
    let called = json!({ "name": "weather", "words": 7 });
    assert_eq!(
        (&told["called"], &told["called_streamed"]),
        (&called, &called)
    );
    assert_eq!(
        (
            &told["after_call"],
            &told["called_response"],
            &told["response_words"]
        ),
        (&json!(12), &json!(11), &json!(7))
    );
    assert_eq!(
        told["unknown"],
        json!({ "kind": "NotFoundError", "code": "model_not_found" })
    );
    let denied = json!({ "kind": "RateLimitError", "status": 429, "type": "rate_limit_error" });
    assert_eq!(told["denied"], denied);
    assert_eq!(
        told["failed"],
        json!({ "kind": "InternalServerError", "status": 503 })
    );
    assert_keys_stay_apart(&gateway, "authorization");
    // To the unit, but for what was broken off: of that its prompt and ten words at least. Calls of tools cost as words do.
    let calls = 11 + 12 + 11 + 11;
    let exact = 4 * 11 + calls + 4 + 50 * 5;
    eventually("all is settled", async || {
        let broken_off = used(&gateway).await.saturating_sub(exact);
        (15..200).contains(&broken_off)
    })
    .await;
}

#[tokio::test]
async fn anthropic_s_own_client_needs_a_base_url_and_is_charged_what_the_provider_counts() {
    let gateway = gateway().await;
    let told = run("anthropic.mjs", &gateway).await;
    assert_eq!(
        (&told["plain"], &told["streamed"], &told["words"]),
        (&json!(7), &json!(7), &json!(7))
    );
    let denied = json!({ "kind": "RateLimitError", "status": 429, "type": "rate_limit_error" });
    assert_eq!(told["denied"], denied);
    assert_eq!(told["models"], json!(["claude-4", "claude-5"]));
    let model = json!({ "id": "claude-4", "name": "claude-4", "made": "1970-01-01T00:00:00Z", "type": "model" });
    assert_eq!(told["model"], model);
    let unlisted = json!({ "kind": "NotFoundError", "type": "not_found_error" });
    assert_eq!(told["unlisted"], unlisted);
    let called = json!({ "name": "weather", "words": 7, "stop": "tool_use" });
    assert_eq!(
        (&told["called"], &told["called_streamed"]),
        (&called, &called)
    );
    assert_eq!(told["after_call"], 7);
    assert_keys_stay_apart(&gateway, "x-api-key");
    // Four words and seven each time, and one more in the result of the tool.
    let due = 2 * 11 + 2 * 11 + 12;
    eventually("the provider's own count", async || {
        used(&gateway).await == due
    })
    .await;
    let (input, output) = gateway.origin.tokens();
    assert_eq!(input + output, due);
}

#[tokio::test]
async fn openai_s_own_client_for_python_needs_a_base_url_and_is_charged_what_the_provider_counts() {
    let gateway = gateway().await;
    let told = run("openai_python.py", &gateway).await;
    let called = json!({ "name": "weather", "words": 7 });
    let expected = json!({
        "models": ["gpt-4o", "gpt-5", "meta/llama"], "model": "meta/llama",
        "plain": 11, "streamed": 7, "usage_unasked": false, "usage": [11], "response": 11, "embedded": 4,
        "called": called, "after_call": 12, "called_streamed": called, "at_once": 50, "before_abort": 10,
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&told[name], value, "{name}");
    }
    let refused = |kind: &str, status: u16, error: &str, code: Value| json!({ "kind": kind, "status": status, "type": error, "code": code });
    let no_model = refused(
        "NotFoundError",
        404,
        "not_found_error",
        json!("model_not_found"),
    );
    let denied = refused(
        "RateLimitError",
        429,
        "rate_limit_error",
        json!("rate_limit_exceeded"),
    );
    let failed = refused("InternalServerError", 503, "server_error", Value::Null);
    let stranger = refused(
        "AuthenticationError",
        401,
        "authentication_error",
        json!("no-tenant"),
    );
    assert_eq!(
        (&told["unlisted"], &told["unknown"]),
        (&no_model, &no_model)
    );
    assert_eq!((&told["denied"], &told["failed"]), (&denied, &failed));
    assert_eq!(told["stranger"], stranger);
    assert_keys_stay_apart(&gateway, "authorization");
    assert!(!told.to_string().contains(SECRET), "{told}");
    // To the unit, but for what was broken off: of that its prompt and ten words at least.
    let exact = 4 * 11 + 4 + 11 + 12 + 11 + 50 * 5;
    eventually("all is settled", async || {
        let broken_off = used(&gateway).await.saturating_sub(exact);
        (15..200).contains(&broken_off)
    })
    .await;
}

#[tokio::test]
async fn litellm_needs_another_address_and_is_charged_what_the_provider_counts() {
    let gateway = gateway().await;
    let told = run("litellm_python.py", &gateway).await;
    let refused = |kind: &str, status: u16| json!({ "kind": kind, "status": status });
    let expected = json!({
        "plain": 11, "streamed": 7, "denied": refused("RateLimitError", 429), "failed": refused("ServiceUnavailableError", 503),
        "unknown": refused("NotFoundError", 404), "stranger": refused("AuthenticationError", 401),
    });
    assert_eq!(told, expected);
    assert_keys_stay_apart(&gateway, "authorization");
    let due = 2 * 11;
    eventually("all is settled", async || used(&gateway).await == due).await;
    let (input, output) = gateway.origin.tokens();
    assert_eq!(input + output, due);
}
