//! Two busy isolates in two regions, and others that are asked for the first time while it is measured.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Map, Value, json};
use weir_tests::clock;
use weir_tests::fixtures::{policy, with};
use weir_tests::load::{Ask, Paced, Sample};
use weir_tests::witness::Witness;
use weir_tests::workerd::{Setup, TOKEN, Workerd};

/// The length of every window.
pub const WINDOW_MS: u64 = 10_000;

const REGIONS: [&str; 2] = ["weur", "wnam"];

/// Isolates that are asked once, beside those that are always busy.
const COLD: usize = 8;

/// Connections of a load: so many answers may be late before a request is.
const CONNECTIONS: u32 = 16;

/// Budgets that are asked for in turn by each busy isolate.
pub struct Load {
    pub name: &'static str,
    budgets: &'static [&'static str],
    tenants: &'static [&'static str],
    /// Checks a second, of one isolate and of all the budgets.
    per_sec: u32,
}

/// What runs at the same time.
pub const LOADS: [Load; 2] = [
    Load {
        name: "1,500 checks per isolate and window, four tenants",
        budgets: &["busy"],
        tenants: &["enterprise:a", "pro:b", "free:c", "free:d"],
        per_sec: 150,
    },
    Load {
        name: "100 checks per isolate and window, one tenant",
        budgets: &["b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7"],
        tenants: &["pro:acme"],
        per_sec: 80,
    },
];

impl Load {
    /// Twice what all isolates ask for in a window.
    fn limit(&self) -> u64 {
        let windows = u64::from(self.per_sec) * WINDOW_MS / 1_000 / self.budgets.len() as u64;
        2 * REGIONS.len() as u64 * windows
    }

    fn asks(&self, port: u16) -> Vec<Ask> {
        let tenants = self.tenants.iter();
        tenants
            .flat_map(|tenant| self.budgets.iter().map(move |budget| (tenant, budget)))
            .map(|(tenant, budget)| check(port, tenant, budget).admitted(1))
            .collect()
    }
}

fn check(port: u16, tenant: &str, budget: &str) -> Ask {
    let question = json!({ "tenant": tenant, "budget": budget, "cost": 1 });
    Ask::post(port, "/v1/check", TOKEN, &question)
}

/// A running deployment.
pub struct Deployment {
    pub weir: Workerd,
    /// How far its clock is ahead of the machine's.
    ahead: Duration,
}

impl Deployment {
    /// Starts one whose regions are so far from the coordinator. Clocks that are ahead by different parts of a window keep
    /// deployments that share a machine from rolling their windows at the same instant.
    pub async fn start(round_trip: Duration, ahead: Duration) -> Result<Self> {
        let regions: Vec<&str> = (0..REGIONS.len() + COLD)
            .map(|isolate| REGIONS[isolate % REGIONS.len()])
            .collect();
        let weir = Setup::isolates(&regions)
            .witnessed()
            .optimised()
            .start()
            .await?;
        for client in weir.clients()? {
            Witness::of(&client).ahead(ahead).await?;
        }
        let witness = weir.witness()?;
        witness.far("Coordinator/exchange", round_trip).await?;
        let client = weir.client(0)?;
        let saved = client.save_policy(&document()).await?;
        // Not those that are to be cold.
        for isolate in 0..REGIONS.len() {
            let client = weir.client(isolate)?;
            let deadline = Duration::from_secs(5);
            client.await_revision(saved.revision()?, deadline).await?;
        }
        Ok(Self { weir, ahead })
    }

    /// The samples of each load after the warm-up, and how long the first checks of the cold isolates took.
    pub fn run(
        &self,
        warm_up: Duration,
        duration: Duration,
    ) -> Result<(Vec<Vec<Sample>>, Vec<Duration>)> {
        let measured_from_ms = clock::epoch_ms() + warm_up.as_millis() as u64;
        thread::scope(|scope| {
            let mut running = Vec::new();
            for (index, load) in LOADS.iter().enumerate() {
                for isolate in 0..REGIONS.len() {
                    let paced = Paced {
                        asks: load.asks(self.weir.port(isolate)?),
                        per_sec: load.per_sec,
                        connections: CONNECTIONS,
                        phase: isolate as f64 / REGIONS.len() as f64,
                    };
                    running.push((index, scope.spawn(move || paced.run(duration))));
                }
            }
            let cold = self.ask_cold(warm_up, duration)?;
            let mut loads = vec![Vec::new(); LOADS.len()];
            for (index, run) in running {
                let run = run.join().map_err(|_| anyhow::anyhow!("a load panicked"));
                loads[index].extend(run??);
            }
            for samples in &mut loads {
                samples.retain(|sample| sample.due_at_ms >= measured_from_ms);
                // By the clock that the windows go by.
                for sample in samples {
                    sample.due_at_ms += self.ahead.as_millis() as u64;
                }
            }
            Ok((loads, cold))
        })
    }

    /// Spread over the time that is measured.
    fn ask_cold(&self, warm_up: Duration, duration: Duration) -> Result<Vec<Duration>> {
        thread::sleep(warm_up);
        (REGIONS.len()..REGIONS.len() + COLD)
            .map(|isolate| {
                thread::sleep((duration - warm_up) / (COLD as u32 + 1));
                check(self.weir.port(isolate)?, "pro:b", "busy").once()
            })
            .collect()
    }
}

fn document() -> Value {
    let budgets: Map<String, Value> = LOADS
        .iter()
        .flat_map(|load| load.budgets.iter().map(|name| (name, load.limit())))
        .map(|(name, limit)| {
            let budget = json!({ "limit": limit, "window_ms": WINDOW_MS, "sharing": "weighted_fair_escrow",
                                 "scope": "global", "reserve": "paced" });
            ((*name).to_owned(), budget)
        })
        .collect();
    with(policy(1, WINDOW_MS), "/budgets", Value::Object(budgets))
}
