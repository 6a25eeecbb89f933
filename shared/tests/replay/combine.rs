//! `combine` of decisions.

use serde_json::Value;
use weir_shared::decision::Decision;
use weir_shared::units::EpochMs;

use super::Replay;
use super::decision::{Fields, ReferenceDecision};
use super::line::{Op, Sequence};
use super::report::{Outcome, Why};

struct Combine;

pub fn start(_sequence: &Sequence) -> Result<Box<dyn Replay>, Why> {
    Ok(Box::new(Combine))
}

impl Replay for Combine {
    fn apply(&mut self, op: &Op, _now: EpochMs) -> Outcome {
        let got = match op.op.as_str() {
            "identity" => Ok(Decision::IDENTITY),
            "combine" => decision(op.args.get("a"))
                .and_then(|a| decision(op.args.get("b")).map(|b| a.combine(b))),
            "fold" => fold(op.args.get("list")),
            other => Err(Outcome::failed("a known operation", other)),
        };
        match (ReferenceDecision::read(op.expected()), got) {
            (Ok(told), Ok(got)) => told.compare(&got, Fields::All),
            (Err(outcome), _) | (_, Err(outcome)) => outcome,
        }
    }
}

fn fold(list: Option<&Value>) -> Result<Decision, Outcome> {
    let Some(list) = list.and_then(Value::as_array) else {
        return Err(Outcome::failed("a list", list));
    };
    let mut sum = Decision::IDENTITY;
    for one in list {
        sum = sum.combine(decision(Some(one))?);
    }
    Ok(sum)
}

fn decision(value: Option<&Value>) -> Result<Decision, Outcome> {
    let told = ReferenceDecision::read(value.unwrap_or(&Value::Null))?;
    told.decision()
        .ok_or_else(|| Outcome::Skipped("a decision with a number that is no integer".into()))
}
