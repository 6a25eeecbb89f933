//! A deployment under load: what it counted of itself between two readings.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;
use weir_shared::ordered::OrderedSet;
use weir_shared::wire::operator::costs::CostsReply;
use weir_tests::client::Client;
use weir_tests::clock::{epoch_ms, now};
use weir_tests::fixtures::{BUDGET, policy, with};
use weir_tests::workerd::{Setup, Workerd};

use crate::load::{self, Answers, Traffic};
use crate::prices::Used;

/// The window of the budget.
const WINDOW_MS: u64 = 10_000;

/// What is asked for beyond the limit, so that all of it is used: in hundredths.
const DEMAND_PERCENT: u64 = 110;

/// Before the first reading: leases are of the size that the pace asks for.
const WARM: Duration = Duration::from_secs(3);

/// One deployment.
pub struct Deployment {
    /// What it is called in tables.
    pub name: &'static str,
    workerd: Workerd,
    clients: Vec<Client>,
    regions: usize,
    rate: u64,
}

/// What a run used.
#[derive(Debug)]
pub struct Measured {
    /// Of objects.
    pub used: Used,
    /// CPU time of the process, in milliseconds.
    pub cpu_ms: f64,
    /// What was admitted in whole windows, of what could have been.
    pub utilization: Option<f64>,
}

impl Deployment {
    /// Ends it.
    pub fn stop(mut self) {
        // Dropped while it runs, it would print what it logged, among the figures.
        self.workerd.kill_hard();
    }

    /// Isolates in these regions, one each entry, and a budget that `rate` checks a second use up.
    pub async fn start(name: &'static str, isolates: &[&str], rate: u64) -> Result<Self> {
        let regions: OrderedSet<&str> = isolates.iter().copied().collect();
        let workerd = Setup::isolates(isolates).optimised().start().await?;
        let limit = rate * WINDOW_MS / 1_000 * 100 / DEMAND_PERCENT;
        let document = with(policy(limit, WINDOW_MS), "/regions", json!(regions));
        let document = with(document, "/home", json!("weur"));
        workerd.apply(&document).await?;
        let clients = workerd.clients()?;
        load::send(&clients, BUDGET, Traffic::Steady, rate, WARM).await?;
        Ok(Self {
            name,
            clients,
            regions: regions.len(),
            rate,
            workerd,
        })
    }

    /// Load for a while, and what was used meanwhile.
    pub async fn measure(&self, traffic: Traffic, lasts: Duration) -> Result<Measured> {
        let folder = self.workerd.disk();
        let folder = folder.parent().context("a folder")?;
        let (before, cpu_before) = (self.costs().await?, cpu_ms(folder)?);
        let (started, from_ms) = (now(), epoch_ms());
        let answers = load::send(&self.clients, BUDGET, traffic, self.rate, lasts).await?;
        let (seconds, to_ms) = (started.elapsed().as_secs_f64(), epoch_ms());
        let cpu_ms = cpu_ms(folder)? - cpu_before;
        let after = self.costs().await?;
        let calls = after.usage.object_calls().0 - before.usage.object_calls().0;
        let rows = after.usage.rows_written.0 - before.usage.rows_written.0;
        let used = Used {
            // What was decided is what was answered: what the ledgers have not heard yet at the end, they had not heard of
            // the warm-up at the beginning.
            checks: answers.checks as f64,
            seconds,
            calls: calls as f64,
            rows: rows as f64,
            rows_read: rows as f64,
            // A region and a ledger each, the coordinator and the registry.
            awake: (2 * self.regions + 2) as f64,
        };
        let limit = self.rate * WINDOW_MS / 1_000 * 100 / DEMAND_PERCENT;
        Ok(Measured {
            used,
            cpu_ms,
            utilization: utilization(&answers, (from_ms, to_ms), limit),
        })
    }

    async fn costs(&self) -> Result<CostsReply> {
        let client = self.clients.first().context("no isolate")?;
        client.get("/operator/v1/costs").await?.ok()
    }
}

/// What was admitted in the windows that lie whole between two instants, of `limit` each.
fn utilization(answers: &Answers, (from_ms, to_ms): (u64, u64), limit: u64) -> Option<f64> {
    let first = from_ms.div_ceil(WINDOW_MS);
    let windows = (to_ms / WINDOW_MS)
        .checked_sub(first)
        .filter(|windows| *windows > 0)?;
    let whole = first..first + windows;
    let times = answers.admitted_at_ms.iter();
    let admitted = times.filter(|at_ms| whole.contains(&(**at_ms / WINDOW_MS)));
    Some(admitted.count() as f64 / (windows * limit) as f64)
}

/// CPU time of the processes that run in a folder, in milliseconds.
pub fn cpu_ms(folder: &Path) -> Result<f64> {
    /// Linux counts in hundredths of a second, whatever its own ticks are.
    const MS_PER_TICK: f64 = 10.0;
    let mut ticks = 0.0;
    for entry in std::fs::read_dir("/proc").context("read /proc")? {
        let path = entry?.path();
        let here = std::fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd == folder);
        if !here {
            continue;
        }
        let Ok(stat) = std::fs::read_to_string(path.join("stat")) else {
            continue;
        };
        // After the name in brackets come the state and ten more fields, then the times in user and kernel mode.
        let Some((_, fields)) = stat.rsplit_once(')') else {
            continue;
        };
        let times = fields.split_whitespace().skip(11).take(2);
        ticks += times
            .filter_map(|time| time.parse::<f64>().ok())
            .sum::<f64>();
    }
    Ok(ticks * MS_PER_TICK)
}
