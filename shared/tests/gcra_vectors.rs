//! Golden vectors: decisions of another limiter, in exact arithmetic. See `vectors/README.md`.

#![cfg(not(target_arch = "wasm32"))]

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use weir_shared::algorithms::gcra::{Gcra, GcraState};
use weir_shared::decision::{Decision, Reason};
use weir_shared::units::EpochMs;

#[derive(Debug, Deserialize)]
struct Sequence {
    id: String,
    config: Config,
    ops: Vec<Op>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    limit: Value,
    period_ms: Value,
    burst: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Op {
    t: Value,
    op: String,
    args: Args,
    result: Value,
    result_exact: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Args {
    #[serde(default)]
    key: String,
    #[serde(default)]
    keys: Vec<String>,
    cost: Option<Value>,
}

/// What is expected of one check.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Expected {
    allowed: bool,
    limit: u64,
    remaining: u64,
    reset_at: u64,
    retry_after_ms: u64,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    compared: usize,
    never: usize,
    skipped: usize,
}

/// The keys of one sequence.
struct Run<'a> {
    id: &'a str,
    gcra: Gcra,
    states: BTreeMap<String, GcraState>,
}

impl Run<'_> {
    fn check(&mut self, key: &str, cost: u64, now: EpochMs) -> Decision {
        let checked = self.gcra.check(self.states.get(key).copied(), cost, now);
        if let Some(next) = checked.next {
            self.states.insert(key.to_owned(), next);
        }
        checked.decision
    }

    fn compare(
        &mut self,
        key: &str,
        cost: u64,
        now: EpochMs,
        expected: &Value,
        counts: &mut Counts,
    ) {
        let decision = self.check(key, cost, now);
        if cost > self.gcra.burst() {
            assert_eq!(decision.reason, Reason::Never, "{} at {now}", self.id);
            assert_eq!(expected["allowed"], false, "{} at {now}", self.id);
            counts.never += 1;
            return;
        }
        let got = Expected {
            allowed: decision.admitted(),
            limit: decision.limit,
            remaining: decision.remaining,
            reset_at: decision.reset_at.0,
            retry_after_ms: decision.retry.after_ms().unwrap(),
        };
        let expected: Expected = serde_json::from_value(expected.clone()).unwrap();
        assert_eq!(got, expected, "{}: {key} at {now}, cost {cost}", self.id);
        counts.compared += 1;
    }

    fn op(&mut self, op: &Op, cost: u64, now: EpochMs, counts: &mut Counts) {
        let expected = op.result_exact.as_ref().unwrap_or(&op.result);
        match op.op.as_str() {
            _ if expected.get("error").is_some() => counts.skipped += 1,
            "check" => self.compare(&op.args.key, cost, now, expected, counts),
            "peek" => self.compare(&op.args.key, 0, now, expected, counts),
            "checkMany" => {
                let all = expected.as_array().unwrap();
                assert_eq!(all.len(), op.args.keys.len());
                for (key, expected) in op.args.keys.iter().zip(all) {
                    self.compare(key, cost, now, expected, counts);
                }
            }
            "reset" => {
                self.states.remove(&op.args.key);
                counts.skipped += 1;
            }
            "construct" | "forecast" => counts.skipped += 1,
            other => panic!("{}: unknown op {other}", self.id),
        }
    }
}

impl Config {
    /// The limit; `None` when a number of it is no integer.
    fn gcra(&self) -> Option<Gcra> {
        let limit = self.limit.as_u64()?;
        let burst = self.burst.as_ref().map_or(Some(limit), Value::as_u64)?;
        Some(Gcra::new(limit, self.period_ms.as_u64()?, burst).unwrap())
    }
}

fn compare_sequence(sequence: &Sequence, counts: &mut Counts) {
    let Some(gcra) = sequence.config.gcra() else {
        counts.skipped += sequence.ops.len();
        return;
    };
    let mut run = Run {
        id: &sequence.id,
        gcra,
        states: BTreeMap::new(),
    };
    let mut latest = EpochMs(0);
    for (index, op) in sequence.ops.iter().enumerate() {
        let cost = op.args.cost.as_ref().map_or(Some(1), Value::as_u64);
        let (Some(now), Some(cost)) = (op.t.as_u64().map(EpochMs), cost) else {
            counts.skipped += sequence.ops.len() - index;
            return;
        };
        if now < latest {
            counts.skipped += sequence.ops.len() - index;
            return;
        }
        latest = now;
        run.op(op, cost, now, counts);
    }
}

#[test]
fn decisions_equal_the_golden_vectors() {
    let mut counts = Counts::default();
    for line in include_str!("vectors/gcra.jsonl").lines() {
        let sequence: Sequence = serde_json::from_str(line).unwrap();
        compare_sequence(&sequence, &mut counts);
    }
    println!("{counts:?}");
    assert!(counts.compared >= 100, "{counts:?}");
}
