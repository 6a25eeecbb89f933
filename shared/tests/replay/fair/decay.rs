//! What is left of a probability.

use serde::Deserialize;
use weir_shared::overload::decay::decayed;

use super::near::{from_bits, near};
use crate::replay::report::Outcome;

#[derive(Debug, Deserialize)]
pub struct Decay {
    p: f64,
    lambda: f64,
    delta_ms: u64,
    out: f64,
    out_bits: String,
}

pub fn compare(vector: &Decay) -> Outcome {
    let got = decayed(vector.p, vector.lambda, vector.delta_ms);
    let bits = from_bits(&vector.out_bits);
    if near(got, vector.out) && bits.is_some_and(|out| near(got, out)) {
        Outcome::Passed
    } else {
        Outcome::failed(vector.out, got)
    }
}
