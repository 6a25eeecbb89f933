//! A composite whose dimensions that take rounding are decided in floats: the evidence that a vector of a composite,
//! which has no exact result, is off by rounding.

use serde_json::Value;
use weir_shared::algorithms::composite::{Mode, StateKey};
use weir_shared::algorithms::scale::ScaledState;
use weir_shared::decision::Decision;
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;

use super::decision::{Fields, ReferenceDecision};
use super::float::{At, FloatMachine, FloatState};
use super::multi::Part;

/// The composite, with its own states.
pub struct Twin {
    /// Of each dimension; `None` where nothing rounds, and Weir itself decides.
    machines: Vec<Option<FloatMachine>>,
    floats: OrderedMap<StateKey, FloatState>,
    states: OrderedMap<StateKey, ScaledState>,
}

/// What the composite was decided as in floats.
pub struct Floats {
    whole: Option<ReferenceDecision>,
    /// Of each dimension, and whether it takes rounding.
    each: Vec<(ReferenceDecision, bool)>,
}

enum Next {
    Float(FloatState),
    Exact(ScaledState),
}

impl Twin {
    pub fn new(dimensions: &[Value]) -> Self {
        let strategies = dimensions
            .iter()
            .map(|dimension| dimension.get("strategy").unwrap_or(&Value::Null));
        Self {
            machines: strategies.map(FloatMachine::of).collect(),
            floats: OrderedMap::new(),
            states: OrderedMap::new(),
        }
    }

    pub fn reset(&mut self, key: &StateKey) {
        self.floats.remove(key);
        self.states.remove(key);
    }

    pub fn check(
        &mut self,
        mode: Mode,
        parts: &[Part],
        keys: &[StateKey],
        cost: u64,
        now: EpochMs,
    ) -> Floats {
        let mut each = Vec::new();
        let mut nexts = Vec::new();
        for ((part, key), machine) in parts.iter().zip(keys).zip(&self.machines) {
            let (told, next) = match machine {
                Some(machine) => {
                    let state = self.floats.get(key).copied();
                    let cold = part.limit.machine.check(None, 0, now).decision;
                    let at = At {
                        window_end: cold.reset_at.0 as f64,
                        ..At::time(now)
                    };
                    let (told, next) = machine.check(
                        state,
                        part.weight * (cost as f64 / part.cost_scale as f64),
                        at,
                    );
                    (told, next.map(Next::Float))
                }
                None => {
                    let state = self.states.get(key);
                    let checked = part.limit.machine.check(state, part.parts(cost), now);
                    (
                        ReferenceDecision::of(&checked.decision),
                        checked.next.map(Next::Exact),
                    )
                }
            };
            each.push((told, machine.is_some()));
            nexts.push(next);
        }
        let whole = representative(mode, &each);
        if whole.is_some_and(|whole| whole.allowed) {
            for (key, next) in keys.iter().zip(nexts) {
                match next {
                    Some(Next::Float(next)) => drop(self.floats.insert(key.clone(), next)),
                    Some(Next::Exact(next)) => drop(self.states.insert(key.clone(), next)),
                    None => {}
                }
            }
        }
        Floats { whole, each }
    }
}

impl Floats {
    /// Whether rounding explains a vector that differs from Weir: floats come to exactly what it says, and differ
    /// from Weir in a dimension that takes rounding.
    pub fn is_rounding(&self, told: &ReferenceDecision, weir: &[Decision]) -> bool {
        let differs = |((float, rounds), weir): (&(ReferenceDecision, bool), &Decision)| {
            *rounds && !float.agrees(weir, Fields::All)
        };
        self.whole == Some(*told) && self.each.iter().zip(weir).any(differs)
    }

    /// Whether floats admit in each dimension what Weir admits.
    pub fn admits_alike(&self, weir: &[Decision]) -> bool {
        let alike = |((float, _), weir): (&(ReferenceDecision, bool), &Decision)| {
            float.allowed == weir.admitted()
        };
        self.each.iter().zip(weir).all(alike)
    }
}

/// The decision that stands for all, by the published rule; the first wins a tie.
fn representative(mode: Mode, each: &[(ReferenceDecision, bool)]) -> Option<ReferenceDecision> {
    let allowed = match mode {
        Mode::All => each.iter().all(|(told, _)| told.allowed),
        Mode::Any => each.iter().any(|(told, _)| told.allowed),
    };
    let better = |a: &ReferenceDecision, b: &ReferenceDecision| match (mode, allowed) {
        (Mode::All, true) => a.remaining < b.remaining,
        (Mode::All, false) => a.retry_after_ms > b.retry_after_ms,
        (Mode::Any, true) => a.remaining > b.remaining,
        (Mode::Any, false) => a.retry_after_ms < b.retry_after_ms,
    };
    let mut candidates = each
        .iter()
        .map(|(told, _)| *told)
        .filter(|told| told.allowed == allowed);
    let first = candidates.next()?;
    Some(candidates.fold(
        first,
        |best, next| if better(&next, &best) { next } else { best },
    ))
}
