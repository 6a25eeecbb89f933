//! What a gateway adds to the time until the first byte of a streamed answer: the same requests to a provider of models on this
//! machine, straight, through a Worker in JavaScript that hands them on, and through routes of Weir, in turns.
//!
//! Prints Markdown; what it does meanwhile goes to the standard error.

mod routes;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reqwest::Client;
use serde_json::json;
use tokio::runtime::Runtime;
use weir_tests::clock::now;
use weir_tests::origin::Origin;
use weir_tests::plain::{Plain, Script};
use weir_tests::spread::quantile;
use weir_tests::workerd::Setup;

use routes::{ALL, Asked, PLAIN, document, without};

/// Requests of each kind that count, and those before them.
const REQUESTS: usize = 500;
const WARM_UP: usize = 200;

/// A kind of request.
struct Kind {
    name: String,
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
    let mut plain = Plain::start(&[hands_on(&origin.url())])?;
    let setup = Setup::isolates(&["weur"]).variable("PROVIDER_KEY", "the-provider-s");
    let mut workerd = setup.local_network().optimised().start().await?;
    workerd.apply(&document(&origin.url())).await?;
    let mut kinds = kinds(
        &origin.url(),
        &format!("http://127.0.0.1:{}", plain.port(HANDS_ON)?),
        workerd.client(0)?.origin(),
    );
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
    // Dropped while they run, they would print what they logged, among the figures.
    workerd.kill_hard();
    plain.kill_hard();
    Ok(())
}

/// The kinds of requests: the first is what the others are compared with.
fn kinds(origin: &str, plain: &str, weir: &str) -> Vec<Kind> {
    let kind = |name: String, url: String| Kind {
        name,
        url: format!("{url}/v1/chat/completions"),
        took: Vec::with_capacity(REQUESTS),
    };
    let mut kinds = vec![
        kind("straight to the origin".to_owned(), origin.to_owned()),
        kind(
            "through a Worker in JavaScript that hands it on".to_owned(),
            plain.to_owned(),
        ),
        kind(
            "through Weir, a route without checks".to_owned(),
            format!("{weir}/{PLAIN}"),
        ),
        kind(
            "through Weir: a key, a model, a budget by usage with `inject_usage`, a guard, an overload resource".to_owned(),
            format!("{weir}/{ALL}"),
        ),
    ];
    kinds.extend(Asked::ALL.map(|one| {
        let name = format!("the same without {}", one.name());
        kind(name, format!("{weir}/{}", without(one)))
    }));
    kinds
}

/// The name of the Worker that hands requests on.
const HANDS_ON: &str = "gateway";

/// What a gateway costs on the platform whatever it is written in.
fn hands_on(origin: &str) -> Script {
    Script {
        name: HANDS_ON,
        text: format!(
            "export default {{ fetch(request) {{ return fetch({origin:?} + new URL(request.url).pathname, request); }} }};\n"
        ),
        object: None,
        calls: None,
    }
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
