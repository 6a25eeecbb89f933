//! The leased spender. Credits, costs and leases may have decimals: it counts in millionths.

use serde_json::{Value, json};
use weir_reference::spender::{Coupling, Lease, LeaseSpender, Reply, Stuck};
use weir_shared::decision::Decision;
use weir_shared::invalid::Fault;
use weir_shared::units::EpochMs;

use super::Replay;
use super::decision::{Fields, ReferenceDecision};
use super::line::{Op, Sequence, whole};
use super::numbers;
use super::report::{Outcome, Why};

/// Parts of a unit.
const PARTS: u64 = 1_000_000;

struct Spender {
    spender: LeaseSpender,
}

pub fn start(sequence: &Sequence) -> Result<Box<dyn Replay>, Why> {
    let coupled = sequence
        .config
        .get("windowCoupled")
        .and_then(Value::as_bool);
    let coupling = match coupled {
        Some(false) => Coupling::None,
        _ => Coupling::AtSpend,
    };
    let limit = numbers::positive(&sequence.config, "limit")?;
    let spender = LeaseSpender::new(limit, PARTS, coupling).map_err(numbers::outside)?;
    Ok(Box::new(Spender { spender }))
}

/// A number of units in parts, which it has a whole number of.
fn parts(value: &Value) -> Option<u64> {
    let parts = value.as_f64()? * PARTS as f64;
    let is_whole = (parts - parts.round()).abs() < 0.001;
    whole(&Value::from(parts.round())).filter(|_| is_whole)
}

fn lease(value: &Value) -> Option<Lease> {
    Some(Lease {
        parts: parts(value.get("capacity")?)?,
        expires_at: EpochMs(whole(value.get("expiresAt")?)?),
    })
}

impl Replay for Spender {
    fn apply(&mut self, op: &Op, now: EpochMs) -> Outcome {
        match op.op.as_str() {
            "applyLease" => match lease(&op.args) {
                Some(lease) => {
                    self.spender.apply(lease, now);
                    numbers::equal(&op.result, &Value::Null)
                }
                None => Outcome::SkippedFromHere("a lease out of range, and what follows".into()),
            },
            "reset" => {
                self.spender.reset();
                numbers::equal(&op.result, &Value::Null)
            }
            "state" => {
                let (parts, expires_at) = self.spender.balance();
                let credits = parts as f64 / PARTS as f64;
                let expires_at = expires_at.map(|expires_at| expires_at.0);
                let got = json!({"credits": credits, "expiresAt": expires_at});
                numbers::equal(&op.result, &got)
            }
            "spend" | "spendOrRefresh" => self.spend(op, now),
            other => Outcome::failed("a known operation", other),
        }
    }
}

impl Spender {
    fn spend(&mut self, op: &Op, now: EpochMs) -> Outcome {
        let cost = op.args.get("cost").map_or(Some(PARTS), parts);
        let Some(cost) = cost else {
            // Below zero, infinite or no number.
            return if op.threw() {
                Outcome::PassedExcept("the text of the refusal".into())
            } else {
                Outcome::SkippedFromHere("a cost out of range, and what follows".into())
            };
        };
        if op.op == "spendOrRefresh" {
            return self.spend_or_refresh(op, cost, now);
        }
        match self.spender.spend(cost, now) {
            Err(_) if op.threw() => Outcome::PassedExcept("the text of the refusal".into()),
            Err(invalid) => Outcome::failed(&op.result, invalid),
            Ok(None) => numbers::equal(&op.result, &json!({"needsRefresh": true})),
            Ok(Some(decision)) if op.result.get("needsRefresh") == Some(&false.into()) => {
                compared(op.result.get("decision"), &decision)
            }
            Ok(Some(decision)) => Outcome::failed(&op.result, decision),
        }
    }

    fn spend_or_refresh(&mut self, op: &Op, cost: u64, now: EpochMs) -> Outcome {
        let replies = op.args.get("replies").and_then(Value::as_array);
        let replies: Option<Vec<Reply>> = replies
            .into_iter()
            .flatten()
            .map(|reply| match reply.get("denied") {
                Some(denied) => Some(Reply::Denied(
                    ReferenceDecision::read(denied).ok()?.decision()?,
                )),
                None => lease(reply).map(Reply::Lease),
            })
            .collect();
        let Some(replies) = replies.filter(|replies| !replies.is_empty()) else {
            return Outcome::SkippedFromHere("a reply out of range, and what follows".into());
        };
        let rounds_max = op.args.get("maxRounds").and_then(whole).unwrap_or(8) as u32;
        let mut wants = 0;
        let answer = self.spender.spend_or_refresh(cost, rounds_max, now, |_| {
            let last = replies.len() - 1;
            wants += 1;
            replies[last.min(wants - 1)]
        });
        let asked = op.wants.as_ref().and_then(Value::as_array);
        if asked.is_some_and(|asked| asked.len() != wants) {
            return Outcome::failed(format!("{:?}", op.wants), wants);
        }
        match answer {
            Err(Stuck::Cost(invalid)) if !matches!(invalid.fault, Fault::OutOfRange { .. }) => {
                Outcome::failed(&op.result, invalid)
            }
            Err(_) if op.threw() => Outcome::PassedExcept("the text of the refusal".into()),
            Err(stuck) => Outcome::failed(&op.result, stuck),
            Ok(decision) => compared(Some(&op.result), &decision),
        }
    }
}

fn compared(expected: Option<&Value>, got: &Decision) -> Outcome {
    match ReferenceDecision::read(expected.unwrap_or(&Value::Null)) {
        Ok(told) => told.compare(got, Fields::All),
        Err(outcome) => outcome,
    }
}
