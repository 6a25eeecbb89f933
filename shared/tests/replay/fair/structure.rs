//! Traces of one structure.

use serde::Deserialize;
use serde_json::Value;
use weir_reference::compatible::{Config, Structure};
use weir_shared::units::EpochMs;

use super::near::{all_near, near};
use super::parse;
use super::trace::{Op, Step, Traced};
use crate::replay::report::Outcome;

#[derive(Debug, Deserialize)]
pub struct Header {
    murmur_seed: u32,
}

/// A client's buckets after a step.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Seen {
    idx: Vec<u32>,
    p: Vec<f64>,
    #[serde(rename = "final")]
    combined: f64,
}

pub struct Trace(Structure);

impl Seen {
    pub fn of(structure: &Structure, id: &str) -> Self {
        let (idx, p) = structure.read(id.as_bytes()).unzip();
        Self {
            idx,
            p,
            combined: structure.probability(id.as_bytes()),
        }
    }

    pub fn is_near(&self, other: &Self) -> bool {
        self.idx == other.idx && all_near(&self.p, &other.p) && near(self.combined, other.combined)
    }
}

impl Traced for Trace {
    type Header = Header;

    fn open(config: Config, header: &Header, now: EpochMs) -> Result<Self, String> {
        Structure::new(config, header.murmur_seed, now)
            .map(Self)
            .map_err(|fault| fault.to_string())
    }

    fn step(&mut self, kind: &str, line: Value, now: EpochMs) -> Result<Outcome, String> {
        if kind != "step" {
            return Err(format!("{kind} is no kind of line"));
        }
        let step: Step = parse(line.clone())?;
        let told: Seen = parse(line)?;
        let id = step.id.as_bytes();
        let throttled = match (step.op, step.u) {
            (Op::Register, None) => return Err("no coin".to_owned()),
            (Op::Register, Some(coin)) => Some(self.0.register(id, coin, now).throttled),
            (Op::Failure, _) => {
                self.0.failure(id, now);
                None
            }
            (Op::Success, _) => {
                self.0.success(id, now);
                None
            }
        };
        let got = Seen::of(&self.0, &step.id);
        if got.is_near(&told) && throttled == step.throttle {
            Ok(Outcome::Passed)
        } else {
            let expected = format!("{told:?}, throttled: {:?}", step.throttle);
            Ok(Outcome::failed(expected, (got, throttled)))
        }
    }
}
