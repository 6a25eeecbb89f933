//! Envoy's question over HTTP/2, asked by a program of its own (`agent/examples/grpc_load.rs`): what drives
//! the Worker is compiled as tests are, and would ask more slowly than an agent answers.

use std::env;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use weir_tests::load::Round;

use crate::{CONNECTIONS, MEASURED, UNDER_WAY, WARM_UP};

/// The variable that names the program.
const PROGRAM: &str = "WEIR_GRPC_LOAD";

/// What it prints.
#[derive(Debug, Deserialize)]
struct Told {
    count: u64,
    latencies_us: Vec<u32>,
}

/// Asks again and again about a descriptor of the domain, so many at a time.
pub(crate) fn run(port: u16, domain: &str) -> Result<Round> {
    let program = env::var_os(PROGRAM)
        .with_context(|| format!("{PROGRAM} names no program; run `cargo xtask bench`"))?;
    let counts = [CONNECTIONS, UNDER_WAY].map(|count| count as u128);
    let times_ms = [WARM_UP, MEASURED].map(|time| time.as_millis());
    let ended = Command::new(&program)
        .args([&port.to_string(), domain])
        .args(
            counts
                .into_iter()
                .chain(times_ms)
                .map(|number| number.to_string()),
        )
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("start {}", program.display()))?;
    ensure!(ended.status.success(), "it ended with {}", ended.status);
    let told: Told = serde_json::from_slice(&ended.stdout).context("what it prints")?;
    Ok(Round {
        answers: told.count,
        unwanted: 0,
        elapsed: MEASURED,
        latencies_us: told.latencies_us,
    })
}
