//! A check whose first answer is lost on its way.

use anyhow::Result;
use serde_json::{Value, json};
use weir_client::CallOptions;

use super::shared::{Heard, heard, left, tell, tokens};

/// The tries, and how long after the first the second was sent.
fn tries(heard: &Heard) -> (Vec<Value>, Option<f64>) {
    let notes = heard.take();
    let sent: Vec<_> = notes
        .iter()
        .filter(|one| one.status.is_none())
        .map(|one| one.sent)
        .collect();
    let apart = sent
        .get(1)
        .map(|second| (*second - sent[0]).as_secs_f64() * 1_000.0);
    let tried = notes.iter().filter_map(|one| {
        let status = one.status?;
        Some(json!({ "path": one.path, "attempt": one.attempt, "status": status }))
    });
    (tried.collect(), apart)
}

pub async fn run() -> Result<()> {
    let (weir, heard) = heard()?;
    let twice = CallOptions {
        retries: Some(2),
        ..CallOptions::default()
    };
    let decision = weir.with(twice)?.check(tokens(30)).await?;
    let (tried, apart_ms) = tries(&heard);
    let after = left(&weir).await?;
    heard.take();
    let once = weir.check(tokens(30)).await?;
    let (once_tries, _) = tries(&heard);
    tell(&json!({
        "check": { "allowed": decision.allowed, "remaining": decision.remaining },
        "tries": tried, "apart_ms": apart_ms, "left": after,
        "once": { "allowed": once.allowed, "reason": once.reason },
        "onceTries": once_tries, "end": left(&weir).await?,
    }));
    Ok(())
}
