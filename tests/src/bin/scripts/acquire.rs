//! A slot that is kept for longer than its lease, given back, and lost.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use tokio::time::{sleep, timeout};
use weir_client::{Reason, Weir};

use super::shared::{TENANT, heard, tell};

/// Longer than the lease of six seconds.
const LONG: Duration = Duration::from_secs(8);

const GUARD: &str = "calls";

/// Whether somebody else could have it.
async fn other(weir: &Weir) -> Result<Reason> {
    let outcome = weir.acquire(TENANT, GUARD, |_| async {}).await?;
    Ok(outcome.decision().reason)
}

pub async fn run() -> Result<()> {
    let (weir, heard) = heard()?;
    let weir = &weir;
    let held = weir.acquire(TENANT, GUARD, |slot| async move {
        sleep(LONG).await;
        let other = other(weir).await.ok();
        json!({ "lost": slot.lost().is_some(), "other": other })
    });
    let held = held.await?.value();
    let paths = heard.answered();
    let renewed = |path: &&String| *path == "/v1/guards/calls/renew 200";
    let renewals = paths.iter().filter(renewed).count();
    let released = paths.last();

    let thrown = weir.acquire(TENANT, GUARD, |_| async { Err::<(), _>("inside") });
    let thrown = thrown.await?.value().and_then(Result::err);

    // At the end of a block, where it is dropped.
    let mut block = Vec::new();
    {
        let slot = weir
            .slot(&weir_client::Item::guard(GUARD).tenant(TENANT))
            .await?;
        block.push(slot.decision().reason);
        block.push(other(weir).await?);
    }
    // It is given back in the background.
    let mut last = other(weir).await?;
    while last == Reason::Concurrency {
        sleep(Duration::from_millis(10)).await;
        last = other(weir).await?;
    }
    block.push(last);

    let listening = &heard;
    let lost = weir.acquire(TENANT, GUARD, |slot| async move {
        // Somebody else gives it back.
        let named = slot.decision().slot.clone().unwrap_or_default();
        let _given = weir.release(GUARD, &named).await;
        let lost = timeout(Duration::from_secs(20), slot.until_lost()).await;
        listening.take();
        lost.map_or_else(|_| "nothing was said".to_owned(), |lost| lost.to_string())
    });
    let lost = lost.await?.value();
    tell(&json!({
        "held": held, "renewals": renewals, "released": released, "thrown": thrown, "block": block, "lost": lost,
        "after": heard.paths(),
    }));
    Ok(())
}
