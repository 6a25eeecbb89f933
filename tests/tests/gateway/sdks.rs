//! The official clients of providers, as applications use them, before Weir: their base URL and key are changed, nothing
//! else.

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use weir_tests::fixtures::{KEY_OF_ACME, with};
use weir_tests::paths::workspace;
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
        let anthropic = route("anthropic", "/claude", headers, "anthropic");
        let document = with(document, "/api_keys", json!({ KEY_OF_ACME: "pro:acme" }));
        let document = with(document, "/budgets/tokens/limit", json!(100_000));
        openai["models"] = json!(["gpt-4o", "gpt-5", "embed*"]);
        let list = json!({
            "name": "list", "path": "/llm/v1/models", "tenant": openai["tenant"], "checks": [], "answer": "models"
        });
        with(document, "/routes", json!([list, openai, anthropic]))
    })
    .await
}

/// What a script prints.
async fn run(script: &str, gateway: &Gateway) -> Value {
    let mut command = Command::new("node");
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
    assert_eq!(told["models"], json!(["gpt-4o", "gpt-5"]));
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
    // To the unit, but for what was broken off: of that its prompt and ten words at least.
    let exact = 4 * 11 + 4 + 50 * 5;
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
    assert_keys_stay_apart(&gateway, "x-api-key");
    eventually("the provider's own count", async || {
        used(&gateway).await == 22
    })
    .await;
    let (input, output) = gateway.origin.tokens();
    assert_eq!(input + output, 22);
}
