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
use weir_tests::spread::{Spread, quantile};
use weir_tests::workerd::Setup;

/// Nobody uses that up meanwhile, and no window ends.
const LIMIT: u64 = 1 << 40;
const WINDOW_MS: u64 = 30 * 24 * 3_600_000;

/// For how long a row is measured in a turn, and before it: while a load is new, its leases are still small, and some checks wait for
/// the region.
const MEASURED: Duration = Duration::from_secs(2);
const WARM_UP: Duration = Duration::from_secs(2);

/// How often each row has its turn: what else the machine does for a while falls on all rows.
const TURNS: usize = 7;

/// Requests that are under way at a time.
const UNDER_WAY: usize = 16;

/// Connections over which gRPC asks.
const CONNECTIONS: usize = 2;

/// The rows, with the place of the one that decides nothing.
const ROWS: [(&str, usize); 6] = [
    ("HTTP: `GET /healthz`", 0),
    ("HTTP: a check of a budget, first come", 0),
    ("HTTP: a check of a budget, by weight", 0),
    ("gRPC: a descriptor without a rule", 3),
    ("gRPC: a descriptor, first come", 3),
    ("gRPC: a descriptor, by weight", 3),
];

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
    let check = |budget: &str| {
        let body = json!({ "tenant": "acme", "budget": budget });
        Ask::post(port, "/v1/check", "", &body).wants("\"allowed\":true", 1)
    };
    let mut turns = Vec::new();
    for turn in 0..TURNS {
        eprintln!("turn {} of {TURNS}", turn + 1);
        turns.push([
            Figures::of(&over_http(&Ask::get(port, "/healthz"))?),
            Figures::of(&over_http(&check("tokens"))?),
            Figures::of(&over_http(&check("shared"))?),
            Figures::of(&grpc::run(port, "none")?),
            Figures::of(&grpc::run(port, "edge")?),
            Figures::of(&grpc::run(port, "by-weight")?),
        ]);
    }
    print(&turns);
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

/// What one row had in one turn.
struct Figures {
    per_s: f64,
    p50_ms: f64,
    p99_ms: f64,
}

impl Figures {
    fn of(round: &Round) -> Self {
        let ms = round.latencies_us.iter();
        let ms: Vec<f64> = ms.map(|us| f64::from(*us) / 1_000.0).collect();
        let [p50_ms, p99_ms] = [0.5, 0.99].map(|part| quantile(&ms, part));
        Self {
            per_s: round.answers as f64 / round.elapsed.as_secs_f64(),
            p50_ms,
            p99_ms,
        }
    }
}

fn print(turns: &[[Figures; ROWS.len()]]) {
    println!(
        "One agent, which is one thread, and what asks it over gRPC, compiled as they are shipped; {UNDER_WAY} requests under way at a time, over as many connections of HTTP/1.1 or {CONNECTIONS} of gRPC. The rows take turns, {TURNS} of {} s each, {} s after they began. Agent, client and workerd share the machine. The figures are medians of the turns, with the middle half of them in brackets; what a check adds is to the answer of the same program that decides nothing, in the same turn. Milliseconds.\n",
        MEASURED.as_secs(),
        WARM_UP.as_secs()
    );
    println!("| request | answers/s | p50 | p99 | added to p99 |\n| --- | --- | --- | --- | --- |");
    for (row, (name, nothing)) in ROWS.into_iter().enumerate() {
        let of =
            |figure: &dyn Fn(&[Figures; ROWS.len()]) -> f64| Spread::of(turns.iter().map(figure));
        let per_s = of(&|turn| turn[row].per_s);
        let p50_ms = of(&|turn| turn[row].p50_ms).median;
        let p99_ms = of(&|turn| turn[row].p99_ms).median;
        let added_ms = match row == nothing {
            true => String::new(),
            false => format!("{:.2}", of(&|turn| turn[row].p99_ms - turn[nothing].p99_ms)),
        };
        println!("| {name} | {per_s:.0} | {p50_ms:.2} | {p99_ms:.2} | {added_ms} |");
    }
}
