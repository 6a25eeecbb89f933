//! Memory, as more and more tenants are seen.

use std::ops::Range;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use weir_tests::fixtures::{BUDGET, policy, with};
use weir_tests::load::{Ask, Paced};
use weir_tests::workerd::{Setup, TOKEN, Workerd};

/// Tenants that the isolate has seen at each reading.
const TENANTS: [u32; 3] = [0, 10_000, 100_000];

/// New tenants a second.
const PER_SEC: u32 = 2_500;

/// Checks of different tenants that wait at the same time share one message to the region.
const CONNECTIONS: u32 = 64;

/// The isolate that is asked; the objects are in the other one.
const ASKED: usize = 1;

struct Reading {
    tenants: u32,
    /// Of the isolate that is asked.
    isolate_bytes: u64,
    /// Of the isolate that runs all the objects.
    objects_bytes: u64,
    /// Of the whole process.
    resident_kib: u64,
}

pub fn measure(runtime: &Runtime) -> Result<()> {
    let mut weir = runtime.block_on(
        Setup::isolates(&["weur", "weur"])
            .weighed()
            .optimised()
            .start(),
    )?;
    runtime.block_on(weir.apply(&document()))?;
    let port = weir.port(ASKED)?;
    let (mut readings, mut seen, mut refused) = (Vec::new(), 0, 0);
    for tenants in TENANTS {
        eprintln!("{tenants} tenants");
        refused += meet(port, seen..tenants)?;
        seen = tenants;
        readings.push(runtime.block_on(read(&weir, tenants))?);
    }
    weir.kill_hard();
    print(&readings, refused);
    Ok(())
}

/// One check of each tenant; how many were not admitted.
fn meet(port: u16, tenants: Range<u32>) -> Result<usize> {
    let count = tenants.len() as u32;
    let asks: Vec<Ask> = tenants
        .map(|number| {
            let question =
                json!({ "tenant": format!("free:{number:07}"), "budget": BUDGET, "cost": 1 });
            Ask::post(port, "/v1/check", TOKEN, &question).admitted(1)
        })
        .collect();
    if asks.is_empty() {
        return Ok(0);
    }
    let paced = Paced {
        asks,
        per_sec: PER_SEC,
        connections: CONNECTIONS,
        phase: 0.0,
    };
    let samples = paced.run(Duration::from_secs(1) / PER_SEC * count)?;
    Ok(samples.iter().filter(|sample| !sample.is_wanted).count())
}

async fn read(weir: &Workerd, tenants: u32) -> Result<Reading> {
    let wasm = async |isolate: usize| {
        let told: Value = weir.client(isolate)?.get("/weigh").await?.ok()?;
        told["bytes"].as_u64().context("a number of bytes")
    };
    Ok(Reading {
        tenants,
        isolate_bytes: wasm(ASKED).await?,
        objects_bytes: wasm(0).await?,
        resident_kib: weir.resident_kib()?,
    })
}

fn document() -> Value {
    let budget = json!({ "limit": 1_000_000_000, "window_ms": 60_000, "sharing": "weighted_fair_escrow",
                         "scope": "global", "reserve": "paced" });
    let document = with(policy(1, 60_000), "/budgets", json!({ BUDGET: budget }));
    with(document, "/tenants_max", json!(1_000_000))
}

fn print(readings: &[Reading], refused: usize) {
    println!(
        "\nMemory while one isolate sees tenants for the first time, one budget shared by weight. Of wasm: what the \
         instance has, which never shrinks; all objects share an isolate of their own here. Of the process: both, the \
         JavaScript heap with its garbage, and workerd itself. {refused} checks were not admitted.\n"
    );
    println!(
        "| tenants seen | wasm of the isolate, KiB | bytes a tenant | wasm of all objects, KiB | bytes a tenant | process, KiB |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    let Some(first) = readings.first() else {
        return;
    };
    for reading in readings {
        let each = |bytes: u64, before: u64| match reading.tenants {
            0 => String::new(),
            tenants => format!(
                "{:.0}",
                bytes.saturating_sub(before) as f64 / f64::from(tenants)
            ),
        };
        println!(
            "| {} | {} | {} | {} | {} | {} |",
            reading.tenants,
            reading.isolate_bytes / 1_024,
            each(reading.isolate_bytes, first.isolate_bytes),
            reading.objects_bytes / 1_024,
            each(reading.objects_bytes, first.objects_bytes),
            reading.resident_kib,
        );
    }
}
