//! What an agent decides a second, and how long an answer takes: over HTTP and over gRPC as Envoy asks, beside answers of the
//! same program that decide nothing.
//!
//! Prints Markdown; what it does meanwhile goes to the standard error.

mod grpc;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tokio::runtime::Runtime;
use weir_shared::wire::role::Role;
use weir_tests::beside::AgentProcess;
use weir_tests::fixtures::{policy, token_request, with};
use weir_tests::load::{Ask, Closed, Round};
use weir_tests::spread::quantile;
use weir_tests::workerd::Setup;

/// Nobody uses that up meanwhile, and no window ends.
const LIMIT: u64 = 1 << 40;
const WINDOW_MS: u64 = 30 * 24 * 3_600_000;

/// For how long each row is measured, and before it.
const MEASURED: Duration = Duration::from_secs(5);
const WARM_UP: Duration = Duration::from_secs(1);

/// Requests that are under way at a time.
const UNDER_WAY: usize = 16;

fn main() -> Result<()> {
    Runtime::new()
        .context("start a runtime")?
        .block_on(measure())
}

async fn measure() -> Result<()> {
    let mut workerd = Setup::isolates(&["weur"]).start().await?;
    let budget = |sharing: &str| json!({ "limit": LIMIT, "window_ms": WINDOW_MS, "sharing": sharing, "scope": "global" });
    let budgets =
        json!({ "tokens": budget("first_come"), "shared": budget("weighted_fair_escrow") });
    let document = with(policy(LIMIT, WINDOW_MS), "/budgets", budgets);
    let rule = |budget: &str| json!([{ "entries": [{ "key": "tenant" }], "tenant_from": "tenant", "budget": budget }]);
    let domains = json!({ "edge": rule("tokens"), "by-weight": rule("shared"), "none": [] });
    workerd
        .apply(&with(document, "/descriptors", domains))
        .await?;
    let admin = workerd.client(0)?;
    let made = admin
        .make_token(&token_request("agent", Role::Agent))
        .await?;
    let mut agent = AgentProcess::start(admin.origin(), &made.token, Some("weur")).await?;
    let port = agent.port();
    println!(
        "One agent, which is one thread, and what asks it over gRPC, in their release builds; {UNDER_WAY} requests under way at a time, over as many connections of HTTP/1.1 or one of gRPC, for {} s each. Agent, client and workerd share the machine. What a check adds is to the answer of the same program that decides nothing, in its row above. Milliseconds.\n",
        MEASURED.as_secs()
    );
    println!("| request | answers/s | p50 | p99 | added to p99 |\n| --- | --- | --- | --- | --- |");
    let check = |budget: &str| {
        let body = json!({ "tenant": "acme", "budget": budget });
        Ask::post(port, "/v1/check", "", &body).wants("\"allowed\":true", 1)
    };
    let nothing = row(
        "HTTP: `GET /healthz`",
        None,
        &over_http(&Ask::get(port, "/healthz"))?,
    );
    let rows = [
        ("HTTP: a check of a budget, first come", "tokens"),
        ("HTTP: a check of a budget, by weight", "shared"),
    ];
    for (name, budget) in rows {
        row(name, Some(nothing), &over_http(&check(budget))?);
    }
    let nothing = row(
        "gRPC: a descriptor without a rule",
        None,
        &grpc::run(port, "none")?,
    );
    for (name, domain) in [
        ("gRPC: a descriptor, first come", "edge"),
        ("gRPC: a descriptor, by weight", "by-weight"),
    ] {
        row(name, Some(nothing), &grpc::run(port, domain)?);
    }
    // Dropped while they run, they would print what they logged, among the figures.
    agent.kill_hard();
    workerd.kill_hard();
    Ok(())
}

fn over_http(ask: &Ask) -> Result<Round> {
    let mut closed = Closed::open(ask, UNDER_WAY)?;
    closed.run(WARM_UP)?;
    let round = closed.run(MEASURED)?;
    ensure!(
        round.unwanted == 0,
        "{} answers were others",
        round.unwanted
    );
    Ok(round)
}

/// Prints a row, and tells its p99 in milliseconds.
fn row(name: &str, beside: Option<f64>, round: &Round) -> f64 {
    let ms: Vec<f64> = round
        .latencies_us
        .iter()
        .map(|us| f64::from(*us) / 1_000.0)
        .collect();
    let [p50, p99] = [0.5, 0.99].map(|part| quantile(&ms, part));
    let per_s = round.answers as f64 / round.elapsed.as_secs_f64();
    let added = beside.map_or_else(String::new, |beside| format!("{:.2}", p99 - beside));
    println!("| {name} | {per_s:.0} | {p50:.2} | {p99:.2} | {added} |");
    p99
}
