//! One line of a file of vectors: a sequence of operations on one fresh instance.

use serde::Deserialize;
use serde_json::Value;
use weir_shared::limits::COST_MAX;
use weir_shared::units::EpochMs;

/// One sequence.
#[derive(Debug, Deserialize)]
pub struct Sequence {
    pub id: String,
    pub tags: Vec<String>,
    pub config: Value,
    pub ops: Vec<Op>,
}

/// One operation with what came of it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Op {
    pub t: Value,
    pub op: String,
    pub args: Value,
    pub result: Value,
    pub result_exact: Option<Value>,
    /// What a spender asked its parent for.
    pub wants: Option<Value>,
}

/// What an operation costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cost {
    /// Whole units that both limiters take.
    Whole(u64),
    /// A whole number that ThrottleKit refuses: below 1 or above 2^53 - 1.
    Refused,
    /// A fraction above 0.
    Fraction(f64),
    /// No number above 0 that ends: NaN, an infinity, a text.
    NoNumber,
}

impl Sequence {
    /// The first tag that begins so.
    pub fn tag(&self, start: &str) -> Option<&str> {
        let mut tags = self.tags.iter().map(String::as_str);
        tags.find(|tag| tag.starts_with(start))
    }

    /// Into how many parts a unit is divided, so that its costs are whole: as many as their decimals need, three at most.
    pub fn scale(&self) -> u64 {
        let fraction = |op: &&Op| matches!(op.cost(), Cost::Fraction(_));
        let fits = |scale: &u64| {
            let mut fractions = self.ops.iter().filter(fraction);
            fractions.all(|op| op.parts(*scale).is_some())
        };
        [1, 10, 100, 1_000].into_iter().find(fits).unwrap_or(1)
    }
}

impl Op {
    /// What Weir is compared with: the result in exact arithmetic, where it is another.
    pub fn expected(&self) -> &Value {
        self.result_exact.as_ref().unwrap_or(&self.result)
    }

    /// Whether ThrottleKit threw.
    pub fn threw(&self) -> bool {
        self.result.get("error").is_some()
    }

    /// What it costs; 1 when nothing is passed.
    pub fn cost(&self) -> Cost {
        let Some(cost) = self.args.get("cost") else {
            return Cost::Whole(1);
        };
        match cost.as_f64() {
            Some(number) if number.fract() == 0.0 => whole(cost)
                .filter(|cost| (1..=COST_MAX).contains(cost))
                .map_or(Cost::Refused, Cost::Whole),
            Some(number) if number > 0.0 && number.is_finite() => Cost::Fraction(number),
            _ => Cost::NoNumber,
        }
    }

    /// What it costs in parts of a unit, of which there are `scale`; `None` for what is no whole number of parts.
    pub fn parts(&self, scale: u64) -> Option<u64> {
        match self.cost() {
            Cost::Whole(cost) => cost.checked_mul(scale).filter(|parts| *parts <= COST_MAX),
            Cost::Fraction(cost) => {
                let parts = (cost * scale as f64).round();
                // The decimal that the float was written as: JSON has the shortest one.
                let is_exact = parts / scale as f64 == cost;
                whole(&Value::from(parts)).filter(|_| is_exact)
            }
            Cost::Refused | Cost::NoNumber => None,
        }
    }

    /// The clock, if it is a time that Weir knows: whole milliseconds from 1970 on.
    pub fn now(&self) -> Option<EpochMs> {
        whole(&self.t).map(EpochMs)
    }

    /// An argument that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.args.get(name)?.as_str()
    }
}

/// A whole number from 0 to 2^53, which JavaScript may have written with an exponent.
pub fn whole(value: &Value) -> Option<u64> {
    const MAX: f64 = (1_u64 << 53) as f64;
    let number = value.as_f64()?;
    let is_whole = number.fract() == 0.0 && (0.0..=MAX).contains(&number);
    is_whole.then_some(number as u64)
}
