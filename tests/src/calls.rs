//! Typed calls of the routes that decide, for questions that are written as JSON.

use anyhow::Result;
use serde_json::{Value, json};
use weir_shared::wire::batch::BatchReply;
use weir_shared::wire::check::DecisionBody;
use weir_shared::wire::reserve::ReservationBody;
use weir_shared::wire::settle::SettledBody;

use crate::client::{Checked, Client};

impl Client {
    /// `POST /v1/check` with any question; an error unless the answer is a decision.
    pub async fn decide(&self, question: &Value) -> Result<Checked> {
        let reply = self.post("/v1/check", question).await?;
        Ok(Checked {
            decision: reply.ok()?,
            reply,
        })
    }

    /// `POST /v1/check/batch`.
    pub async fn batch(&self, questions: &[Value]) -> Result<Vec<DecisionBody>> {
        let body = json!({ "requests": questions });
        let reply: BatchReply = self.post("/v1/check/batch", &body).await?.ok()?;
        Ok(reply.decisions)
    }

    /// `POST /v1/reserve`: a place in the queue of a shaper.
    pub async fn place(&self, limit: &str, key: &str, cost: u64) -> Result<ReservationBody> {
        self.post("/v1/reserve", &charge(limit, key, cost))
            .await?
            .ok()
    }

    /// `POST /v1/settle`.
    pub async fn settle(&self, reservation: &str, actual: u64) -> Result<SettledBody> {
        let body = json!({ "reservation": reservation, "actual": actual });
        self.post("/v1/settle", &body).await?.ok()
    }
}

/// A charge of one key of a limit: a question, or one entry of several.
#[must_use]
pub fn charge(limit: &str, key: &str, cost: u64) -> Value {
    json!({ "limit": limit, "key": key, "cost": cost })
}

/// A charge of a limit that is made of others, each under its own key.
#[must_use]
pub fn charge_keys(limit: &str, keys: &[(&str, &str)], cost: u64) -> Value {
    let keys: serde_json::Map<String, Value> = keys
        .iter()
        .map(|(name, key)| ((*name).to_owned(), json!(key)))
        .collect();
    json!({ "limit": limit, "keys": keys, "cost": cost })
}

/// Several charges for one tenant, all or nothing.
#[must_use]
pub fn together(tenant: &str, checks: &[Value]) -> Value {
    json!({ "tenant": tenant, "checks": checks })
}

/// The same question, to be settled afterwards.
///
/// # Panics
/// When the question is not an object.
#[must_use]
pub fn reserved(mut question: Value) -> Value {
    let members = question.as_object_mut().expect("a question is an object");
    members.insert("reserve".to_owned(), json!(true));
    question
}
