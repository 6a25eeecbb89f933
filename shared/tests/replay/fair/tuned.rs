//! Configurations that are tuned to a number of clients.

use serde::Deserialize;
use weir_reference::compatible::Config;
use weir_reference::compatible::tuned::{ROTATE_MS, Untuned, tuned};
use weir_shared::overload::tuning::{self, Untunable};

use super::near::near;
use crate::replay::report::Outcome;

#[derive(Debug, Deserialize)]
pub struct Tuned {
    clients: u32,
    #[serde(rename = "B")]
    buckets: u32,
    tol: u32,
    ok: bool,
    #[serde(default)]
    degenerate: bool,
    structure_accepts: Option<bool>,
    #[serde(rename = "M_bad")]
    heavy: Option<u32>,
    #[serde(rename = "raw_L")]
    exact_levels: Option<f64>,
    #[serde(rename = "L")]
    levels: Option<u64>,
    #[serde(rename = "M")]
    told_buckets: Option<u32>,
    #[serde(rename = "Pi_bits")]
    increase_bits: Option<String>,
    #[serde(rename = "Pd_bits")]
    decrease_bits: Option<String>,
    lambda: Option<f64>,
    rotation_ms: Option<u64>,
}

pub fn compare(vector: &Tuned) -> Outcome {
    let got = tuned(vector.clients, vector.buckets, vector.tol);
    let refused = !vector.ok || vector.structure_accepts == Some(false);
    match &got {
        Err(_) if refused => Outcome::Passed,
        Err(Untuned::Levels(Untunable::Covered)) if vector.degenerate => {
            Outcome::PassedExcept("a refusal: no number of levels keeps clients apart".into())
        }
        Err(Untuned::Levels(Untunable::TooManyLevels { levels })) if vector.counts(*levels) => {
            Outcome::PassedExcept("a refusal of the levels, which are as many as told".into())
        }
        Ok(config) if !refused && !vector.degenerate && vector.is(config) => Outcome::Passed,
        _ => Outcome::failed(format!("{vector:?}"), got),
    }
}

impl Tuned {
    /// Whether so many levels come of so many heavy clients, before and after rounding.
    fn counts(&self, levels: f64) -> bool {
        let heavy = tuning::heavy_of(self.clients);
        let exact = tuning::exact_levels(self.buckets, heavy, 0.000_1);
        self.heavy == Some(heavy)
            && self.levels.map(|levels| levels as f64) == Some(levels)
            && (exact.ok().zip(self.exact_levels))
                .is_some_and(|(got, told)| relatively_near(got, told))
    }

    fn is(&self, config: &Config) -> bool {
        let bits = |number: f64| Some(format!("{:016x}", number.to_bits()));
        self.counts(f64::from(config.levels))
            && self.told_buckets == Some(config.buckets)
            && self.increase_bits == bits(config.increase)
            && self.decrease_bits == bits(config.decrease)
            && self
                .lambda
                .is_some_and(|decay| near(decay, config.decay_per_s))
            && self.rotation_ms == Some(ROTATE_MS)
            && config.checked().is_ok()
    }
}

/// Levels are no probabilities: they may be millions.
fn relatively_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}
