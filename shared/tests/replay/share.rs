//! Checks of tenants that share a budget, kept by one holder.

use serde_json::{Map, Value, json};
use weir_shared::decision::{Decision, Retry};
use weir_shared::fairness::ask::{Claimant, TenantClaim};
use weir_shared::fairness::local::{LocalBudget, LocalTerms};
use weir_shared::fairness::share::{Rule, ShareTerms};
use weir_shared::fairness::weight::Weight;
use weir_shared::limits::{JSON_INTEGER_MAX, TENANTS_MAX};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;

use super::Replay;
use super::decision::{Fields, ReferenceDecision};
use super::line::{Cost, Op, Sequence};
use super::report::{Outcome, Why};
use super::share_twin::Twin;
use super::weights::Weights;

const NEVER: &str = "its retry hint: a cost above the limit, which Weir says is never admitted";

struct Sharing {
    rule: Rule,
    terms: LocalTerms,
    budget: LocalBudget,
    /// What `weightOf` returns there, as it is written.
    stated: OrderedMap<String, Value>,
    weights: Weights,
    /// The same in floats, and the tenants of this window.
    twin: Twin,
    /// The window in which the two went apart, and why: what follows in it is not compared.
    apart: Option<(u64, Why)>,
}

pub fn fair(sequence: &Sequence) -> Result<Box<dyn Replay>, Why> {
    start(sequence, Rule::Fair)
}

pub fn weighted(sequence: &Sequence) -> Result<Box<dyn Replay>, Why> {
    start(sequence, Rule::Weighted)
}

pub fn escrow(sequence: &Sequence) -> Result<Box<dyn Replay>, Why> {
    start(sequence, Rule::Pinned)
}

fn start(sequence: &Sequence, rule: Rule) -> Result<Box<dyn Replay>, Why> {
    let config = &sequence.config;
    if config.get("maxKeys").is_some() {
        return Err(
            "tenants that are evicted, with what they used: usage outlives it in Weir".into(),
        );
    }
    let number = |name: &str| config.get(name).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let whole = |number: f64| (1.0..=JSON_INTEGER_MAX as f64).contains(&number);
    let (limit, window_ms) = (number("limit").floor(), number("windowMs"));
    if !whole(limit) || !whole(window_ms) || window_ms.fract() != 0.0 {
        return Err("a limit or window outside Weir's bounds".into());
    }
    let (limit, window_ms) = (limit as u64, window_ms as u64);
    let share = ShareTerms {
        rule,
        tenants_max: TENANTS_MAX,
        unknown_weight_max: Weight::WHOLE,
        carried: false,
        floors: 0,
    };
    let terms = LocalTerms {
        limit,
        window_ms,
        share: Some(share),
    };
    let mut stated: OrderedMap<String, Value> = OrderedMap::new();
    if let Some(weights) = config.get("weights").and_then(Value::as_object) {
        stated.extend(
            weights
                .iter()
                .map(|(name, weight)| (name.clone(), weight.clone())),
        );
    }
    if let Some(weight) = config.get("defaultWeight") {
        stated.insert(String::new(), weight.clone());
    }
    Ok(Box::new(Sharing {
        rule,
        terms,
        budget: LocalBudget::new(terms),
        weights: Weights::of(stated.values().chain(later(&sequence.ops))),
        stated,
        twin: Twin::new(rule, limit, window_ms),
        apart: None,
    }))
}

/// Weights that operations bring.
fn later(ops: &[Op]) -> impl Iterator<Item = &Value> {
    ops.iter().filter_map(|op| op.args.get("weight"))
}

impl Replay for Sharing {
    fn apply(&mut self, op: &Op, now: EpochMs) -> Outcome {
        let tenant = op.text("tenant");
        if op.op == "setWeight" {
            let weight = op.args.get("weight").cloned().unwrap_or(Value::Null);
            self.stated
                .insert(tenant.unwrap_or_default().to_owned(), weight);
            return null(op);
        }
        let window = now.0 / self.terms.window_ms;
        if let Some((here, why)) = &self.apart {
            if *here == window {
                return Outcome::Skipped(why.clone());
            }
            self.apart = None;
        }
        match op.op.as_str() {
            "check" => self.check(op, tenant.unwrap_or_default(), now),
            "reset" => self.reset(op, tenant, window),
            "stats" => self.stats(op, now),
            other => Outcome::failed("a known operation", other),
        }
    }
}

