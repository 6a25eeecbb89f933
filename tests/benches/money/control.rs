//! The control: a call of an object and a row for each check.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;
use weir_tests::clock::now;
use weir_tests::paths::crate_dir;
use weir_tests::workerd::Setup;

use crate::deployment::{Measured, cpu_ms};
use crate::load::{self, Traffic};
use crate::prices::Used;

/// Checks a second: the object is far from its bound, and what a check uses does not depend on it.
const RATE: u64 = 320;

/// Steady checks for a while.
pub async fn measure(lasts: Duration) -> Result<Measured> {
    let build = crate_dir().join("fixtures/row_per_check");
    let mut workerd = Setup::bare().build(&build).optimised().start().await?;
    let clients = workerd.clients()?;
    let folder = workerd.disk();
    let folder = folder.parent().context("a folder")?;
    let cpu_before = cpu_ms(folder)?;
    let started = now();
    let answers = load::send(&clients, "any", Traffic::Steady, RATE, lasts).await?;
    let seconds = started.elapsed().as_secs_f64();
    let cpu_ms = cpu_ms(folder)? - cpu_before;
    let client = clients.first().context("no isolate")?;
    let usage: Value = client.get("/usage").await?.ok()?;
    // Dropped while it runs, it would print what it logged, among the figures.
    workerd.kill_hard();
    let count = |name: &str| usage[name].as_f64().with_context(|| format!("no {name}"));
    Ok(Measured {
        used: Used {
            checks: answers.checks as f64,
            seconds,
            calls: count("calls")?,
            rows: count("rows_written")?,
            rows_read: count("rows_read")?,
            awake: 1.0,
        },
        cpu_ms,
        utilization: None,
    })
}
