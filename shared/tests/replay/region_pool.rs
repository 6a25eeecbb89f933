//! The pool that regions share.

use serde_json::{Value, json};
use weir_reference::region_pool::{RegionPool, RegionPoolState};
use weir_shared::units::EpochMs;
use weir_shared::wire::stored::read_row;

use super::Replay;
use super::line::{Op, Sequence, whole};
use super::numbers::{self, Apart, weight, window_start};
use super::report::{Outcome, Why};

struct Shared {
    pool: RegionPool,
    apart: Apart,
}

pub fn start(sequence: &Sequence) -> Result<Box<dyn Replay>, Why> {
    let pool = pool(&sequence.config)?;
    let apart = Apart::default();
    Ok(Box::new(Shared { pool, apart }))
}

/// The pool of a configuration; its limit is rounded down, as there.
pub fn pool(config: &Value) -> Result<RegionPool, Why> {
    let window_ms = numbers::positive(config, "windowMs")?;
    let limit = numbers::floor(config, "limit")?;
    RegionPool::new(limit, window_ms).map_err(numbers::outside)
}

/// The pool's answer to `stats`.
pub fn stats(pool: &RegionPool) -> Value {
    let regions = pool.regions().iter().map(|grant| {
        let weight = grant.weight.micros() as f64 / 1e6;
        json!({"region": grant.region, "weight": weight, "granted": grant.granted})
    });
    json!({
        "windowStart": window_start(pool.opened_at()),
        "limit": pool.limit(),
        "totalGranted": pool.granted_total(),
        "regions": regions.collect::<Vec<_>>(),
    })
}

impl Replay for Shared {
    fn apply(&mut self, op: &Op, now: EpochMs) -> Outcome {
        let region = op.text("region").unwrap_or_default();
        let outcome = match op.op.as_str() {
            "stats" => numbers::equal(&op.result, &stats(&self.pool)),
            "release" => {
                self.pool.release(region);
                numbers::equal(&op.result, &Value::Null)
            }
            "grant" => self.grant(op, region, now),
            other => Outcome::failed("a known operation", other),
        };
        if self.pool.granted_total() > self.pool.limit() {
            return Outcome::failed("at most the limit", self.pool.granted_total());
        }
        if let Err(error) = self.survives_storage() {
            return Outcome::failed("a pool that survives storage", error);
        }
        // A window that a grant at this moment would have opened is that of the moment.
        let opened_at = match op.op.as_str() {
            "grant" => Some(now),
            _ => self.pool.opened_at(),
        };
        self.apart.outcome(outcome, now, opened_at)
    }
}

impl Shared {
    fn grant(&mut self, op: &Op, region: &str, now: EpochMs) -> Outcome {
        let Some(want) = op.args.get("want").and_then(whole) else {
            let why = "a want that is no integer, and what follows in its window";
            self.apart.begin(why, now, self.pool.window_ms());
            return Outcome::Skipped(why.into());
        };
        match (weight(op.args.get("weight")), op.threw()) {
            (Err(_), true) => Outcome::PassedExcept("the text of the refusal".into()),
            (Ok(_), true) => Outcome::failed(&op.result, "a weight that Weir takes"),
            (Err(fault), false) => Outcome::SkippedFromHere(
                format!("a weight that Weir refuses, and what follows: {fault}").into(),
            ),
            (Ok(weight), false) => match self.pool.grant(region, weight.into(), want, now) {
                Ok(granted) => numbers::equal(&op.result, &granted.into()),
                Err(invalid) => {
                    Outcome::SkippedFromHere(format!("outside Weir's bounds: {invalid}").into())
                }
            },
        }
    }

    /// Writes the pool as a row and goes on with what was read.
    fn survives_storage(&mut self) -> Result<(), String> {
        let row = serde_json::to_string(&self.pool.state()).map_err(|error| error.to_string())?;
        let state: RegionPoolState = read_row(&row).map_err(|damaged| damaged.to_string())?;
        let read = RegionPool::try_from(state).map_err(|damaged| damaged.to_string())?;
        if read != self.pool {
            return Err(row);
        }
        self.pool = read;
        Ok(())
    }
}
