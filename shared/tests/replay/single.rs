//! One strategy: a limit, and the states of its keys.

use serde_json::Value;
use weir_shared::algorithms::scale::{Scaled, ScaledState};
use weir_shared::decision::{Decision, Reason, Retry};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;

use super::Replay;
use super::config;
use super::decision::{Fields, ReferenceDecision};
use super::float::{At, FloatMachine, FloatState};
use super::line::{Cost, Op, Sequence};
use super::report::{Outcome, Why};

const HINT: &str = "the retry hint of a sliding window, which is not exact there";
const NEVER: &str = "the retry hint of a cost above the ceiling, which is never in Weir";

struct Single {
    limit: Scaled,
    states: OrderedMap<String, ScaledState>,
    /// Whether hints are those of a sliding window.
    slides: bool,
    /// Whether ThrottleKit broke its own bound somewhere.
    is_defect: bool,
    float: Option<Float>,
}

/// The same keys in floats, for configurations with decimals.
struct Float {
    machine: FloatMachine,
    states: OrderedMap<String, FloatState>,
}

pub fn start(sequence: &Sequence) -> Result<Box<dyn Replay>, Why> {
    // Where costs are fractions, floats round, and the formula in floats says by how much.
    let scale = match FloatMachine::of(&sequence.config) {
        Some(_) => sequence.scale(),
        None => 1,
    };
    let float = config::is_decimal(&sequence.config) || scale > 1;
    let is_defect = sequence.tag("defect:").is_some();
    Ok(Box::new(single(&sequence.config, scale, is_defect, float)?))
}

/// A strategy whose vectors have no exact results: a difference that 64-bit floats explain is none.
pub fn start_rounded(strategy: &Value) -> Result<Box<dyn Replay>, Why> {
    Ok(Box::new(single(strategy, 1, false, true)?))
}

fn single(strategy: &Value, scale: u64, is_defect: bool, float: bool) -> Result<Single, Why> {
    let limit = config::limit(strategy, scale).map_err(config::Unfit::why)?;
    let machine = FloatMachine::of(strategy).filter(|_| float);
    Ok(Single {
        slides: config::slides(strategy),
        limit: limit.machine,
        states: OrderedMap::new(),
        is_defect,
        float: machine.map(|machine| Float {
            machine,
            states: OrderedMap::new(),
        }),
    })
}

impl Replay for Single {
    fn apply(&mut self, op: &Op, now: EpochMs) -> Outcome {
        let key = op.text("key").unwrap_or_default();
        match op.op.as_str() {
            "construct" => self.constructed(op),
            "forecast" => Outcome::Skipped("a forecast, which is no decision".into()),
            "peek" => self.compared(op.expected(), op, key, 0, now),
            "check" => match cost_in(op, self.limit.scale()) {
                Ok(cost) => self.compared(op.expected(), op, key, cost, now),
                Err(outcome) => outcome,
            },
            "checkMany" => match cost_in(op, self.limit.scale()) {
                Ok(cost) => self.check_many(op, cost, now),
                Err(outcome) => outcome,
            },
            "reset" => {
                self.states.remove(key);
                if let Some(float) = &mut self.float {
                    float.states.remove(key);
                }
                if op.result.is_null() {
                    Outcome::Passed
                } else {
                    Outcome::failed(&op.result, ())
                }
            }
            other => Outcome::failed("a known operation", other),
        }
    }
}

/// The cost of an operation in parts, of which a unit has `scale`, or what comes of one that cannot be compared.
pub fn cost_in(op: &Op, scale: u64) -> Result<u64, Outcome> {
    match (op.cost(), op.threw()) {
        (Cost::Whole(_) | Cost::Fraction(_), false) => op.parts(scale).ok_or_else(|| {
            Outcome::SkippedFromHere("a cost that is no integer, and what follows".into())
        }),
        (Cost::Whole(_), true) => Err(Outcome::failed(&op.result, "a cost that Weir takes")),
        (Cost::Refused, true) => Err(Outcome::Skipped(
            "a cost that ThrottleKit refuses: below 1 or above 2^53 - 1".into(),
        )),
        (Cost::Refused, false) => Err(Outcome::failed("a refusal", &op.result)),
        (Cost::Fraction(_) | Cost::NoNumber, _) => Err(Outcome::SkippedFromHere(
            "a cost that is no integer, and what follows".into(),
        )),
    }
}

/// The same of whole units.
pub fn cost(op: &Op) -> Result<u64, Outcome> {
    cost_in(op, 1)
}

