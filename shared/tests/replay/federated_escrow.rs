//! Weighted fair escrow in regions over one pool.

use serde_json::{Value, json};
use weir_reference::federated_escrow::FederatedEscrow;
use weir_reference::region_pool::RegionPool;
use weir_shared::ordered::{OrderedMap, OrderedSet};
use weir_shared::units::EpochMs;

use super::Replay;
use super::decision::{Fields, ReferenceDecision};
use super::line::{Op, Sequence};
use super::numbers::{self, Apart, weight, window_start};
use super::region_pool;
use super::report::{Outcome, Why};
use super::single::cost;

struct Federation {
    pool: RegionPool,
    regions: OrderedMap<String, Region>,
    apart: Apart,
}

struct Region {
    escrow: FederatedEscrow,
    weights: OrderedMap<String, Value>,
    weight_default: Value,
    keys_max: Option<u64>,
    /// Tenants of the open window.
    seen: (Option<EpochMs>, OrderedSet<String>),
}

pub fn start(sequence: &Sequence) -> Result<Box<dyn Replay>, Why> {
    let regions = sequence.config.get("regions").and_then(Value::as_array);
    let regions = regions.ok_or("a configuration without regions")?;
    let regions = regions.iter().map(|region| {
        let name = region.get("region").and_then(Value::as_str);
        let name = name.ok_or("a region without a name")?;
        Ok((name.to_owned(), Region::new(name, region)))
    });
    Ok(Box::new(Federation {
        pool: region_pool::pool(&sequence.config)?,
        regions: regions.collect::<Result<_, Why>>()?,
        apart: Apart::default(),
    }))
}

impl Region {
    fn new(name: &str, config: &Value) -> Self {
        let weights = config.get("weights").and_then(Value::as_object);
        Self {
            escrow: FederatedEscrow::new(name),
            weights: weights
                .into_iter()
                .flatten()
                .map(|(tenant, weight)| (tenant.clone(), weight.clone()))
                .collect(),
            weight_default: config.get("defaultWeight").cloned().unwrap_or(1.into()),
            keys_max: config
                .get("maxKeys")
                .and_then(Value::as_f64)
                .map(|max| max as u64),
            seen: (None, OrderedSet::new()),
        }
    }

    /// Whether ThrottleKit forgets a tenant in this window.
    fn overflows(&mut self, tenant: &str) -> bool {
        if self.seen.0 != self.escrow.opened_at() {
            self.seen = (self.escrow.opened_at(), OrderedSet::new());
        }
        self.seen.1.insert(tenant.to_owned());
        self.keys_max
            .is_some_and(|max| self.seen.1.len() as u64 > max)
    }

    fn stats(&self, name: &str, limit: u64) -> Value {
        let tenants = self.escrow.tenants().iter().map(|tenant| {
            let weight = tenant.weight.as_f64();
            json!({"tenant": tenant.tenant, "weight": weight, "used": tenant.used})
        });
        json!({
            "region": name,
            "windowStart": window_start(self.escrow.opened_at()),
            "limit": limit,
            "regionBudget": self.escrow.budget(),
            "activeWeight": self.escrow.weight_micros() as f64 / 1e6,
            "totalUsed": self.escrow.used(),
            "tenants": tenants.collect::<Vec<_>>(),
        })
    }
}

impl Replay for Federation {
    fn apply(&mut self, op: &Op, now: EpochMs) -> Outcome {
        let outcome = match op.op.as_str() {
            "poolStats" => numbers::equal(&op.result, &region_pool::stats(&self.pool)),
            "check" | "setWeight" | "reset" | "stats" => self.in_region(op, now),
            other => return Outcome::failed("a known operation", other),
        };
        if let Some(unsafe_now) = self.over_limit() {
            return unsafe_now;
        }
        if op.threw() {
            return outcome;
        }
        let opened_at = match op.op.as_str() {
            "poolStats" => self.pool.opened_at(),
            "stats" => {
                let region = self.regions.get(op.text("region").unwrap_or_default());
                region.and_then(|region| region.escrow.opened_at())
            }
            _ => Some(now),
        };
        self.apart.outcome(outcome, now, opened_at)
    }
}

impl Federation {
    fn in_region(&mut self, op: &Op, now: EpochMs) -> Outcome {
        let name = op.text("region").unwrap_or_default();
        let tenant = op.text("tenant").unwrap_or_default();
        let Some(region) = self.regions.get_mut(name) else {
            return Outcome::failed("a known region", name);
        };
        match op.op.as_str() {
            "setWeight" => {
                let weight = op.args.get("weight").cloned().unwrap_or_default();
                region.weights.insert(tenant.to_owned(), weight);
                numbers::equal(&op.result, &Value::Null)
            }
            "stats" => numbers::equal(&op.result, &region.stats(name, self.pool.limit())),
            "reset" => {
                let why =
                    "a reset, which forgets there what was used, and what follows in its window";
                self.apart.begin(why, now, self.pool.window_ms());
                Outcome::Skipped(why.into())
            }
            _ => self.check(op, name, tenant, now),
        }
    }

    fn check(&mut self, op: &Op, name: &str, tenant: &str, now: EpochMs) -> Outcome {
        let Some(region) = self.regions.get_mut(name) else {
            return Outcome::failed("a known region", name);
        };
        let weight = weight(Some(
            region.weights.get(tenant).unwrap_or(&region.weight_default),
        ));
        let (cost, weight) = match (cost(op), weight) {
            (Ok(cost), Ok(weight)) => (cost, weight),
            (_, Err(_)) if op.threw() => {
                return Outcome::PassedExcept("the text of the refusal".into());
            }
            (Err(Outcome::SkippedFromHere(_)), _) => {
                let why = "a cost that is no integer, and what follows in its window";
                self.apart.begin(why, now, self.pool.window_ms());
                return Outcome::Skipped(why.into());
            }
            (Err(outcome), _) => return outcome,
            (_, Err(fault)) => {
                return Outcome::SkippedFromHere(
                    format!("a weight that Weir refuses, and what follows: {fault}").into(),
                );
            }
        };
        let decision = match region
            .escrow
            .check(&mut self.pool, tenant, weight, cost, now)
        {
            Ok(decision) => decision,
            Err(invalid) => return Outcome::SkippedFromHere(numbers::outside(invalid)),
        };
        if region.overflows(tenant) {
            let why =
                "more tenants than ThrottleKit was told to keep, and what follows in its window";
            self.apart.begin(why, now, self.pool.window_ms());
        }
        if cost > self.pool.limit() {
            let why = "a cost above the limit, for which all is leased there, and what follows in its window";
            self.apart.begin(why, now, self.pool.window_ms());
        }
        match ReferenceDecision::read(&op.result) {
            Ok(told) => told.compare(&decision, Fields::All),
            Err(outcome) => outcome,
        }
    }

    fn over_limit(&self) -> Option<Outcome> {
        let open = self.pool.opened_at();
        let regions = self.regions.values();
        let used: u64 = regions
            .filter(|region| region.escrow.opened_at() == open)
            .map(|region| region.escrow.used())
            .sum();
        let granted = self.pool.granted_total();
        (used > granted || granted > self.pool.limit())
            .then(|| Outcome::failed("used <= granted <= limit", (used, granted)))
    }
}
