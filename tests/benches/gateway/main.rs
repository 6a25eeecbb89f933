//! What a gateway adds to the time until the first byte of a streamed answer: the same requests to a provider of models on this
//! machine, straight and through Weir, in turns.
//!
//! Prints Markdown; what it does meanwhile goes to the standard error.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use weir_tests::clock::now;
use weir_tests::fixtures::{KEY_OF_ACME, policy, with};
use weir_tests::origin::Origin;
use weir_tests::spread::quantile;
use weir_tests::workerd::Setup;

/// Requests of each kind that count, and those before them.
const REQUESTS: usize = 500;
const WARM_UP: usize = 100;

/// Thirty days: the budget does not end meanwhile.
const WINDOW_MS: u64 = 30 * 24 * 3_600_000;

/// A kind of request.
struct Kind {
    name: &'static str,
    url: String,
    /// How long the first byte of each took.
    took: Vec<Duration>,
}

fn main() -> Result<()> {
    Runtime::new()
        .context("start a runtime")?
        .block_on(measure())
}

async fn measure() -> Result<()> {
    let origin = Origin::start().await?;
    let setup = Setup::isolates(&["weur"]).variable("PROVIDER_KEY", "the-provider-s");
    let mut workerd = setup.local_network().start().await?;
    workerd.apply(&document(&origin.url())).await?;
    let through = workerd.client(0)?.origin().to_owned();
    let kind = |name, url: String| Kind {
        name,
        url: format!("{url}/v1/chat/completions"),
        took: Vec::with_capacity(REQUESTS),
    };
    let mut kinds = [
        kind("straight to the origin", origin.url()),
        kind(
            "through Weir, a route without checks",
            format!("{through}/plain"),
        ),
        kind(
            "through Weir: a key, a model, a budget by usage with `inject_usage`, a guard, an overload resource",
            format!("{through}/llm"),
        ),
    ];
    let client = Client::new();
    for number in 0..WARM_UP + REQUESTS {
        // Whoever is first in a turn is another one each time.
        for turn in 0..kinds.len() {
            let at = (number + turn) % kinds.len();
            let took = first_byte(&client, &kinds[at].url).await?;
            if number >= WARM_UP {
                kinds[at].took.push(took);
            }
        }
        if number % 100 == 99 {
            eprintln!("{} of {} turns", number + 1, WARM_UP + REQUESTS);
        }
    }
    print(&mut kinds);
    // Dropped while it runs, it would print what it logged, among the figures.
    workerd.kill_hard();
    Ok(())
}

fn document(origin: &str) -> Value {
    let to = |prefix: &str| json!({ "url": origin, "strip_prefix": prefix });
    let mut chat = to("/llm");
    chat["headers"] = json!({ "authorization": { "secret": "PROVIDER_KEY", "prefix": "Bearer " } });
    let cost = json!({ "usage": { "format": "openai", "reserve": 200 } });
    let checks = json!([{ "budget": "tokens", "cost": cost }, { "guard": "streams" }, { "overload": "models" }]);
    let routes = json!([
        { "name": "plain", "path": "/plain/*", "checks": [], "origin": to("/plain") },
        {
            "name": "llm", "path": "/llm/*", "models": ["gpt-4o"], "tenant": { "api_key": { "header": "authorization" } },
            "checks": checks, "inject_usage": true, "errors": "openai", "origin": chat
        }
    ]);
    let document = with(policy(1_000_000_000, WINDOW_MS), "/routes", routes);
    let document = with(
        document,
        "/guards",
        json!({ "streams": { "concurrency": 16, "lease_ms": 30_000 } }),
    );
    let document = with(document, "/overload", json!({ "models": {} }));
    with(document, "/api_keys", json!({ KEY_OF_ACME: "pro:acme" }))
}

/// How long the first byte of an answer of ten words takes; the rest is read.
async fn first_byte(client: &Client, url: &str) -> Result<Duration> {
    let body = json!({
        "model": "gpt-4o", "user": "words=10", "stream": true,
        "messages": [{ "role": "user", "content": "these are four words" }]
    });
    let request = client.post(url).bearer_auth("key-of-acme").json(&body);
    let start: Instant = now();
    let mut answer = request.send().await?;
    ensure!(answer.status() == 200, "{url}: {}", answer.status());
    ensure!(answer.chunk().await?.is_some(), "{url}: nothing");
    let took = start.elapsed();
    while answer.chunk().await?.is_some() {}
    Ok(took)
}

fn print(kinds: &mut [Kind]) {
    println!(
        "A streamed answer of ten words, {REQUESTS} requests of each kind in turns, one at a time, over kept connections, after \
         {WARM_UP} that do not count; from the request to the first byte of the answer's body. Origin, workerd and client share \
         the machine. Milliseconds.\n"
    );
    println!("| request | p25 | p50 | p75 | p99 | added to p50 |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for kind in &mut *kinds {
        kind.took.sort_unstable();
    }
    let median = |kind: &Kind| quantile(&kind.took, 0.5).as_secs_f64();
    let straight = median(&kinds[0]);
    for kind in kinds {
        let at = |part| format!("{:.2}", quantile(&kind.took, part).as_secs_f64() * 1e3);
        let added = (median(kind) - straight) * 1e3;
        println!(
            "| {} | {} | {} | {} | {} | {added:.2} |",
            kind.name,
            at(0.25),
            at(0.5),
            at(0.75),
            at(0.99),
        );
    }
}
