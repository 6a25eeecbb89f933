//! A witness before the Worker: counts the calls that its objects get, makes some of them fail or take long, and
//! moves its clock.
//!
//! It is a module of its own (`fixtures/witness`) that hands everything else on to the Worker under test. Calls are
//! named by class and route, such as `Region/decide`; live sockets by their region, too: `Ledger/live weur` is opened and
//! `Ledger/message weur` is what its client says over it. Objects live beside the first isolate, so it alone is asked.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use weir_shared::ordered::OrderedMap;

use crate::client::Client;
use crate::clock;

/// The module that is served in the place of the Worker's entry.
pub const SCRIPT: &str = include_str!("../fixtures/witness/witness.js");

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// It arrives and is never answered, nor carried out.
    Stall,
    /// It fails before it arrives.
    Refuse,
    /// It is carried out, and its answer is lost.
    Lose,
}

/// What the witness has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Seen {
    /// Calls by name, those that failed included.
    pub calls: OrderedMap<String, u64>,
    /// Calls that a fault has met.
    pub struck: u64,
}

impl Seen {
    /// Calls of that name.
    #[must_use]
    pub fn count(&self, call: &str) -> u64 {
        self.calls.get(call).copied().unwrap_or(0)
    }
}

/// The witness of one isolate.
#[derive(Debug, Clone)]
pub struct Witness(Client);

impl Witness {
    /// The witness that stands before the isolate of a client.
    #[must_use]
    pub fn of(client: &Client) -> Self {
        Self(client.anonymous())
    }

    /// What it has seen since workerd started.
    pub async fn seen(&self) -> Result<Seen> {
        self.0.get("/witness/seen").await?.ok()
    }

    /// Calls an object as another object would: by its binding, its name and the call's name on the wire.
    pub async fn call<R: DeserializeOwned>(
        &self,
        (binding, name): (&str, &str),
        route: &str,
        body: &impl Serialize,
    ) -> Result<R> {
        let call = json!({ "binding": binding, "name": name, "route": route, "body": body });
        self.0.post("/witness/object", &call).await?.ok()
    }

    /// Ends the life of an object, with every socket that it has.
    pub async fn abort(&self, binding: &str, name: &str) -> Result<()> {
        let call = json!({ "binding": binding, "name": name, "route": "abort", "body": {} });
        // What is aborted does not answer.
        let _unanswered = self.0.post("/witness/object", &call).await?;
        Ok(())
    }

    /// Makes the next `times` calls of that name fail.
    pub async fn fault(&self, call: &str, kind: Fault, times: u64) -> Result<()> {
        let fault = json!({ "call": call, "kind": kind, "times": times });
        let _seen: Seen = self.0.post("/witness/fault", &fault).await?.ok()?;
        Ok(())
    }

    /// Delays every call of that name by so much, before it is carried out.
    pub async fn slow(&self, call: &str, by: Duration) -> Result<()> {
        self.delay(call, "slow", by).await
    }

    /// Delays the answer of every call of that name by so much, after it was carried out.
    pub async fn late(&self, call: &str, by: Duration) -> Result<()> {
        self.delay(call, "late", by).await
    }

    /// Moves the object away: every call of that name takes so much longer, half of it there and half of it back.
    pub async fn far(&self, call: &str, round_trip: Duration) -> Result<()> {
        self.delay(call, "far", round_trip / 2).await
    }

    async fn delay(&self, call: &str, kind: &str, by: Duration) -> Result<()> {
        let by_ms = by.as_millis() as u64;
        let fault = json!({ "call": call, "kind": kind, "times": u32::MAX, "by_ms": by_ms });
        let _seen: Seen = self.0.post("/witness/fault", &fault).await?.ok()?;
        Ok(())
    }

    /// Lets every call pass again.
    pub async fn calm(&self) -> Result<()> {
        let _seen: Seen = self.0.get("/witness/calm").await?.ok()?;
        Ok(())
    }

    /// Sets the clock that the isolate and its objects read, so much ahead of the machine's.
    pub async fn ahead(&self, by: Duration) -> Result<()> {
        let ahead = json!({ "ahead_ms": by.as_millis() as u64 });
        let _seen: Seen = self.0.post("/witness/clock", &ahead).await?.ok()?;
        Ok(())
    }

    /// Waits until faults have met so many calls.
    pub async fn await_struck(&self, times: u64, deadline: Duration) -> Result<()> {
        let start = clock::now();
        loop {
            let seen = self.seen().await?;
            if seen.struck >= times {
                return Ok(());
            }
            ensure!(
                start.elapsed() < deadline,
                "{times} calls were to fail, after {deadline:?}: {seen:?}"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
