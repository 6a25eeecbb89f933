//! Federation by lease, reconcile, refill and release. Sequences are informative; that no window admits more than its
//! budget is not.

use serde_json::{Value, json};
use weir_reference::leasing::{
    Coordinator, Engine, EngineSettings, Parents, RegionalEscrow, WindowStart, Windows,
};
use weir_reference::limits::PROBE_MS;
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;
use weir_shared::wire::policy::Outage;

use super::Replay;
use super::config;
use super::decision::{Fields, ReferenceDecision};
use super::line::{Op, Sequence, whole};
use super::numbers;
use super::report::{Outcome, Why};
use super::single::cost;

struct Federation {
    settings: EngineSettings,
    coordinator: Coordinator,
    is_coordinator_up: bool,
    budget: u64,
    regions: OrderedMap<String, Region>,
    /// Units admitted, by key and window.
    admitted: OrderedMap<(String, WindowStart), u64>,
    /// Why an outcome may differ, as long as it is safe; `None` where it may not.
    differs: Option<&'static str>,
}

struct Region {
    escrow: Option<RegionalEscrow>,
    is_up: bool,
    engines: OrderedMap<u64, Engine>,
}

pub fn start(sequence: &Sequence) -> Result<Box<dyn Replay>, Why> {
    let config = &sequence.config;
    let strategy = config.get("strategy").unwrap_or(&Value::Null);
    let options = config::options(strategy).map_err(config::Unfit::why)?;
    let body = config::body(options).map_err(config::Unfit::why)?;
    let windows = Windows::of(&body).map_err(numbers::outside)?;
    let at = |field: &str| config.pointer(field);
    let budget = at("/coordinator/budgetPerWindow").and_then(whole);
    let budget = budget.ok_or("a budget that is no integer")?;
    let outage = at("/onCoordinatorOutage").and_then(Value::as_str);
    let settings = EngineSettings {
        limit: numbers::positive(strategy, "limit")?,
        windows,
        batch: at("/batch").map_or(Some(16), whole).ok_or("a batch")?,
        has_regional: at("/l2") == Some(&true.into()),
        outage: match outage {
            Some("regional-only") => Outage::RegionalOnly,
            _ => Outage::FailClosed,
        },
        probe_ms: at("/coordinatorHealthCheckMs")
            .and_then(whole)
            .unwrap_or(PROBE_MS),
    };
    let regions = at("/regions").and_then(Value::as_array);
    let regions = regions.ok_or("a configuration without regions")?.iter();
    let regions = regions.map(|region| {
        let name = region.get("name").and_then(Value::as_str);
        let name = name.ok_or("a region without a name")?;
        let processes = region.get("processes").and_then(whole).unwrap_or(1);
        Ok((name.to_owned(), Region::new(name, processes, settings)?))
    });
    Ok(Box::new(Federation {
        settings,
        coordinator: Coordinator::new(budget, windows).map_err(numbers::outside)?,
        is_coordinator_up: true,
        budget,
        regions: regions.collect::<Result<_, Why>>()?,
        admitted: OrderedMap::new(),
        differs: differs(sequence),
    }))
}

/// Why a sequence may differ.
fn differs(sequence: &Sequence) -> Option<&'static str> {
    let has = |start| sequence.tag(start).is_some();
    if has("defect:") {
        Some("an outcome that differs where ThrottleKit broke its own bound")
    } else if has("legacy_reconcile") {
        Some(
            "an outcome that differs where leftovers are credited to another window, which Weir forfeits",
        )
    } else {
        None
    }
}

impl Region {
    fn new(name: &str, processes: u64, settings: EngineSettings) -> Result<Self, Why> {
        let engines = (0..processes).map(|process| {
            let engine = Engine::new(name, settings).map_err(numbers::outside)?;
            Ok((process, engine))
        });
        Ok(Self {
            escrow: settings.has_regional.then(RegionalEscrow::new),
            is_up: true,
            engines: engines.collect::<Result<_, Why>>()?,
        })
    }
}

impl Replay for Federation {
    fn apply(&mut self, op: &Op, now: EpochMs) -> Outcome {
        let outcome = match op.op.as_str() {
            "setCoordinatorHealthy" => {
                self.is_coordinator_up = op.args.get("healthy") == Some(&true.into());
                numbers::equal(&op.result, &Value::Null)
            }
            "coordinatorRemaining" => {
                let key = op.text("key").unwrap_or_default();
                numbers::equal(&op.result, &self.coordinator.remaining(key, now).into())
            }
            _ => self.in_region(op, now),
        };
        let most = self.admitted.values().max().copied().unwrap_or(0);
        if most > self.budget {
            return Outcome::failed(format!("at most {} in a window", self.budget), most);
        }
        match (outcome, self.differs) {
            (Outcome::Failed { .. }, Some(why)) => Outcome::Skipped(why.into()),
            (outcome, _) => outcome,
        }
    }
}

impl Federation {
    fn in_region(&mut self, op: &Op, now: EpochMs) -> Outcome {
        let key = op.text("key").unwrap_or_default();
        let name = op.text("region").unwrap_or_default();
        let Some(region) = self.regions.get_mut(name) else {
            return Outcome::failed("a known region", name);
        };
        match op.op.as_str() {
            "setRegionalHealthy" => {
                region.is_up = op.args.get("healthy") == Some(&true.into());
                return numbers::equal(&op.result, &Value::Null);
            }
            "regionalBalance" => {
                let balance = region
                    .escrow
                    .as_ref()
                    .map_or(0, |escrow| escrow.balance(key));
                return numbers::equal(&op.result, &balance.into());
            }
            _ => {}
        }
        let process = op.args.get("process").and_then(whole).unwrap_or(0);
        let Some(engine) = region.engines.get_mut(&process) else {
            return Outcome::failed("a known process", process);
        };
        match op.op.as_str() {
            "check" => self.check(op, (name, process), key, now),
            "reset" => {
                engine.reset(key);
                numbers::equal(&op.result, &Value::Null)
            }
            "peek" => {
                let held = engine.balance(key);
                let got = held.map(
                    |(units, ends_at)| json!({"balance": units, "windowExpiresAt": ends_at.0}),
                );
                numbers::equal(&op.result, &got.unwrap_or_default())
            }
            other => Outcome::failed("a known operation", other),
        }
    }

    fn check(&mut self, op: &Op, (name, process): (&str, u64), key: &str, now: EpochMs) -> Outcome {
        let cost = match cost(op) {
            Ok(cost) => cost,
            Err(outcome) => return outcome,
        };
        let engine = self.regions.get_mut(name).and_then(|region| {
            let escrow = region.escrow.as_mut().filter(|_| region.is_up);
            Some((region.engines.get_mut(&process)?, escrow))
        });
        let Some((engine, regional)) = engine else {
            return Outcome::failed("a known process", process);
        };
        let coordinator = Some(&mut self.coordinator).filter(|_| self.is_coordinator_up);
        let parents = Parents {
            regional,
            coordinator,
        };
        let decision = match engine.check(key, cost, parents, now) {
            Ok(decision) => decision,
            Err(invalid) => return Outcome::SkippedFromHere(numbers::outside(invalid)),
        };
        if decision.admitted() {
            let window = self.settings.windows.at(now);
            *self.admitted.entry((key.to_owned(), window)).or_default() += cost;
        }
        if cost > self.settings.limit {
            self.differs = Some(
                "an outcome that differs after a cost above the limit, for which all is leased there, nothing in Weir",
            );
        }
        match ReferenceDecision::read(&op.result) {
            Ok(told) => told.compare(&decision, Fields::All),
            Err(outcome) => outcome,
        }
    }
}
