//! Lease sizes. What a learner of ThrottleKit says is informative; the least-cost formula is compared.

use serde_json::Value;
use weir_reference::sizer::{LeaseCosts, LeaseSizer};
use weir_shared::units::EpochMs;
use weir_shared::wire::decimal::Decimal;

use super::Replay;
use super::line::{Op, Sequence, whole};
use super::numbers;
use super::report::{Outcome, Why};

/// Parts of a unit in which the formula is compared.
const PARTS: u64 = 1_000_000;

struct Sizes {
    sizer: LeaseSizer,
    costs: LeaseCosts,
    bounds: (u64, u64),
    /// Theirs and Weir's, for the demand to come.
    sizes: Option<(u64, u64)>,
}

fn costs(config: &Value) -> Result<LeaseCosts, Why> {
    let number = |name: &str| {
        let number = config.get(name).and_then(Value::as_f64);
        Decimal(number.unwrap_or(f64::NAN))
    };
    LeaseCosts::new(number("orderCost"), number("strandPenalty")).map_err(numbers::outside)
}

pub fn start(sequence: &Sequence) -> Result<Box<dyn Replay>, Why> {
    let config = &sequence.config;
    let number = |name: &str, default: u64| match config.get(name) {
        Some(value) => whole(value).ok_or_else(|| Why::from(format!("a {name} of {value}"))),
        None => Ok(default),
    };
    let (min, max) = (number("minSize", 1)?, number("maxSize", 1_000_000)?);
    let costs = costs(config)?;
    let sizer = LeaseSizer::new(costs, min, max, number("initialSize", min)?);
    Ok(Box::new(Sizes {
        sizer: sizer.map_err(numbers::outside)?,
        costs,
        bounds: (min, max),
        sizes: None,
    }))
}

impl Replay for Sizes {
    fn apply(&mut self, op: &Op, _now: EpochMs) -> Outcome {
        match op.op.as_str() {
            "size" => self.size(op),
            "observe" => match op.args.get("demand").and_then(whole) {
                Some(demand) => self.observe(demand),
                None => Outcome::SkippedFromHere("a demand that is no integer".into()),
            },
            "continuous" | "weights" => Outcome::Skipped("what a learner keeps in mind".into()),
            "eoqOptimum" => optimum(op),
            other => Outcome::failed("a known operation", other),
        }
    }
}

impl Sizes {
    fn size(&mut self, op: &Op) -> Outcome {
        let size = self.sizer.size();
        let (min, max) = self.bounds;
        if !(min..=max).contains(&size) {
            return Outcome::failed(format!("{min} to {max}"), size);
        }
        self.sizes = whole(&op.result).map(|theirs| (theirs, size));
        Outcome::Skipped("a size, judged when its window is over".into())
    }

    /// Which of both sizes was nearer to the best one for what was then asked for.
    fn observe(&mut self, demand: u64) -> Outcome {
        self.sizer.observe(demand);
        let Some((theirs, ours)) = self.sizes.take() else {
            return Outcome::Skipped("a demand without a size".into());
        };
        let (min, max) = self.bounds;
        let best = self.costs.optimum(demand, 1).clamp(min, max);
        let off = |size: u64| {
            let (less, more) = (size.min(best).max(1), size.max(best).max(1));
            more as f64 / less as f64
        };
        let judged = match off(ours).total_cmp(&off(theirs)) {
            std::cmp::Ordering::Less => "a size that was better in Weir",
            std::cmp::Ordering::Equal => "a size that was as good",
            std::cmp::Ordering::Greater => "a size that was better there",
        };
        Outcome::Skipped(judged.into())
    }
}

fn optimum(op: &Op) -> Outcome {
    let demand = op.args.get("demand").and_then(whole);
    let (Some(demand), Ok(costs)) = (demand, costs(&op.args)) else {
        return Outcome::Skipped("numbers that Weir does not take".into());
    };
    let got = costs.optimum(demand, PARTS) as f64 / PARTS as f64;
    match op.result.as_f64() {
        Some(expected) if (got - expected).abs() <= 1.0 / PARTS as f64 => Outcome::Passed,
        _ => Outcome::failed(&op.result, got),
    }
}
