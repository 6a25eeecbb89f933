//! The batch allocations.

use serde_json::{Value, json};
use weir_shared::fairness::max_min::{allocate, guarantees};
use weir_shared::fairness::weight::Weight;
use weir_shared::units::EpochMs;

use super::Replay;
use super::line::{Op, Sequence, whole};
use super::report::{Outcome, Why};
use super::weights::Weights;

struct Batch;

pub fn start(_sequence: &Sequence) -> Result<Box<dyn Replay>, Why> {
    Ok(Box::new(Batch))
}

impl Replay for Batch {
    fn apply(&mut self, op: &Op, _now: EpochMs) -> Outcome {
        if op.op == "weightedMaxMin" {
            return Outcome::Skipped(
                "the float allocator, which is not the exact one in 3% of cases".into(),
            );
        }
        match numbers(op) {
            Some((weights, limit)) => compare(op, &weights, limit),
            None if op.threw() => Outcome::Skipped("numbers that both refuse".into()),
            None => Outcome::Skipped("numbers outside Weir's bounds".into()),
        }
    }
}

fn compare(op: &Op, weights: &[Weight], limit: u64) -> Outcome {
    let got = match op.op.as_str() {
        "waterfillInt" => {
            let Some(demands) = list(op, "demands").and_then(|demands| all(demands, units)) else {
                return Outcome::Skipped("demands outside Weir's bounds".into());
            };
            allocate(&demands, weights, limit)
        }
        "guaranteedShare" => guarantees(weights, limit),
        other => return Outcome::failed("a known operation", other),
    };
    if json!(got) == *op.expected() {
        return Outcome::Passed;
    }
    if op.op == "guaranteedShare" && floats(op).is_some_and(|float| float == *op.expected()) {
        return Outcome::Skipped("a number that f64 rounding has moved in the vector".into());
    }
    Outcome::failed(op.expected(), got)
}

fn numbers(op: &Op) -> Option<(Vec<Weight>, u64)> {
    let values = list(op, "weights")?;
    let weights = Weights::of(values.iter());
    let limit = op.args.get("limit")?.as_f64()?.floor();
    let weights = all(values, |value| weights.read(value).ok())?;
    Some((weights, whole(&json!(limit))?))
}

fn list<'a>(op: &'a Op, name: &str) -> Option<&'a Vec<Value>> {
    op.args.get(name)?.as_array()
}

fn all<T>(values: &[Value], read: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    values.iter().map(read).collect()
}

/// A demand is met by whole units: 80.3 by 81.
fn units(demand: &Value) -> Option<u64> {
    whole(&json!(demand.as_f64()?.ceil()))
}

/// The guarantees in the order of operations of the vectors.
fn floats(op: &Op) -> Option<Value> {
    let limit = op.args.get("limit")?.as_f64()?;
    let weights = all(list(op, "weights")?, Value::as_f64)?;
    let sum: f64 = weights.iter().sum();
    let shares = weights
        .iter()
        .map(|weight| (weight / sum * limit).floor() as u64);
    Some(json!(shares.collect::<Vec<_>>()))
}
