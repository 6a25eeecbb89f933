//! Which configurations make a structure.

use serde::Deserialize;
use weir_reference::compatible::{Config, Fault};
use weir_shared::wire::overload::Final;

use crate::replay::report::Outcome;

#[derive(Debug, Deserialize)]
pub struct Validate {
    #[serde(rename = "L")]
    levels: u32,
    #[serde(rename = "M")]
    buckets: u32,
    #[serde(rename = "Pi")]
    increase: f64,
    #[serde(rename = "Pd")]
    decrease: f64,
    ok: bool,
}

pub fn compare(vector: &Validate) -> Outcome {
    let config = Config {
        levels: vector.levels,
        buckets: vector.buckets,
        increase: vector.increase,
        decrease: vector.decrease,
        decay_per_s: 0.01,
        combine: Final::Min,
    };
    match (vector.ok, config.checked()) {
        (true, Ok(_)) | (false, Err(_)) => Outcome::Passed,
        (true, Err(Fault::TooLarge)) => {
            Outcome::Skipped("a structure of more cells than Weir keeps".into())
        }
        (_, got) => Outcome::failed(vector.ok, got),
    }
}
