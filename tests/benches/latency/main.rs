//! How long a check takes while the coordinator is far from the region: paced requests on real workerd, all distances at
//! the same time, their windows out of step.
//!
//! Prints Markdown; what it does meanwhile goes to the standard error. `WEIR_SECONDS` is for how long it is measured.

mod deployment;
mod table;

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::runtime::Runtime;
use weir_tests::load::Sample;

use crate::deployment::{Deployment, LOADS, WINDOW_MS};

/// What a call from a region to the coordinator takes longer, there and back.
const DISTANCES_MS: [u64; 3] = [0, 20, 100];

/// Unless `WEIR_SECONDS` says otherwise: twelve windows.
const SECONDS: u64 = 120;

/// Before it is measured: the first windows, in which nobody knows yet what will be asked for.
const WARM_UP: Duration = Duration::from_millis(2 * WINDOW_MS);

/// All that was seen at one distance.
struct Seen {
    distance_ms: u64,
    /// Of each of [`LOADS`], those from the end of the warm-up on.
    loads: Vec<Vec<Sample>>,
    /// How long the first check of an isolate took.
    cold: Vec<Duration>,
}

fn main() -> Result<()> {
    let seconds = match std::env::var("WEIR_SECONDS") {
        Ok(text) => text.parse().context("WEIR_SECONDS is a number")?,
        Err(_) => SECONDS,
    };
    let duration = WARM_UP + Duration::from_secs(seconds);
    let runtime = Runtime::new().context("start a runtime")?;
    let mut deployments = Vec::new();
    for (index, distance_ms) in DISTANCES_MS.into_iter().enumerate() {
        eprintln!("starting a deployment, {distance_ms} ms from its coordinator");
        let ahead_ms = WINDOW_MS * index as u64 / DISTANCES_MS.len() as u64;
        let started = Deployment::start(
            Duration::from_millis(distance_ms),
            Duration::from_millis(ahead_ms),
        );
        deployments.push(runtime.block_on(started)?);
    }
    eprintln!("{} s of {} loads each", duration.as_secs(), LOADS.len());
    let all = measure(&deployments, duration)?;
    table::print(&all);
    // Dropped while they run, they would print what they logged, among the figures.
    for mut deployment in deployments {
        deployment.weir.kill_hard();
    }
    Ok(())
}

/// All distances at once: what else the machine does hits them alike.
fn measure(deployments: &[Deployment], duration: Duration) -> Result<Vec<Seen>> {
    thread::scope(|scope| {
        let runs: Vec<_> = deployments
            .iter()
            .map(|deployment| scope.spawn(|| deployment.run(WARM_UP, duration)))
            .collect();
        runs.into_iter()
            .zip(DISTANCES_MS)
            .map(|(run, distance_ms)| {
                let run = run.join().map_err(|_| anyhow::anyhow!("a run panicked"));
                let (loads, cold) = run??;
                Ok(Seen {
                    distance_ms,
                    loads,
                    cold,
                })
            })
            .collect()
    })
}
