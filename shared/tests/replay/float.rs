//! What 64-bit floats make of the published formulas: the evidence that a vector without an exact result is off by
//! rounding. Nothing of Weir is compared with it but where Weir differs from such a vector.

use serde_json::Value;
use weir_shared::units::EpochMs;

use super::decision::ReferenceDecision;

/// A formula with its constants, derived in the published order.
#[derive(Debug, Clone, Copy)]
pub enum FloatMachine {
    /// `T = period / limit`, `tau = T * burst`.
    Gcra { interval: f64, tau: f64, burst: f64 },
    /// A bucket that refills by `per_ms`.
    TokenBucket { capacity: f64, per_ms: f64 },
    /// A shaper: `T = 1000 / rate`.
    Leaky { interval: f64, max_queue_ms: f64 },
    /// A count that starts anew with each window.
    Window { limit: f64 },
}

/// The state of one key.
#[derive(Debug, Clone, Copy)]
pub enum FloatState {
    /// The arrival time of the next unit.
    Due(f64),
    /// The tokens at a time.
    Tokens { tokens: f64, last: f64 },
    /// The units of the window that ends then.
    Count { units: f64, end: f64 },
}

/// When a machine is asked.
#[derive(Debug, Clone, Copy)]
pub struct At {
    /// The clock.
    pub now: f64,
    /// When the window ends that it lies in, where there are windows.
    pub window_end: f64,
}

impl At {
    pub fn time(now: EpochMs) -> Self {
        Self {
            now: now.0 as f64,
            window_end: f64::NAN,
        }
    }
}

impl FloatMachine {
    /// The formula of a configuration; `None` for one that is not needed.
    pub fn of(config: &Value) -> Option<Self> {
        let number = |name: &str| config.get(name).and_then(Value::as_f64);
        match config.get("type").and_then(Value::as_str) {
            Some("gcra") => {
                let limit = number("limit")?;
                let (interval, burst) = (
                    number("periodMs")? / limit,
                    number("burst").unwrap_or(limit),
                );
                Some(Self::Gcra {
                    interval,
                    tau: interval * burst,
                    burst,
                })
            }
            Some("tokenBucket") => Some(Self::TokenBucket {
                capacity: number("capacity")?,
                per_ms: number("refillPerSec")? / 1_000.0,
            }),
            None => Some(Self::Leaky {
                interval: 1_000.0 / number("ratePerSec")?,
                max_queue_ms: number("maxQueueMs")?,
            }),
            Some("fixedWindow" | "quota")
                if config.get("resetCadence") != Some(&"rolling".into()) =>
            {
                Some(Self::Window {
                    limit: number("limit")?,
                })
            }
            Some(_) => None,
        }
    }

    /// What is decided, and the state after it if it was charged.
    pub fn check(
        self,
        state: Option<FloatState>,
        cost: f64,
        at: At,
    ) -> (ReferenceDecision, Option<FloatState>) {
        let now = at.now;
        match self {
            Self::Gcra {
                interval,
                tau,
                burst,
            } => {
                let due = due(state, now);
                let due_after = due + interval * cost;
                let allow_at = due_after - tau;
                let allowed = now >= allow_at;
                let told = ReferenceDecision {
                    allowed,
                    limit: burst,
                    remaining: left(tau, if allowed { due_after } else { due }, now, interval),
                    reset_at: if allowed { due_after } else { due }.ceil(),
                    retry_after_ms: if allowed {
                        0.0
                    } else {
                        (allow_at - now).ceil()
                    },
                };
                (told, allowed.then_some(FloatState::Due(due_after)))
            }
            Self::TokenBucket { capacity, per_ms } => {
                let (tokens, last) = match state {
                    Some(FloatState::Tokens { tokens, last }) => (tokens, last),
                    _ => (capacity, now),
                };
                let tokens = capacity.min(tokens + (now - last).max(0.0) * per_ms);
                let allowed = tokens >= cost;
                let tokens_after = if allowed { tokens - cost } else { tokens };
                let wait_ms = ((cost - tokens) / per_ms).ceil();
                let told = ReferenceDecision {
                    allowed,
                    limit: capacity,
                    remaining: tokens_after.floor().max(0.0),
                    reset_at: now + ((capacity - tokens_after) / per_ms).ceil(),
                    retry_after_ms: if allowed { 0.0 } else { wait_ms },
                };
                let next = FloatState::Tokens {
                    tokens: tokens_after,
                    last: now,
                };
                (told, allowed.then_some(next))
            }
            Self::Leaky {
                interval,
                max_queue_ms,
            } => {
                let due = due(state, now);
                let wait_ms = due - now;
                let allowed = wait_ms <= max_queue_ms;
                let told = ReferenceDecision {
                    allowed,
                    limit: 0.0,
                    remaining: 0.0,
                    reset_at: wait_ms.ceil(),
                    retry_after_ms: if allowed {
                        0.0
                    } else {
                        (wait_ms - max_queue_ms).ceil()
                    },
                };
                (
                    told,
                    allowed.then_some(FloatState::Due(due + interval * cost)),
                )
            }
            Self::Window { limit } => {
                let end = at.window_end;
                let units = match state {
                    Some(FloatState::Count { units, end: of }) if of == end => units,
                    _ => 0.0,
                };
                let allowed = units + cost <= limit;
                let units_after = if allowed { units + cost } else { units };
                let told = ReferenceDecision {
                    allowed,
                    limit,
                    remaining: (limit - units_after).floor().max(0.0),
                    reset_at: end,
                    retry_after_ms: if allowed { 0.0 } else { end - now },
                };
                let next = FloatState::Count {
                    units: units_after,
                    end,
                };
                (told, allowed.then_some(next))
            }
        }
    }

