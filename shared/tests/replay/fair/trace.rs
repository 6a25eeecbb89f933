//! Traces: a line that makes an instance, then a line for each step.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use weir_reference::compatible::Config;
use weir_shared::units::EpochMs;
use weir_shared::wire::overload::Final;

use super::{Line, Reader, parse};
use crate::replay::report::Outcome;

/// An instance whose trace is under way.
pub trait Traced: Sized {
    type Header: DeserializeOwned;

    fn open(config: Config, header: &Self::Header, now: EpochMs) -> Result<Self, String>;

    /// Applies a step and compares what comes of it; an error is a line that is no step.
    fn step(&mut self, kind: &str, line: Value, now: EpochMs) -> Result<Outcome, String>;
}

/// What every line says.
#[derive(Debug, Deserialize)]
struct Common {
    kind: String,
    trace: String,
}

/// When a trace begins, and with what.
#[derive(Debug, Deserialize)]
struct Begin {
    t0_ms: f64,
    cfg: Cfg,
}

#[derive(Debug, Deserialize)]
struct Cfg {
    #[serde(rename = "L")]
    levels: u32,
    #[serde(rename = "M")]
    buckets: u32,
    #[serde(rename = "Pi")]
    increase: f64,
    #[serde(rename = "Pd")]
    decrease: f64,
    lambda: f64,
    #[serde(rename = "final")]
    combine: Final,
}

#[derive(Debug, Deserialize)]
struct At {
    t_ms: f64,
}

/// One step of one client.
#[derive(Debug, Deserialize)]
pub struct Step {
    pub id: String,
    pub op: Op,
    pub u: Option<f64>,
    pub throttle: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    Register,
    Failure,
    Success,
}

/// The traces of a file, one after the other.
pub struct Traces<T> {
    open: Option<(String, T)>,
    latest: EpochMs,
    went_back: bool,
}

impl<T> Default for Traces<T> {
    fn default() -> Self {
        Self {
            open: None,
            latest: EpochMs(0),
            went_back: false,
        }
    }
}

impl<T: Traced> Reader for Traces<T> {
    fn line(&mut self, line: Value) -> Result<Line, String> {
        let common: Common = parse(line.clone())?;
        if common.kind == "trace" {
            self.open = None;
            let begin: Begin = parse(line.clone())?;
            let header: T::Header = parse(line)?;
            self.latest = whole_ms(begin.t0_ms)?;
            self.went_back = false;
            let opened = T::open(begin.cfg.config(), &header, self.latest)?;
            self.open = Some((common.trace, opened));
            return Ok(Line::Opened);
        }
        let At { t_ms } = parse(line.clone())?;
        let now = whole_ms(t_ms)?;
        match &mut self.open {
            Some((name, trace)) if *name == common.trace => {
                self.went_back |= now < self.latest;
                self.latest = self.latest.max(now);
                if self.went_back {
                    let why = "a clock that goes back, and what follows";
                    return Ok(Line::Step(Outcome::Skipped(why.into())));
                }
                trace.step(&common.kind, line, now).map(Line::Step)
            }
            _ => Err(format!(
                "a step of the trace {}, which is not open",
                common.trace
            )),
        }
    }
}

impl Cfg {
    fn config(&self) -> Config {
        Config {
            levels: self.levels,
            buckets: self.buckets,
            increase: self.increase,
            decrease: self.decrease,
            decay_per_s: self.lambda,
            combine: self.combine,
        }
    }
}

/// Time is what is whole of it.
fn whole_ms(ms: f64) -> Result<EpochMs, String> {
    const MAX: f64 = (1_u64 << 53) as f64;
    if (0.0..=MAX).contains(&ms) {
        Ok(EpochMs(ms.floor() as u64))
    } else {
        Err(format!("{ms} is no time"))
    }
}
