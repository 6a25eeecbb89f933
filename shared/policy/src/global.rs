//! What a limit must be to be one for the whole deployment: one with windows, whose units can be lent ahead.

use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::{BUDGET_WINDOW_MS_MIN, JSON_INTEGER_MAX, WINDOW_MS_MAX};
use weir_core::units::Revision;
use weir_federation::schedule::Schedule;
use weir_wire::exchange::{Cycle, PeriodBody, Terms};
use weir_wire::policy::{Algorithm, Cadence, LimitBody, Scope};

use super::algorithm::{buckets, length_ms};
use super::limit::{Limit, Rule, algorithm_of};
use super::{between, wire_name};

impl Limit {
    /// The terms that travel with every exchange about a key of this limit, with the limit in the machine's parts of a
    /// unit; `None` unless it is one for the whole deployment.
    ///
    /// ```
    /// use weir_core::invalid::read_json;
    /// use weir_policy::limit::Limit;
    /// use weir_core::units::Revision;
    /// let text = br#"{"algorithm":"fixed_window","limit":10,"window_ms":60000,"scope":"global"}"#;
    /// let tenths = Limit::read(&read_json(text).unwrap(), 10).unwrap();
    /// let terms = tenths.terms(Revision(7)).unwrap();
    /// assert_eq!((terms.limit, terms.window_ms), (100, 60_000));
    /// ```
    #[must_use]
    pub fn terms(&self, revision: Revision) -> Option<Terms> {
        let Rule::Single(single) = &self.rule else {
            return None;
        };
        (single.scope == Scope::Global).then(|| Terms {
            limit: single.machine.ceiling(),
            window_ms: single.machine.quota_policy().window_ms,
            revision,
            cycle: cycle(&self.body),
            sharing: None,
            lease: None,
            standing: 0,
        })
    }
}

/// How the windows of a global limit follow each other.
fn cycle(body: &LimitBody) -> Option<Cycle> {
    match (algorithm_of(body), body.cadence) {
        (Some(Algorithm::SlidingWindow), _) | (_, Some(Cadence::Rolling)) => Some(Cycle::Sliding {
            buckets: buckets(body),
        }),
        (_, Some(cadence)) => Some(Cycle::Calendar(PeriodBody {
            cadence,
            period_ms: body.period_ms,
            anchor: body.anchor,
            offset_minutes: body.offset_minutes,
            time_zone: body.time_zone.clone(),
            week_starts_on: body.week_starts_on,
        })),
        (_, None) => None,
    }
}

/// Refuses what cannot be lent, and windows that end before a lease arrives.
pub(super) fn bounded(name: Algorithm, body: &LimitBody) -> Result<(), Invalid> {
    let Some((field, length_ms)) = length_ms(name) else {
        let got = format!("{} at scope global", wire_name(&name));
        let served = "isolate and region, global with fixed_window, sliding_window or quota";
        return Err(Invalid::new("/scope", Fault::Unserved { got, served }));
    };
    // The periods of a calendar are long enough, and what is missing is found where it is read.
    let Some(length_ms) = length_ms(body) else {
        return Ok(());
    };
    between(field, length_ms, BUDGET_WINDOW_MS_MIN, WINDOW_MS_MAX)?;
    match cycle(body) {
        Some(Cycle::Sliding { buckets }) => Schedule::sliding(length_ms, buckets).map(|_| ()),
        Some(Cycle::Calendar(_)) | None => Ok(()),
    }
}

/// Whether the limit's parts of a unit still travel as JSON numbers.
pub(super) fn lendable(body: &LimitBody, scale: u64) -> bool {
    let parts = body.limit.and_then(|limit| limit.checked_mul(scale));
    parts.is_some_and(|parts| parts <= JSON_INTEGER_MAX)
}
