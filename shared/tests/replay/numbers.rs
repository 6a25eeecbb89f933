//! Numbers of the vectors as those of Weir, and answers compared by value.

use serde_json::{Map, Value};
use weir_shared::fairness::weight::Weight;
use weir_shared::invalid::{Fault, Invalid};
use weir_shared::units::EpochMs;

use super::line::whole;
use super::report::{Outcome, Why};

/// A whole number of the configuration.
pub fn positive(config: &Value, name: &str) -> Result<u64, Why> {
    let value = config.get(name).unwrap_or(&Value::Null);
    whole(value).ok_or_else(|| format!("a {name} that is no whole number: {value}").into())
}

/// A number of the configuration, rounded down.
pub fn floor(config: &Value, name: &str) -> Result<u64, Why> {
    let value = config.get(name).unwrap_or(&Value::Null);
    let number = value.as_f64().map(f64::floor).map(Value::from);
    let floor = number.as_ref().and_then(whole);
    floor.ok_or_else(|| format!("a {name} that is no number: {value}").into())
}

/// A weight, which may be any number or the name of one. `None` stands for 1.
pub fn weight(value: Option<&Value>) -> Result<Weight, Fault> {
    let Some(value) = value else {
        return Ok(Weight::WHOLE);
    };
    Weight::try_from(value.as_f64().unwrap_or(f64::NAN))
}

/// What a refusal of Weir's reads as.
pub fn outside(invalid: Invalid) -> Why {
    format!("outside Weir's bounds: {invalid}").into()
}

/// The window in which Weir and the vector have gone apart, for a reason. The next begins anew.
#[derive(Debug, Default)]
pub struct Apart {
    until: Option<EpochMs>,
    why: Why,
}

impl Apart {
    /// From `now` to the end of its window.
    pub fn begin(&mut self, why: impl Into<Why>, now: EpochMs, window_ms: u64) {
        self.until = Some(EpochMs((now.0 / window_ms + 1) * window_ms));
        self.why = why.into();
    }

    /// What comes of an outcome at `now` about a window that began at `opened_at`.
    pub fn outcome(&self, outcome: Outcome, now: EpochMs, opened_at: Option<EpochMs>) -> Outcome {
        match self.until {
            Some(until) if now < until || opened_at.is_some_and(|opened| opened < until) => {
                Outcome::Skipped(self.why.clone())
            }
            _ => outcome,
        }
    }
}

/// The beginning of a window that may never have opened.
pub fn window_start(opened_at: Option<EpochMs>) -> Value {
    opened_at.map_or("-Infinity".into(), |opened_at| opened_at.0.into())
}

/// Whether both are the same, by the value of their numbers.
pub fn equal(expected: &Value, got: &Value) -> Outcome {
    if plain(expected) == plain(got) {
        Outcome::Passed
    } else {
        Outcome::failed(expected, got.to_string())
    }
}

/// 4.0 as 4.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(_) => whole(value).map_or_else(|| value.clone(), Value::from),
        Value::Array(list) => list.iter().map(plain).collect(),
        Value::Object(map) => {
            let entries = map.iter().map(|(name, value)| (name.clone(), plain(value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        _ => value.clone(),
    }
}
