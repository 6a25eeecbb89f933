//! Checks at a pace, whatever the answers take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};
use weir_tests::client::Client;
use weir_tests::clock::{epoch_ms, now};

/// Requests under way to one isolate at a time, at most.
const WORKERS: u64 = 32;

/// Tenants of [`Traffic::Zipf`].
const TENANTS: u64 = 10_000;

/// How requests come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traffic {
    /// Evenly, of one tenant.
    Steady,
    /// One second at twice the rate, one of silence.
    Bursty,
    /// Evenly, of 10,000 tenants by Zipf's law.
    Zipf,
}

impl Traffic {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Steady, Self::Bursty, Self::Zipf];

    /// What it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Bursty => "bursty",
            Self::Zipf => "10,000 tenants, Zipf",
        }
    }

    /// At how many times the mean rate requests are sent while they are.
    fn factor(self) -> u64 {
        if self == Self::Bursty { 2 } else { 1 }
    }

    /// Whether nothing is sent at this time since the start.
    fn silent(self, elapsed: Duration) -> bool {
        self == Self::Bursty && elapsed.as_secs() % 2 == 1
    }

    /// The tenant of a request: a multiplicative hash stands in for a random number, so that each run asks alike.
    fn tenant(self, turn: u64) -> String {
        if self != Self::Zipf {
            return "pro:load".to_owned();
        }
        let hash = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11;
        let uniform = hash as f64 / (1_u64 << 53) as f64;
        // The inverse of ln(rank) / ln(tenants): ranks whose frequency falls as 1 / rank.
        let rank = (TENANTS as f64).powf(uniform) as u64;
        format!("pro:t{rank}")
    }
}

/// What came back.
#[derive(Debug, Default)]
pub struct Answers {
    /// Epoch milliseconds of admitted answers.
    pub admitted_at_ms: Vec<u64>,
    /// All decisions.
    pub checks: u64,
    /// Requests without a decision.
    pub failed: u64,
}

/// Sends `rate` checks a second over all clients for a while.
pub async fn send(
    clients: &[Client],
    budget: &str,
    traffic: Traffic,
    rate: u64,
    lasts: Duration,
) -> Result<Answers> {
    let turns = Arc::new(AtomicU64::new(0));
    let started = now();
    let workers = WORKERS * clients.len() as u64;
    let gap = Duration::from_secs_f64(workers as f64 / (rate * traffic.factor()) as f64);
    let mut senders = JoinSet::new();
    for client in clients {
        for worker in 0..WORKERS {
            let (client, turns, budget) = (client.clone(), turns.clone(), budget.to_owned());
            senders.spawn(async move {
                let mut answers = Answers::default();
                let first = Instant::now() + gap.mul_f64(worker as f64 / WORKERS as f64);
                let mut ticks = tokio::time::interval_at(first, gap);
                ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
                while started.elapsed() < lasts {
                    ticks.tick().await;
                    if traffic.silent(started.elapsed()) {
                        continue;
                    }
                    let tenant = traffic.tenant(turns.fetch_add(1, Ordering::Relaxed));
                    let question: Value = json!({ "tenant": tenant, "budget": budget, "cost": 1 });
                    match client.decide(&question).await {
                        Ok(checked) if checked.decision.allowed => {
                            answers.admitted_at_ms.push(epoch_ms());
                        }
                        Ok(_) => {}
                        Err(error) => {
                            answers.failed += 1;
                            eprintln!("{error:#}");
                            continue;
                        }
                    }
                    answers.checks += 1;
                }
                answers
            });
        }
    }
    let mut all = Answers::default();
    while let Some(ended) = senders.join_next().await {
        let answers = ended.context("a sender failed")?;
        all.admitted_at_ms.extend(answers.admitted_at_ms);
        all.checks += answers.checks;
        all.failed += answers.failed;
    }
    // A connection that the server closes while a request is on its way is no decision.
    ensure!(
        all.failed * 20 <= all.checks,
        "{} requests of {} were not decided",
        all.failed,
        all.checks + all.failed
    );
    Ok(all)
}
