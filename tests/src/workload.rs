//! Checks sent concurrently by several clients until they are told to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::task::JoinSet;
use weir_shared::wire::check::CheckRequest;

use crate::client::{Client, budget_check, limit_check};
use crate::clock;
use crate::history::{History, Operation, Outcome};

/// After a lost request: long enough not to spin while the server is down.
const RETRY_PAUSE: Duration = Duration::from_millis(25);

/// What the checks of a workload charge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A budget.
    Budget(String),
    /// One key of a limit.
    Limit {
        /// The limit.
        name: String,
        /// The key.
        key: String,
    },
}

impl Target {
    fn check(&self, tenant: &str, cost: u64) -> CheckRequest {
        match self {
            Self::Budget(budget) => budget_check(tenant, budget, cost),
            Self::Limit { name, key } => CheckRequest {
                tenant: Some(tenant.to_owned()),
                ..limit_check(name, key, cost)
            },
        }
    }
}

/// What to send. Every client runs `workers` loops; each sends, waits for the answer, pauses, and goes on with the
/// next tenant and cost of its lists.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Who sends.
    pub clients: Vec<Client>,
    /// What is charged.
    pub target: Target,
    /// For whom, in turn.
    pub tenants: Vec<String>,
    /// How much, in turn.
    pub costs: Vec<u64>,
    /// Loops for each client.
    pub workers: usize,
    /// The pause of each loop between an answer and the next request.
    pub pause: Duration,
}

impl Workload {
    /// Unit costs of one tenant on a budget, from every client.
    pub fn new(clients: Vec<Client>, budget: &str) -> Self {
        Self::on(clients, Target::Budget(budget.to_owned()))
    }

    /// Unit costs on one key of a limit, from every client.
    pub fn on_limit(clients: Vec<Client>, limit: &str, key: &str) -> Self {
        let (name, key) = (limit.to_owned(), key.to_owned());
        Self::on(clients, Target::Limit { name, key })
    }

    fn on(clients: Vec<Client>, target: Target) -> Self {
        Self {
            clients,
            target,
            tenants: vec!["pro:load".to_owned()],
            costs: vec![1],
            workers: 4,
            pause: Duration::from_millis(25),
        }
    }

    /// Starts sending.
    pub fn start(self) -> Running {
        Self::start_all(vec![self])
    }

    /// Starts several workloads at the same time, with one history. Clients are numbered within each workload.
    pub fn start_all(workloads: Vec<Self>) -> Running {
        let (history, stop, origin) = (
            History::default(),
            Arc::new(AtomicBool::new(false)),
            clock::now(),
        );
        let mut tasks = JoinSet::new();
        for workload in workloads {
            for (index, client) in workload.clients.iter().enumerate() {
                for worker in 0..workload.workers {
                    let sender = Sender {
                        index,
                        client: client.clone(),
                        history: history.clone(),
                        stop: stop.clone(),
                        origin,
                    };
                    tasks.spawn(sender.run(workload.clone(), worker));
                }
            }
        }
        Running {
            history,
            stop,
            origin,
            tasks,
        }
    }

    /// Sends for a time and returns what was seen.
    pub async fn run(self, time: Duration) -> Result<Vec<Operation>> {
        let running = self.start();
        tokio::time::sleep(time).await;
        running.stop().await
    }
}

/// A workload under way.
pub struct Running {
    history: History,
    stop: Arc<AtomicBool>,
    origin: Instant,
    tasks: JoinSet<()>,
}

impl Running {
    /// What was seen so far.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The time since it started, as the operations of its history count it.
    pub fn elapsed(&self) -> Duration {
        self.origin.elapsed()
    }

    /// When it started.
    pub fn origin(&self) -> Instant {
        self.origin
    }

    /// Stops sending, waits for the answers that are due, and returns everything that was seen.
    pub async fn stop(mut self) -> Result<Vec<Operation>> {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(ended) = self.tasks.join_next().await {
            ended.context("a sender of the workload failed")?;
        }
        Ok(self.history.operations())
    }
}

struct Sender {
    index: usize,
    client: Client,
    history: History,
    stop: Arc<AtomicBool>,
    origin: Instant,
}

impl Sender {
    async fn run(self, workload: Workload, worker: usize) {
        for step in 0.. {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let tenant = &workload.tenants[(worker + step) % workload.tenants.len()];
            let cost = workload.costs[(worker * 7 + step) % workload.costs.len()];
            let check = workload.target.check(tenant, cost);
            let lost = self.send(check, tenant, cost).await;
            tokio::time::sleep(if lost { RETRY_PAUSE } else { workload.pause }).await;
        }
    }

    async fn send(&self, request: CheckRequest, tenant: &str, cost: u64) -> bool {
        let sent = self.origin.elapsed();
        let outcome = outcome(&self.client, &request).await;
        let lost = matches!(outcome, Outcome::Lost(_));
        let received = self.origin.elapsed();
        self.history.push(Operation {
            client: self.index,
            tenant: tenant.to_owned(),
            cost,
            sent,
            received,
            outcome,
        });
        lost
    }
}

async fn outcome(client: &Client, request: &CheckRequest) -> Outcome {
    match client.post("/v1/check", request).await {
        Err(error) => Outcome::Lost(format!("{error:#}")),
        Ok(reply) => match reply.ok() {
            Ok(decision) => Outcome::Decided(decision),
            Err(_) => Outcome::Refused {
                status: reply.status,
                body: reply.text(),
            },
        },
    }
}
