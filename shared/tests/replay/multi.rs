//! `all` and `any` of several strategies.

use serde_json::Value;
use weir_shared::algorithms::composite::{
    Dimension, Group, Mode, Source, StateKey, bind, evaluate,
};
use weir_shared::algorithms::rational::Rational;
use weir_shared::algorithms::scale::ScaledState;
use weir_shared::decision::Decision;
use weir_shared::fairness::weight::Weight;
use weir_shared::limits::{COST_MAX, WEIGHT_DECIMALS_MAX, WEIGHT_MAX};
use weir_shared::ordered::OrderedMap;
use weir_shared::policy::limit::Single;
use weir_shared::units::EpochMs;

use super::Replay;
use super::config;
use super::decision::{Fields, ReferenceDecision};
use super::line::{Cost, Op, Sequence};
use super::report::{Outcome, Why};
use super::single::{cost_in, rounding};
use super::twin::Twin;

const NEVER: &str =
    "all but the denial, as a dimension's cost is above its ceiling, which is never in Weir";

/// One dimension.
pub struct Part {
    pub name: String,
    field: String,
    pub limit: Single,
    /// What a unit costs.
    pub weight: f64,
    exact_weight: Weight,
    slides: bool,
    /// Whether it is a log, which keeps whole entries there.
    is_log: bool,
    /// Parts of a unit in which costs are given.
    pub cost_scale: u64,
}

impl Part {
    /// What a cost of so many parts of a unit comes to here, in parts of the limit's unit.
    pub fn parts(&self, cost: u64) -> u64 {
        // The limit is counted in parts both of the weight and of the cost: the weight alone is left.
        self.limit.cost(Some(&self.exact_weight), cost) / self.cost_scale
    }

    fn is_above_ceiling(&self, cost: u64) -> bool {
        self.parts(cost) > self.limit.machine.ceiling()
    }

    fn splits_an_entry(&self, cost: u64) -> bool {
        self.is_log && !self.parts(cost).is_multiple_of(self.limit.machine.scale())
    }
}

struct Multi {
    /// Parts of a unit in which costs are given.
    scale: u64,
    mode: Mode,
    parts: Vec<Part>,
    states: OrderedMap<StateKey, ScaledState>,
    twin: Twin,
    is_defect: bool,
}

pub fn start(sequence: &Sequence) -> Result<Box<dyn Replay>, Why> {
    let no_config = || Why::from("a configuration that is no composite");
    let mode = match sequence.config.get("mode").and_then(Value::as_str) {
        Some("all") => Mode::All,
        Some("any") => Mode::Any,
        _ => return Err(no_config()),
    };
    let dimensions = sequence.config.get("dimensions").and_then(Value::as_array);
    let dimensions = dimensions.ok_or_else(no_config)?;
    let parts = |scale: u64| {
        let parts = dimensions.iter().map(|dimension| part(dimension, scale));
        parts.collect::<Result<Vec<_>, _>>()
    };
    let fine = sequence.scale();
    let (scale, parts) = match parts(fine) {
        Ok(parts) => (fine, parts),
        // Weights that leave no room for parts of a cost: whole costs are compared.
        Err(_) => (1, parts(1)?),
    };
    Ok(Box::new(Multi {
        scale,
        mode,
        twin: Twin::new(dimensions),
        is_defect: sequence.tag("defect:").is_some() || parts.iter().any(|part| part.slides),
        parts,
        states: OrderedMap::new(),
    }))
}

fn part(dimension: &Value, cost_scale: u64) -> Result<Part, Why> {
    let text = |name: &str| {
        let text = dimension.get(name).and_then(Value::as_str);
        text.map(str::to_owned)
            .ok_or_else(|| Why::from(format!("a dimension without {name}")))
    };
    let weight = match dimension.get("weight") {
        None => 1.0,
        Some(weight) => weight.as_f64().unwrap_or(f64::NAN),
    };
    let outside = |fault| Why::from(format!("a weight outside Weir's bounds: {fault}"));
    let scale = Rational::above_zero(weight, WEIGHT_MAX, WEIGHT_DECIMALS_MAX)
        .map_err(outside)?
        .denominator()
        .saturating_mul(cost_scale);
    let strategy = dimension.get("strategy").unwrap_or(&Value::Null);
    Ok(Part {
        name: text("name")?,
        field: text("ctxField")?,
        limit: config::limit(strategy, scale).map_err(config::Unfit::why)?,
        weight,
        exact_weight: Weight::try_from(weight).map_err(outside)?,
        slides: config::slides(strategy),
        is_log: strategy.get("type") == Some(&Value::from("slidingWindowLog")),
        cost_scale,
    })
}

