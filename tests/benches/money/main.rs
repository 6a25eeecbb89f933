//! What a million decisions use of the platform, and what that comes to at list price: measured on the real workerd, for
//! three shapes of traffic, beside an object call and a row for each check. Over rates: the bench `scale`.
//!
//! `WEIR_SECONDS` says how long each shape lasts (60: with one fold of the ledgers in it), `WEIR_RATE` how many checks a
//! second each deployment is asked for (1,000).

#![allow(missing_docs, reason = "a benchmark has no interface")]

mod control;
mod deployment;
mod load;
#[path = "../../../shared/benches/scale/prices.rs"]
mod prices;
mod worker;

use std::time::Duration;

use anyhow::Result;
use deployment::{Deployment, Measured};
use load::Traffic;
use prices::Used;
use worker::worker_fees;

fn number(name: &str, otherwise: u64) -> u64 {
    let value = std::env::var(name).ok();
    value
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let lasts = Duration::from_secs(number("WEIR_SECONDS", 60));
    let rate = number("WEIR_RATE", 1_000);
    let one = Deployment::start("one region, 2 isolates", &["weur", "weur"], rate).await?;
    let three =
        Deployment::start("three regions, 3 isolates", &["wnam", "weur", "apac"], rate).await?;
    println!("### Measured on workerd, at list price for a million checks\n");
    println!(
        "| deployment | traffic | checks/s | used of the limit | object calls | rows written | requests | rows | awake \
         | **objects** | CPU | Worker requests |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for traffic in Traffic::ALL {
        eprintln!("{}: {} s", traffic.name(), lasts.as_secs());
        let (first, second) =
            tokio::join!(one.measure(traffic, lasts), three.measure(traffic, lasts));
        print_row(one.name, traffic.name(), &first?);
        print_row(three.name, traffic.name(), &second?);
    }
    one.stop();
    three.stop();
    let control = control::measure(lasts.min(Duration::from_secs(10))).await?;
    print_row("control", "an object call and a row a check", &control);
    println!(
        "\nObject fees are requests, rows and the time awake of every object (regions, ledgers, coordinator, registry), as \
         if none ever slept. CPU is that of the whole process, objects included; it and Worker requests are paid with any \
         limiter. A burst is one second at twice the rate, one of silence. The curve over rates is in \"Scale\"."
    );
    Ok(())
}

fn print_row(deployment: &str, traffic: &str, measured: &Measured) {
    let used: &Used = &measured.used;
    let fees = used.fees();
    let cpu_ms = used.per_million(measured.cpu_ms);
    let (cpu, requests) = worker_fees(cpu_ms);
    let utilization = measured
        .utilization
        .map_or_else(|| "-".to_owned(), |part| format!("{part:.3}"));
    println!(
        "| {deployment} | {traffic} | {:.0} | {utilization} | {:.0} | {:.0} | ${:.4} | ${:.4} | ${:.4} | **${:.4}** | \
         ${cpu:.4} ({:.0} s) | ${requests:.2} |",
        used.checks / used.seconds,
        used.per_million(used.calls),
        used.per_million(used.rows),
        fees.requests,
        fees.rows,
        fees.awake,
        fees.all(),
        cpu_ms / 1_000.0,
    );
}
