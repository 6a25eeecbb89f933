//! Weir is killed in the middle of it all, and comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};
use weir_client::{Decision, Fail, Options, Weir};

use weir_shared::ordered::OrderedSet;

use super::shared::{TENANT, next_line, options, tell, tokens};

const COST: u64 = 5;
const GUARD: &str = "calls";

fn patient(fail: Fail) -> Options {
    options(fail).timeout_ms(15_000).retries(1)
}

struct Clients {
    open: Weir,
    closed: Weir,
    batching: Weir,
}

impl Clients {
    fn new() -> Result<Self> {
        Ok(Self {
            open: Weir::new(patient(Fail::Open))?,
            closed: Weir::new(patient(Fail::Closed))?,
            batching: Weir::new(patient(Fail::Open).batch_ms(20))?,
        })
    }

    /// What each client makes of it.
    async fn ask(&self) -> Result<Value> {
        let batch = &self.batching;
        let (one, other) = tokio::join!(batch.check(tokens(COST)), batch.check(tokens(COST)));
        let open = self.open.check(tokens(COST)).await?;
        let closed = self.closed.check(tokens(COST)).await?;
        Ok(json!([
            told(&open),
            told(&closed),
            told(&one?),
            told(&other?)
        ]))
    }

    /// Whether a scope of each kind runs.
    async fn ran(&self) -> Result<Vec<Option<&'static str>>> {
        let mut ran = Vec::new();
        for weir in [&self.open, &self.closed] {
            let reserved = weir.reserve(tokens(COST), |_| async { Ok::<_, ()>("ran") });
            ran.push(reserved.await?.value().and_then(Result::ok));
            let acquired = weir.acquire(TENANT, GUARD, |_| async { "ran" });
            ran.push(acquired.await?.value());
        }
        Ok(ran)
    }
}

fn told(decision: &Decision) -> Value {
    let mut told = json!({
        "allowed": decision.allowed, "reason": decision.reason, "retry_after_ms": decision.retry_after_ms,
    });
    if let Some(cause) = &decision.cause {
        told["cause"] = json!(cause.title);
    }
    told
}

pub async fn run() -> Result<()> {
    let clients = Clients::new()?;
    tell(&clients.ask().await?);

    // Checks never stop meanwhile: none of them is an error, and each is answered one way or the other.
    let (running, passed) = (Arc::new(AtomicBool::new(true)), Arc::new(Notify::new()));
    let traffic: Vec<_> = (0..4)
        .map(|_| {
            let (weir, running) = (clients.closed.clone(), Arc::clone(&running));
            let passed = Arc::clone(&passed);
            tokio::spawn(async move {
                let mut reasons = OrderedSet::new();
                while running.load(Ordering::Relaxed) {
                    let decision = weir.check(tokens(0)).await?;
                    let reason = json!(decision.reason);
                    let reason = reason.as_str().unwrap_or_default().to_owned();
                    reasons.insert(format!("{reason} {}", decision.allowed));
                    if decision.allowed {
                        passed.notify_one();
                    }
                }
                anyhow::Ok(reasons)
            })
        })
        .collect();
    let (taken, has_taken) = oneshot::channel();
    let guarded = async {
        let outcome = clients.open.acquire(TENANT, GUARD, |slot| async move {
            let _told = taken.send(());
            slot.until_lost().await.to_string()
        });
        outcome.await?.value().context("there is no slot")
    };
    let held = async {
        let outcome = clients
            .open
            .reserve(tokens(COST), |reservation| async move {
                // Weir dies once it is told: the slot is taken before, and a check has passed.
                has_taken.await?;
                passed.notified().await;
                tell(&json!("reserved"));
                next_line().await;
                reservation.used(1);
                anyhow::Ok("kept")
            });
        outcome.await?.value().context("nothing is reserved")?
    };
    let (lost, value) = tokio::try_join!(guarded, held)?;
    let ran = clients.ran().await?;
    // The scripts of other clients name them in the same order: open, then closed.
    tell(&json!({ "value": value, "lost": lost, "ran": ran, "asked": clients.ask().await? }));

    next_line().await;
    running.store(false, Ordering::Relaxed);
    let mut reasons = OrderedSet::new();
    for one in traffic {
        reasons.extend(one.await??);
    }
    tell(&json!({ "asked": clients.ask().await?, "reasons": reasons }));
    Ok(())
}