/// What one check came to: the decision that stands for all, and that of each dimension.
struct Got {
    whole: Decision,
    each: Vec<Decision>,
}

impl Replay for Multi {
    fn apply(&mut self, op: &Op, now: EpochMs) -> Outcome {
        let Some(keys) = self.keys(op) else {
            return Outcome::SkippedFromHere("a context without a dimension's field".into());
        };
        match op.op.as_str() {
            "check" => self.check(op, keys, now),
            "reset" if op.result.is_null() => {
                for key in keys {
                    self.twin.reset(&key);
                    self.states.remove(&key);
                }
                Outcome::Passed
            }
            other => Outcome::failed(format!("a known operation, {}", op.result), other),
        }
    }
}

impl Multi {
    fn keys(&self, op: &Op) -> Option<Vec<StateKey>> {
        let context = op.args.get("ctx")?;
        let keys = self.parts.iter().map(|part| {
            Some(StateKey {
                limit: part.name.clone(),
                key: context.get(&part.field)?.as_str()?.to_owned(),
            })
        });
        keys.collect()
    }

    fn check(&mut self, op: &Op, keys: Vec<StateKey>, now: EpochMs) -> Outcome {
        if let (Cost::Whole(cost), true) = (op.cost(), op.threw()) {
            let weighted = |part: &Part| part.weight * cost as f64;
            if self
                .parts
                .iter()
                .any(|part| weighted(part) > COST_MAX as f64)
            {
                return Outcome::Skipped("a weighted cost above 2^53 - 1".into());
            }
        }
        let cost = match cost_in(op, self.scale) {
            Ok(cost) => cost,
            Err(outcome) => return outcome,
        };
        if self.parts.iter().any(|part| part.splits_an_entry(cost)) {
            return Outcome::SkippedFromHere(
                "a part of a unit in a log, which keeps whole entries there, and what follows"
                    .into(),
            );
        }
        let told = match ReferenceDecision::read(op.expected()) {
            Ok(told) => told,
            Err(outcome) => return outcome,
        };
        let floats = self.twin.check(self.mode, &self.parts, &keys, cost, now);
        let Some(got) = self.decide(keys, cost, now) else {
            return Outcome::failed(&op.result, "no dimension");
        };
        if told.agrees(&got.whole, Fields::All) {
            return Outcome::Passed;
        }
        let above = |part: &Part| part.is_above_ceiling(cost);
        if !got.whole.admitted() && !told.allowed && self.parts.iter().any(above) {
            return Outcome::PassedExcept(NEVER.into());
        }
        if floats.is_rounding(&told, &got.each) {
            return rounding(floats.admits_alike(&got.each));
        }
        if self.is_defect {
            return Outcome::SkippedFromHere(
                "a dimension that slides, which consumes there when the whole is denied, from where Weir differs"
                    .into(),
            );
        }
        told.compare(&got.whole, Fields::All)
    }

    fn decide(&mut self, keys: Vec<StateKey>, cost: u64, now: EpochMs) -> Option<Got> {
        let dimensions = self.parts.iter().zip(keys).map(|(part, key)| Dimension {
            source: Source::Here {
                machine: &part.limit.machine,
                key,
                cost: part.parts(cost),
            },
            shadow: false,
        });
        let group = Group {
            mode: self.mode,
            dimensions: dimensions.collect(),
        };
        let states = &self.states;
        let verdict = evaluate(&[group], |key| states.get(key).cloned(), now);
        let each = verdict.decisions.into_iter().next()?;
        let whole = *each.get(bind(self.mode, &each)?.index)?;
        self.states.extend(verdict.writes);
        Some(Got { whole, each })
    }
}
