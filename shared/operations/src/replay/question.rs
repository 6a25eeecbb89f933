//! What a request for a replay asks for.

use weir_core::invalid::{Fault, Invalid, within};
use weir_core::limits::{JSON_INTEGER_MAX, MINUTE_MS, REPLAY_SPAN_MS_MAX};
use weir_core::units::EpochMs;
use weir_wire::policy::PolicyDocument;
use weir_wire::replay::{ReplayRequest, TraceEntry};
use weir_wire::series::SeriesBody;

/// A candidate, and what is played against it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayQuestion {
    /// The candidate, not looked at yet.
    pub policy: PolicyDocument,
    /// What is played.
    pub over: Over,
}

/// What is played.
#[derive(Debug, Clone, PartialEq)]
pub enum Over {
    /// A trace, not looked at yet.
    Trace(Vec<TraceEntry>),
    /// Whole minutes that ledgers recorded: the question to a ledger, for the sum of all tenants.
    Recorded(SeriesBody),
}

impl TryFrom<ReplayRequest> for ReplayQuestion {
    type Error = Invalid;

    /// ```
    /// use weir_operations::replay::question::{ReplayQuestion, Over};
    /// use weir_wire::replay::ReplayRequest;
    /// let asked = |text: &str| ReplayQuestion::try_from(serde_json::from_str::<ReplayRequest>(text).unwrap());
    /// let Over::Recorded(series) = asked(r#"{ "policy": { "regions": ["weur"] }, "from": 61000, "to": 120001 }"#).unwrap().over
    ///     else { panic!() };
    /// assert_eq!((series.from.0, series.to.0, series.step_ms), (60_000, 180_000, 60_000));
    /// assert_eq!(asked(r#"{ "policy": { "regions": ["weur"] } }"#).unwrap_err().field, "/trace");
    /// ```
    fn try_from(request: ReplayRequest) -> Result<Self, Invalid> {
        let missing = |field: &str| Invalid::new(field, Fault::Missing);
        let policy = request.policy.ok_or_else(|| missing("/policy"))?;
        let over = match (request.trace, request.from, request.to) {
            (Some(trace), None, None) => Over::Trace(trace),
            (Some(_), from, _) => {
                let field = if from.is_some() { "/from" } else { "/to" };
                return Err(Invalid::new(field, Fault::Excluded { by: "trace" }));
            }
            (None, None, None) => return Err(missing("/trace")),
            (None, None, Some(_)) => return Err(missing("/from")),
            (None, Some(_), None) => return Err(missing("/to")),
            (None, Some(from), Some(to)) => Over::Recorded(minutes(from, to)?),
        };
        Ok(Self { policy, over })
    }
}

fn minutes(from: EpochMs, to: EpochMs) -> Result<SeriesBody, Invalid> {
    let to = within("/to", to.0, 1..=JSON_INTEGER_MAX)?;
    let from = within("/from", from.0, 0..=to - 1)?;
    let earliest = from.saturating_add(1);
    within(
        "/to",
        to,
        earliest..=from.saturating_add(REPLAY_SPAN_MS_MAX),
    )?;
    Ok(SeriesBody {
        from: EpochMs(from / MINUTE_MS * MINUTE_MS),
        to: EpochMs(to.div_ceil(MINUTE_MS) * MINUTE_MS),
        step_ms: MINUTE_MS,
        tenant: None,
    })
}