impl Sharing {
    fn check(&mut self, op: &Op, tenant: &str, now: EpochMs) -> Outcome {
        let stated = self.stated_weight(op, tenant);
        let refused = |why: &'static str| match op.threw() {
            true => Outcome::Skipped(why.into()),
            false => Outcome::failed(&op.result, why),
        };
        if tenant.is_empty() {
            return refused("a tenant without a name, which both refuse");
        }
        let cost = match (op.cost(), op.threw()) {
            (Cost::Whole(cost), _) => cost,
            (Cost::Refused, _) => {
                return refused("a cost that ThrottleKit refuses: below 1 or above 2^53 - 1");
            }
            (Cost::Fraction(_) | Cost::NoNumber, true) => {
                return Outcome::Skipped("a cost that both refuse".into());
            }
            (Cost::Fraction(_) | Cost::NoNumber, false) => {
                let why = "a cost that is no integer, and what follows in its window";
                return self.part(why, now.0 / self.terms.window_ms);
            }
        };
        let weight = match (self.weights.read(&stated), op.threw()) {
            (Ok(weight), false) => weight,
            (Err(_), true) => return Outcome::Skipped("a weight that both refuse".into()),
            (Ok(_), true) => return Outcome::failed(&op.result, "a request that Weir takes"),
            (Err(why), false) => return Outcome::SkippedFromHere(why),
        };
        let decision = self
            .budget
            .check(&claimant(tenant, weight).into(), cost, now);
        let float = stated.as_f64().unwrap_or(1.0);
        let twin = self.twin.check(tenant, float, cost, now.0);
        self.compare(op, &decision, &twin, now.0 / self.terms.window_ms)
    }

    fn compare(
        &mut self,
        op: &Op,
        decision: &Decision,
        twin: &ReferenceDecision,
        window: u64,
    ) -> Outcome {
        let told = match ReferenceDecision::read(op.expected()) {
            Ok(told) => told,
            Err(outcome) => return outcome,
        };
        let fields = match decision.retry {
            Retry::Never => Fields::ExceptRetry(NEVER),
            _ => Fields::All,
        };
        if told.agrees(decision, fields) || told != *twin {
            return told.compare(decision, fields);
        }
        if told.allowed == decision.admitted() {
            return Outcome::Skipped("a number that f64 rounding has moved in the vector".into());
        }
        let why = "an admission that f64 rounding has moved in the vector, and what follows in its window";
        self.part(why, window)
    }

    /// What was spent stays spent in Weir. A reset of all is replayed as a new budget; one of a tenant that has spent
    /// something ends the comparison of its window.
    fn reset(&mut self, op: &Op, tenant: Option<&str>, window: u64) -> Outcome {
        if !self.twin.knows(tenant, window) {
            return null(op);
        }
        if tenant.is_some() {
            let why = "a reset that forgets what a tenant spent, and what follows in its window";
            return self.part(why, window);
        }
        self.budget = LocalBudget::new(self.terms);
        self.twin = Twin::new(self.rule, self.terms.limit, self.terms.window_ms);
        null(op)
    }

    /// Compares nothing until the next window, which begins anew in both.
    fn part(&mut self, why: &'static str, window: u64) -> Outcome {
        self.apart = Some((window, why.into()));
        Outcome::Skipped(why.into())
    }

    fn stats(&self, op: &Op, now: EpochMs) -> Outcome {
        let rows: OrderedMap<String, Value> = self
            .budget
            .rows(now)
            .into_iter()
            .map(|row| (row.name, json!(row.used)))
            .collect();
        let told = op.expected();
        let tenants = told.get("tenants").and_then(Value::as_array);
        let tenants: OrderedMap<String, Value> = tenants
            .into_iter()
            .flatten()
            .filter_map(|tenant| {
                let name = tenant.get("tenant")?.as_str()?.to_owned();
                Some((name, tenant.get("used")?.clone()))
            })
            .collect();
        let (limit, used) = (self.terms.limit, self.budget.used_total());
        let got = json!({
            "limit": limit, "effectiveLimit": limit, "pool": limit - used, "totalUsed": used,
            "tenants": rows,
        });
        let mut expected = told.as_object().cloned().unwrap_or_default();
        expected.remove("windowStart");
        expected.insert("tenants".to_owned(), json!(tenants));
        if json!(expected) == got {
            Outcome::Passed
        } else {
            Outcome::failed(json!(expected), got)
        }
    }

    fn stated_weight(&self, op: &Op, tenant: &str) -> Value {
        if self.rule == Rule::Fair {
            return json!(1);
        }
        let own = op.args.get("weight").or_else(|| self.stated.get(tenant));
        own.or_else(|| self.stated.get(""))
            .cloned()
            .unwrap_or(json!(1))
    }
}

fn claimant(name: &str, weight: Weight) -> Claimant {
    let everyone = TenantClaim::default();
    Claimant {
        name: name.to_owned(),
        claim: TenantClaim { weight, ..everyone },
    }
}

fn null(op: &Op) -> Outcome {
    if op.result.is_null() {
        Outcome::Passed
    } else {
        Outcome::failed(&op.result, Map::new())
    }
}
