//! Weighted fair escrow in several processes over one store. Sequences are informative; that no window admits more than
//! its limit is not. In Weir each process is a holder of one pool, weighted by its tenants.

use serde_json::Value;
use weir_reference::federated_escrow::FederatedEscrow;
use weir_reference::region_pool::RegionPool;
use weir_shared::fairness::weight::Weight;
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;

use super::Replay;
use super::line::{Op, Sequence, whole};
use super::numbers::{self, weight};
use super::region_pool;
use super::report::{Outcome, Why};
use super::single::cost;

struct Processes {
    pool: RegionPool,
    escrows: OrderedMap<u64, FederatedEscrow>,
    weights: OrderedMap<String, Weight>,
    /// Units admitted, by window.
    admitted: OrderedMap<u64, u64>,
}

pub fn start(sequence: &Sequence) -> Result<Box<dyn Replay>, Why> {
    let processes = numbers::positive(&sequence.config, "processes")?;
    let weights = sequence.config.get("weights").and_then(Value::as_object);
    let weights = weights.into_iter().flatten().map(|(tenant, value)| {
        let weight = weight(Some(value)).map_err(|fault| format!("a weight: {fault}"))?;
        Ok((tenant.clone(), weight))
    });
    let escrow = |process: u64| (process, FederatedEscrow::new(&process.to_string()));
    Ok(Box::new(Processes {
        pool: region_pool::pool(&sequence.config)?,
        escrows: (0..processes).map(escrow).collect(),
        weights: weights.collect::<Result<_, Why>>()?,
        admitted: OrderedMap::new(),
    }))
}

impl Replay for Processes {
    fn apply(&mut self, op: &Op, now: EpochMs) -> Outcome {
        match op.op.as_str() {
            "check" => self.check(op, now),
            "stats" => Outcome::Skipped("what a process of another scheme holds".into()),
            "reset" => Outcome::Skipped("a reset, which forgets nothing in Weir".into()),
            other => Outcome::failed("a known operation", other),
        }
    }
}

impl Processes {
    fn check(&mut self, op: &Op, now: EpochMs) -> Outcome {
        let tenant = op.text("tenant").unwrap_or_default();
        let process = op.args.get("process").and_then(whole).unwrap_or(0);
        let cost = match cost(op) {
            Ok(cost) => cost,
            Err(outcome) => return outcome,
        };
        let Some(escrow) = self.escrows.get_mut(&process) else {
            return Outcome::failed("a known process", process);
        };
        let weight = self.weights.get(tenant).copied().unwrap_or(Weight::WHOLE);
        let decision = match escrow.check(&mut self.pool, tenant, weight, cost, now) {
            Ok(decision) => decision,
            Err(invalid) => return Outcome::SkippedFromHere(numbers::outside(invalid)),
        };
        let window = now.0 / self.pool.window_ms();
        let admitted = self.admitted.entry(window).or_default();
        if decision.admitted() {
            *admitted += cost;
        }
        if *admitted > self.pool.limit() {
            let most = format!("at most {} in a window", self.pool.limit());
            return Outcome::failed(most, *admitted);
        }
        match op.result.get("allowed").and_then(Value::as_bool) {
            Some(allowed) if allowed == decision.admitted() => {
                Outcome::PassedExcept("the ceiling, which depends on the scheme".into())
            }
            Some(true) => Outcome::Skipped("admitted there and denied here".into()),
            Some(false) => Outcome::Skipped("denied there and admitted here".into()),
            None => Outcome::failed(&op.result, decision),
        }
    }
}