    /// What one unit would meet: nothing is charged, so what remains and when it is full are those of now.
    pub fn peek(self, state: Option<FloatState>, at: At) -> ReferenceDecision {
        let (told, _) = self.check(state, 1.0, at);
        let (untouched, _) = self.check(state, 0.0, at);
        ReferenceDecision {
            remaining: untouched.remaining,
            reset_at: untouched.reset_at,
            ..told
        }
    }
}

fn due(state: Option<FloatState>, now: f64) -> f64 {
    match state {
        Some(FloatState::Due(due)) => due.max(now),
        _ => now,
    }
}

fn left(tau: f64, due: f64, now: f64, interval: f64) -> f64 {
    ((tau - (due - now)) / interval).floor().max(0.0)
}

#[cfg(test)]
mod tests {

    use serde_json::json;

    use weir_shared::ordered::OrderedMap;

    use super::super::line::{Op, Sequence};
    use super::*;

    const VECTORS: [&str; 3] = [
        include_str!("../vectors/gcra.jsonl"),
        include_str!("../vectors/token_bucket.jsonl"),
        include_str!("../vectors/leaky_bucket.jsonl"),
    ];

    /// One key's part of an operation, in floats; `None` for what is no decision.
    fn replayed(
        machine: FloatMachine,
        states: &mut OrderedMap<String, FloatState>,
        op: &Op,
        key: &str,
    ) -> Option<Value> {
        let at = At {
            now: op.t.as_f64()?,
            window_end: f64::NAN,
        };
        let state = states.get(key).copied();
        let told = if op.op == "peek" {
            machine.peek(state, at)
        } else {
            let cost = op.args.get("cost").map_or(Some(1.0), Value::as_f64)?;
            let (told, next) = machine.check(state, cost, at);
            states.extend(next.map(|next| (key.to_owned(), next)));
            told
        };
        Some(match machine {
            FloatMachine::Leaky { .. } => {
                let delay_ms = if told.allowed {
                    told.reset_at
                } else {
                    told.retry_after_ms
                };
                json!({"accepted": told.allowed, "delayMs": delay_ms})
            }
            _ => json!({
                "allowed": told.allowed, "limit": told.limit, "remaining": told.remaining,
                "resetAt": told.reset_at, "retryAfterMs": told.retry_after_ms,
            }),
        })
    }

    /// The same with every number as a double.
    fn doubles(value: &Value) -> Value {
        match value {
            Value::Number(number) => json!(number.as_f64()),
            Value::Array(list) => list.iter().map(doubles).collect(),
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(name, value)| (name.clone(), doubles(value)));
                Value::Object(fields.collect())
            }
            other => other.clone(),
        }
    }

    #[test]
    fn floats_reproduce_every_result_to_the_bit() {
        let mut compared = 0;
        for line in VECTORS.iter().flat_map(|text| text.lines()) {
            let sequence: Sequence = serde_json::from_str(line).unwrap();
            let machine = FloatMachine::of(&sequence.config).unwrap();
            let mut states = OrderedMap::new();
            for op in sequence.ops.iter().filter(|op| !op.threw()) {
                let key = op.text("key").unwrap_or_default();
                let got = match op.op.as_str() {
                    "reset" => {
                        states.remove(key);
                        continue;
                    }
                    "check" | "peek" | "reserve" => replayed(machine, &mut states, op, key),
                    "checkMany" => op.args["keys"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|key| replayed(machine, &mut states, op, key.as_str().unwrap()))
                        .collect(),
                    _ => continue,
                };
                let expected = doubles(&op.result);
                assert_eq!(got, Some(expected), "{}: {op:?}", sequence.id);
                compared += 1;
            }
        }
        assert!(compared > 500, "{compared}");
    }
}