/// A vector that is off by the rounding of floats. While it admits what Weir admits, what follows is compared.
pub fn rounding(is_number_alone: bool) -> Outcome {
    if is_number_alone {
        Outcome::Skipped("a number that f64 rounding has moved in the vector".into())
    } else {
        Outcome::SkippedFromHere(
            "an admission that f64 rounding has moved in the vector, and what follows".into(),
        )
    }
}

impl Single {
    fn constructed(&self, op: &Op) -> Outcome {
        let limit = op.result.get("limit").and_then(Value::as_f64);
        let ceiling = self.limit.ceiling() / self.limit.scale();
        match limit {
            Some(limit) if limit.floor() == ceiling as f64 => Outcome::Passed,
            _ => Outcome::failed(&op.result, format!("a ceiling of {ceiling}")),
        }
    }

    fn check_many(&mut self, op: &Op, cost: u64, now: EpochMs) -> Outcome {
        let keys = op.args.get("keys").and_then(Value::as_array);
        let (Some(keys), Some(expected)) = (keys, op.expected().as_array()) else {
            return Outcome::failed("a list of keys and one of decisions", &op.args);
        };
        if keys.len() != expected.len() {
            return Outcome::failed("a decision for each key", &op.args);
        }
        let mut outcome = Outcome::Passed;
        for (key, expected) in keys.iter().zip(expected) {
            let key = key.as_str().unwrap_or_default();
            // Every key is charged, also behind one that differs.
            let next = self.compared(expected, op, key, cost, now);
            if !matches!(
                outcome,
                Outcome::Failed { .. } | Outcome::SkippedFromHere(_)
            ) && next != Outcome::Passed
            {
                outcome = next;
            }
        }
        outcome
    }

    fn compared(
        &mut self,
        expected: &Value,
        op: &Op,
        key: &str,
        cost: u64,
        now: EpochMs,
    ) -> Outcome {
        let before = self.states.get(key).cloned();
        let scale = self.limit.scale();
        let float = self.float.as_mut();
        let at = At {
            window_end: self.limit.check(None, 0, now).decision.reset_at.0 as f64,
            ..At::time(now)
        };
        let float = float.map(|float| float.check(key, cost as f64 / scale as f64, at));
        // A peek tells what a whole unit would meet.
        let got = if cost == 0 {
            self.limit.look(before.as_ref(), scale, now)
        } else {
            let checked = self.limit.check(before.as_ref(), cost, now);
            if let Some(next) = checked.next {
                self.states.insert(key.to_owned(), next);
            }
            checked.decision
        };
        let told = match ReferenceDecision::read(expected) {
            Ok(told) => told,
            Err(outcome) => return outcome,
        };
        let cost = if cost == 0 { scale } else { cost };
        let above = cost > self.limit.ceiling();
        if above != (got.reason == Reason::Never)
            || !self.is_hint_exact(before.as_ref(), cost, now, &got)
        {
            return Outcome::failed("a retry hint that holds", got);
        }
        let fields = if above {
            Fields::ExceptRetry(NEVER)
        } else if self.slides && !got.admitted() {
            Fields::ExceptRetry(HINT)
        } else {
            Fields::All
        };
        match told.compare(&got, fields) {
            Outcome::Failed { .. } if op.result_exact.is_none() && float == Some(told) => {
                rounding(told.allowed == got.admitted())
            }
            Outcome::Failed { .. } if self.is_defect => Outcome::SkippedFromHere(
                "a sequence in which ThrottleKit broke its own bound, from where Weir differs"
                    .into(),
            ),
            outcome => outcome,
        }
    }

    /// Whether a denial's hint is the first millisecond at which the cost is admitted.
    fn is_hint_exact(
        &self,
        before: Option<&ScaledState>,
        cost: u64,
        now: EpochMs,
        got: &Decision,
    ) -> bool {
        let at = |now| self.limit.check(before, cost, now).decision.admitted();
        match got.retry {
            Retry::Now => got.admitted(),
            Retry::AfterMs(ms) => {
                !got.admitted() && ms > 0 && at(now.plus(ms)) && !at(now.plus(ms - 1))
            }
            Retry::Never => got.reason == Reason::Never,
        }
    }
}

impl Float {
    fn check(&mut self, key: &str, cost: f64, at: At) -> ReferenceDecision {
        let state = self.states.get(key).copied();
        if cost == 0.0 {
            return self.machine.peek(state, at);
        }
        let (told, next) = self.machine.check(state, cost, at);
        if let Some(next) = next {
            self.states.insert(key.to_owned(), next);
        }
        told
    }
}
