//! Traces of a structure that decides, one that learns, and how they rotate.

use serde::Deserialize;
use serde_json::Value;
use weir_reference::compatible::{Config, Tracker};
use weir_shared::units::EpochMs;

use super::parse;
use super::structure::Seen;
use super::trace::{Op, Step, Traced};
use crate::replay::report::Outcome;

#[derive(Debug, Deserialize)]
pub struct Header {
    live_seed: u32,
    shadow_seed: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
struct Rotated {
    live_id: u64,
    live_seed: u32,
    shadow_id: u64,
    shadow_seed: u32,
}

#[derive(Debug, Deserialize)]
struct Both {
    live: Seen,
    shadow: Seen,
}

pub struct Trace(Tracker);

impl Traced for Trace {
    type Header = Header;

    fn open(config: Config, header: &Header, now: EpochMs) -> Result<Self, String> {
        Tracker::new(config, header.live_seed, header.shadow_seed, now)
            .map(Self)
            .map_err(|fault| fault.to_string())
    }

    fn step(&mut self, kind: &str, line: Value, now: EpochMs) -> Result<Outcome, String> {
        match kind {
            "step" => self.client(parse(line.clone())?, &parse(line)?, now),
            "rotate" => Ok(self.rotate(parse(line)?, now)),
            _ => Err(format!("{kind} is no kind of line")),
        }
    }
}

impl Trace {
    fn client(&mut self, step: Step, told: &Both, now: EpochMs) -> Result<Outcome, String> {
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
        let got = Both {
            live: Seen::of(self.0.live().1, &step.id),
            shadow: Seen::of(self.0.shadow().1, &step.id),
        };
        let agrees = got.live.is_near(&told.live)
            && got.shadow.is_near(&told.shadow)
            && throttled == step.throttle;
        Ok(if agrees {
            Outcome::Passed
        } else {
            let expected = format!("{told:?}, throttled: {:?}", step.throttle);
            Outcome::failed(expected, (got, throttled))
        })
    }

    fn rotate(&mut self, told: Rotated, now: EpochMs) -> Outcome {
        self.0.rotate(told.shadow_seed, now);
        let ((live_id, live), (shadow_id, shadow)) = (self.0.live(), self.0.shadow());
        let got = Rotated {
            live_id,
            live_seed: live.seed(),
            shadow_id,
            shadow_seed: shadow.seed(),
        };
        if got == told {
            Outcome::Passed
        } else {
            Outcome::failed(format!("{told:?}"), got)
        }
    }
}
