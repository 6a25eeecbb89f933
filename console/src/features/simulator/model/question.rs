//! What the server is asked: the candidate, and what is played against it.

use std::fmt;
use std::sync::Arc;

use weir_shared::limits::{MINUTES_KEPT_MS, REPLAY_SPAN_MS_MAX};
use weir_shared::units::EpochMs;
use weir_shared::wire::replay::ReplayRequest;

use super::against::Against;
use super::query::{SimulatorQuery, Source};
use crate::format::length;
use crate::time_range::TimeRange;
use crate::trace_file::{TraceFault, TraceFile};

/// Why nothing is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionFault {
    /// The span is longer than one simulation plays.
    TooLong,
    /// The span begins before the minutes that are kept.
    TooOld,
    /// The file cannot be played against these policies.
    Trace(TraceFault),
}

impl fmt::Display for QuestionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(
                f,
                "At most {} are played at once. Choose a shorter span.",
                length(REPLAY_SPAN_MS_MAX)
            ),
            Self::TooOld => write!(
                f,
                "Demand is kept by minute for {}. Choose a later start.",
                length(MINUTES_KEPT_MS)
            ),
            Self::Trace(fault) => fault.fmt(f),
        }
    }
}

/// What is asked; none while nothing is chosen.
///
/// # Errors
/// What cannot be played.
pub fn question(
    query: &SimulatorQuery,
    against: &Against,
    trace: Option<&Arc<TraceFile>>,
    now_ms: u64,
) -> Result<Option<ReplayRequest>, QuestionFault> {
    let mut request = ReplayRequest::default();
    match (query.over, trace) {
        (None, _) | (Some(Source::Trace), None) => return Ok(None),
        (Some(Source::Recorded), _) => {
            let (from, to) = span(query.range, now_ms)?;
            (request.from, request.to) = (Some(EpochMs(from)), Some(EpochMs(to)));
        }
        (Some(Source::Trace), Some(trace)) => {
            let policies = [&against.present, &against.candidate.policy];
            trace.check(policies).map_err(QuestionFault::Trace)?;
            request.trace = Some(trace.entries.clone());
        }
    }
    request.policy = Some(against.candidate.document.clone());
    Ok(Some(request))
}

/// The span of recorded demand, in epoch milliseconds.
fn span(range: TimeRange, now_ms: u64) -> Result<(u64, u64), QuestionFault> {
    let (from, to) = range.span(now_ms);
    if to - from > REPLAY_SPAN_MS_MAX {
        return Err(QuestionFault::TooLong);
    }
    if now_ms.saturating_sub(from) > MINUTES_KEPT_MS {
        return Err(QuestionFault::TooOld);
    }
    Ok((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::tagged::Tagged;

    const NOW_MS: u64 = 1_795_336_212_000;
    const HOUR_MS: u64 = 3_600_000;

    fn against() -> Against {
        let in_force = Tagged {
            body: serde_json::from_str(include_str!("../../../../../policy.json")).unwrap(),
            etag: "\"7\"".to_owned(),
        };
        Against::of(&in_force, None).unwrap()
    }

    fn asked(query: &str, trace: Option<&str>) -> Result<Option<ReplayRequest>, String> {
        let trace = trace.map(|text| Arc::new(TraceFile::read("t", text.as_bytes()).unwrap()));
        let query = SimulatorQuery::parse(query);
        let asked = question(&query, &against(), trace.as_ref(), NOW_MS);
        asked.map_err(|fault| fault.to_string())
    }

    #[test]
    fn nothing_is_asked_before_something_is_chosen() {
        assert_eq!(asked("", None), Ok(None));
        assert_eq!(asked("over=trace", None), Ok(None));
    }

    #[test]
    fn recorded_demand_is_asked_for_by_its_span() {
        let request = asked("over=recorded&range=15m", None).unwrap().unwrap();
        assert_eq!(request.to, Some(EpochMs(NOW_MS)));
        assert_eq!(request.from, Some(EpochMs(NOW_MS - 900_000)));
        assert!(request.trace.is_none() && request.policy.is_some());
    }

    #[test]
    fn a_span_that_is_not_played_is_refused_before_it_is_asked_for() {
        let between = |ago_h: u64, length_h: u64| {
            let from = NOW_MS - ago_h * HOUR_MS;
            let range = TimeRange::between(from, from + length_h * HOUR_MS).unwrap();
            asked(&format!("over=recorded&range={}", range.name()), None)
        };
        assert!(between(24, 6).is_ok());
        let refused = between(23, 7).unwrap_err();
        assert_eq!(
            refused,
            "At most 6 h are played at once. Choose a shorter span."
        );
        let refused = between(25, 1).unwrap_err();
        assert_eq!(
            refused,
            "Demand is kept by minute for 1 d. Choose a later start."
        );
        assert!(asked("over=recorded&range=7d", None).is_err());
    }

    #[test]
    fn a_trace_is_asked_for_once_each_line_can_be_played() {
        let good = "1,a,meter,bytes\n";
        let refused = asked("over=trace", Some(good)).unwrap_err();
        assert_eq!(refused, "Line 1: meter: \"bytes\" is not a known meter");
        let good = "1,a,meter,flow_events,,3\n";
        let request = asked("over=trace", Some(good)).unwrap().unwrap();
        assert_eq!(request.trace.unwrap()[0].cost, Some(3));
        assert_eq!((request.from, request.to), (None, None));
    }
}
