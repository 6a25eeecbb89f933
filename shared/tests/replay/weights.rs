//! Weights of the vectors as weights of Weir, exactly.

use serde_json::Value;
use weir_shared::fairness::weight::Weight;

use super::report::Why;

/// Digits behind the point that Weir's weights have.
const DECIMALS: usize = 6;

/// Reads weights times one power of ten: only their ratios count.
pub struct Weights {
    zeros: usize,
}

impl Weights {
    /// For a sequence in which these occur.
    pub fn of<'a>(all: impl Iterator<Item = &'a Value>) -> Self {
        let decimals = all.filter_map(Value::as_f64).map(|weight| {
            let text = weight.to_string();
            text.split_once('.')
                .map_or(0, |(_, decimals)| decimals.len())
        });
        Self {
            zeros: decimals.max().unwrap_or(0).saturating_sub(DECIMALS),
        }
    }

    pub fn read(&self, weight: &Value) -> Result<Weight, Why> {
        let outside = || Why::from("a weight outside Weir's bounds, and what follows");
        let weight = weight.as_f64().ok_or_else(outside)?;
        if !(weight > 0.0 && weight.is_finite()) {
            return Err(outside());
        }
        let text = weight.to_string();
        let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
        let digits = format!("{whole}{decimals:0<width$}", width = DECIMALS + self.zeros);
        let micros = digits.parse().map_err(|_| outside())?;
        Weight::from_micros(micros).map_err(|_| outside())
    }
}
