//! The names that the client writes down, for a comparison with the document of the interface.

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use weir_client::{Decision, Place, Reason, Settled, SlotState};

use super::shared::tell;

/// Each field of an answer that has all of them, and whether the answer is none without it.
fn fields<T: Serialize + DeserializeOwned>(full: Value) -> Result<Map<String, Value>> {
    let kept = serde_json::to_value(serde_json::from_value::<T>(full)?)?;
    let kept = kept.as_object().context("an object")?.clone();
    let names = kept.keys().map(|name| {
        let mut without = kept.clone();
        without.remove(name);
        // A field that may be null may be missing to serde, too; the answer has it all the same.
        let left =
            serde_json::from_value::<T>(Value::Object(without)).and_then(serde_json::to_value);
        let always = left.map_or(true, |left| left.get(name).is_some());
        (name.clone(), json!(always))
    });
    Ok(names.collect())
}

pub fn run() -> Result<()> {
    let decision = json!({
        "allowed": true, "reason": "admitted", "limit": 1, "remaining": 1, "reset_at": 1, "retry_after_ms": 1,
        "binding": "b", "region": "weur", "window": 1, "policy_revision": 1, "decision": "d", "reservation": "r",
        "slot": "s", "expires_at": 1,
    });
    let place = json!({ "accepted": true, "delay_ms": 1, "retry_after_ms": 1, "decision": "d" });
    let settled = json!({ "reserved": 1, "actual": 1, "refunded": 1, "debt": 1 });
    let reasons = [
        Reason::Admitted,
        Reason::OverShare,
        Reason::CapReached,
        Reason::LimitExceeded,
        Reason::Concurrency,
        Reason::Overloaded,
        Reason::Unavailable,
        Reason::Never,
        Reason::Unreachable,
    ];
    tell(&json!({
        "Decision": fields::<Decision>(decision)?,
        "ReserveReply": fields::<Place>(place)?,
        "SettleReply": fields::<Settled>(settled)?,
        "SlotReply": fields::<SlotState>(json!({ "held": true, "expires_at": 1 }))?,
        "Reason": reasons,
    }));
    Ok(())
}
