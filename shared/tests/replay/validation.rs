//! What a constructor accepts. The texts of its errors are ThrottleKit's own.

use serde_json::{Map, Value};
use weir_shared::units::EpochMs;

use super::Replay;
use super::config::{self, Unfit};
use super::line::{Op, Sequence};
use super::report::{Outcome, Why};

struct Validation {
    config: Map<String, Value>,
}

pub fn start(sequence: &Sequence) -> Result<Box<dyn Replay>, Why> {
    let config = config::options(&sequence.config).map_err(Unfit::why)?;
    Ok(Box::new(Validation {
        config: config.clone(),
    }))
}

impl Replay for Validation {
    fn apply(&mut self, op: &Op, _now: EpochMs) -> Outcome {
        if op.op != "construct" {
            return Outcome::failed("a known operation", &op.op);
        }
        let config = Value::Object(self.config.clone());
        let built = match self.config.get("feature").and_then(Value::as_str) {
            // Decimals that make a ratio are told as one only where they are accepted.
            Some("strategy") if op.threw() => config::body(&self.config)
                .and_then(|body| config::single(&body, 1))
                .map(|limit| Some(limit.machine.ceiling())),
            Some("strategy") => {
                config::limit(&config, 1).map(|limit| Some(limit.machine.ceiling()))
            }
            Some("leaky") => config::leaky_bucket(&config, 1).map(|_| None),
            other => {
                let why = format!("a feature that Weir does not have: {other:?}");
                return Outcome::Skipped(why.into());
            }
        };
        match (op.threw(), built) {
            (true, Err(Unfit::Refused(_))) => {
                Outcome::PassedExcept("the text of the refusal".into())
            }
            (true, Ok(_)) if self.config.get("maxQueueMs") == Some(&Value::from(0)) => {
                Outcome::Skipped("a queue in which nothing waits, which Weir takes".into())
            }
            (true, Ok(_)) => Outcome::failed(&op.result, "a limit"),
            (_, Err(unfit)) => Outcome::Skipped(unfit.why()),
            (false, Ok(ceiling)) => accepted(op, ceiling),
        }
    }
}

fn accepted(op: &Op, ceiling: Option<u64>) -> Outcome {
    let limit = op.result.get("ok").and_then(|ok| ok.get("limit"));
    let limit = limit.and_then(Value::as_f64);
    match (limit, ceiling) {
        (Some(limit), Some(ceiling)) if limit.floor() != ceiling as f64 => {
            Outcome::failed(&op.result, format!("a ceiling of {ceiling}"))
        }
        _ if op.result.get("ok").is_none() => Outcome::failed("ok", &op.result),
        _ => Outcome::Passed,
    }
}
