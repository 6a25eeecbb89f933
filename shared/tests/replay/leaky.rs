//! The leaky bucket as a shaper.

use serde_json::{Value, json};
use weir_shared::algorithms::leaky_bucket::{LeakyBucket, LeakyBucketState};
use weir_shared::decision::Retry;
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;

use super::Replay;
use super::config;
use super::float::{At, FloatMachine, FloatState};
use super::line::{Op, Sequence};
use super::report::{Outcome, Why};
use super::single::{cost_in, rounding};

struct Shaper {
    /// In parts of a unit.
    bucket: LeakyBucket,
    /// Parts of a unit.
    scale: u64,
    states: OrderedMap<String, LeakyBucketState>,
    /// The same queues in floats, for configurations and costs with decimals.
    float: Option<(FloatMachine, OrderedMap<String, FloatState>)>,
}

pub fn start(sequence: &Sequence) -> Result<Box<dyn Replay>, Why> {
    let machine = FloatMachine::of(&sequence.config);
    let scale = sequence.scale();
    Ok(Box::new(Shaper {
        bucket: config::leaky_bucket(&sequence.config, scale).map_err(config::Unfit::why)?,
        scale,
        states: OrderedMap::new(),
        float: machine
            .filter(|_| config::is_decimal(&sequence.config) || scale > 1)
            .map(|machine| (machine, OrderedMap::new())),
    }))
}

impl Replay for Shaper {
    fn apply(&mut self, op: &Op, now: EpochMs) -> Outcome {
        let key = op.text("key").unwrap_or_default();
        match op.op.as_str() {
            "construct" if op.result == json!({"ok": true}) => Outcome::Passed,
            "reset" if op.result.is_null() => {
                self.states.remove(key);
                if let Some((_, states)) = &mut self.float {
                    states.remove(key);
                }
                Outcome::Passed
            }
            "reserve" => match cost_in(op, self.scale) {
                Ok(cost) => self.reserve(op, key, cost, now),
                Err(outcome) => outcome,
            },
            other => Outcome::failed(format!("a known operation, {}", op.result), other),
        }
    }
}

impl Shaper {
    fn reserve(&mut self, op: &Op, key: &str, cost: u64, now: EpochMs) -> Outcome {
        let reserved = self.bucket.reserve(self.states.get(key), cost, now);
        let float = self.reserve_in_floats(key, cost, now);
        if let Some(next) = reserved.next {
            self.states.insert(key.to_owned(), next);
        }
        let outcome = reserved.outcome;
        if outcome.retry == Retry::Never {
            return Outcome::SkippedFromHere(
                "a cost that takes over ten years to leave, and what follows".into(),
            );
        }
        // There a refusal tells as its delay what Weir tells as its retry.
        let delay_ms = if outcome.accepted {
            Some(outcome.delay_ms)
        } else {
            outcome.retry.after_ms()
        };
        let got = json!({"accepted": outcome.accepted, "delayMs": delay_ms});
        if got == *op.expected() {
            Outcome::Passed
        } else if op.result_exact.is_none() && float.as_ref() == Some(&op.result) {
            rounding(op.result.get("accepted") == Some(&outcome.accepted.into()))
        } else {
            Outcome::failed(op.expected(), got)
        }
    }

    fn reserve_in_floats(&mut self, key: &str, cost: u64, now: EpochMs) -> Option<Value> {
        let (machine, states) = self.float.as_mut()?;
        let units = cost as f64 / self.scale as f64;
        let (told, next) = machine.check(states.get(key).copied(), units, At::time(now));
        if let Some(next) = next {
            states.insert(key.to_owned(), next);
        }
        let delay_ms = if told.allowed {
            told.reset_at
        } else {
            told.retry_after_ms
        };
        Some(json!({"accepted": told.allowed, "delayMs": delay_ms as u64}))
    }
}
