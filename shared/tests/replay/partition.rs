//! Static partition: equal slices, each the limit of a strategy of its own.

use serde_json::{Map, Value};
use weir_shared::federation::partition::Partition;
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;

use super::Replay;
use super::line::{Op, Sequence, whole};
use super::numbers;
use super::report::{Outcome, Why};
use super::single;

struct Slices {
    partition: Option<Partition>,
    regions: OrderedMap<String, Box<dyn Replay>>,
}

pub fn start(sequence: &Sequence) -> Result<Box<dyn Replay>, Why> {
    let regions = sequence.config.get("regions").and_then(Value::as_array);
    let regions: Option<Vec<&str>> = regions
        .ok_or("a configuration without regions")?
        .iter()
        .map(Value::as_str)
        .collect();
    let regions = regions.ok_or("a region whose name is no text")?;
    let limit = sequence.config.get("globalLimit").unwrap_or(&Value::Null);
    let partition = match (whole(limit), limit.as_f64()) {
        (Some(limit), _) => Partition::new(limit, &regions).ok(),
        // Below 1 it is refused here and there; above, Weir takes whole limits alone.
        (None, Some(limit)) if limit > 1.0 => {
            return Err("a limit that is no integer, of which all slices together are more".into());
        }
        (None, _) => None,
    };
    let mut replays = OrderedMap::new();
    for (region, units) in partition.iter().flat_map(Partition::slices) {
        if *units > 0 {
            replays.insert(region.clone(), strategy(sequence, *units)?);
        }
    }
    Ok(Box::new(Slices {
        partition,
        regions: replays,
    }))
}

/// The strategy of a region, with its slice as the limit.
fn strategy(sequence: &Sequence, units: u64) -> Result<Box<dyn Replay>, Why> {
    let mut config = sequence.config.get("strategy").cloned().unwrap_or_default();
    let options = config.as_object_mut().ok_or("a strategy without options")?;
    options.insert("limit".to_owned(), units.into());
    single::start_rounded(&config)
}

impl Replay for Slices {
    fn apply(&mut self, op: &Op, now: EpochMs) -> Outcome {
        match (op.op.as_str(), &self.partition) {
            ("slices", None) if op.threw() => {
                Outcome::PassedExcept("the text of the refusal".into())
            }
            ("slices", Some(_)) if op.threw() && self.has_empty() => {
                Outcome::Skipped("a slice of nothing, which denies in Weir".into())
            }
            ("slices", Some(partition)) => {
                let slices = partition.slices().iter();
                let slices = slices.map(|(region, units)| (region.clone(), Value::from(*units)));
                numbers::equal(&op.result, &Value::Object(slices.collect::<Map<_, _>>()))
            }
            ("check", Some(_)) => match self.regions.get_mut(op.text("region").unwrap_or_default())
            {
                Some(replay) => replay.apply(op, now),
                None => Outcome::Skipped("a region without a slice".into()),
            },
            (other, _) => Outcome::failed("a known operation", other),
        }
    }
}

impl Slices {
    fn has_empty(&self) -> bool {
        let mut slices = self.partition.iter().flat_map(Partition::slices);
        slices.any(|(_, units)| *units == 0)
    }
}
