//! The algorithm of a limit, from the fields of the document. Ranges are the algorithms' own.

use super::{between, required};
use crate::algorithms::Algorithm;
use crate::algorithms::calendar::{Period, WEEK_STARTS_ON_DEFAULT, Zone};
use crate::algorithms::fixed_window::FixedWindow;
use crate::algorithms::gcra::Gcra;
use crate::algorithms::leaky_bucket::LeakyBucket;
use crate::algorithms::quota::Quota;
use crate::algorithms::sliding_log::SlidingLog;
use crate::algorithms::sliding_window::SlidingWindow;
use crate::algorithms::token_bucket::TokenBucket;
use crate::invalid::{Fault, Invalid};
use crate::limits::QUEUE_MS_MAX;
use crate::wire::decimal::Decimal;
use crate::wire::policy::{Algorithm as Name, Cadence, LimitBody};

/// Parts of a rolling window where the policy does not say.
const BUCKETS: u64 = 10;

/// What decides a limit that is not made of others.
pub(super) enum Machine {
    /// It admits or denies.
    Admits(Algorithm),
    /// It delays.
    Delays(LeakyBucket),
}

/// Builds what decides.
pub(super) fn machine(name: Name, body: &LimitBody) -> Result<Machine, Invalid> {
    Ok(Machine::Admits(match name {
        Name::Gcra => {
            let limit = required("/limit", body.limit)?;
            let period_ms = required("/period_ms", body.period_ms)?;
            Algorithm::Gcra(Gcra::new(limit, period_ms, body.burst.unwrap_or(limit))?)
        }
        Name::TokenBucket => {
            let capacity = required("/capacity", body.capacity)?;
            let refill_per_sec = required("/refill_per_sec", body.refill_per_sec)?;
            Algorithm::TokenBucket(TokenBucket::new(capacity, refill_per_sec)?)
        }
        Name::FixedWindow => {
            let (limit, window_ms) = window(body)?;
            Algorithm::FixedWindow(FixedWindow::new(limit, window_ms)?)
        }
        Name::SlidingWindow => {
            let (limit, window_ms) = window(body)?;
            Algorithm::SlidingWindow(SlidingWindow::new(limit, window_ms, buckets(body))?)
        }
        Name::SlidingLog => {
            let (limit, window_ms) = window(body)?;
            Algorithm::SlidingLog(SlidingLog::new(limit, window_ms)?)
        }
        Name::Quota => Algorithm::Quota(quota(body)?),
        Name::LeakyBucket => {
            let rate_per_sec = required("/rate_per_sec", body.rate_per_sec)?;
            let max_queue_ms = required("/max_queue_ms", body.max_queue_ms)?;
            let max_queue_ms = between("/max_queue_ms", max_queue_ms, 0, QUEUE_MS_MAX)?;
            let max_queue_ms = Decimal(max_queue_ms as f64);
            return LeakyBucket::new(rate_per_sec, max_queue_ms).map(Machine::Delays);
        }
    }))
}

/// Parts of a rolling window.
pub(super) fn buckets(body: &LimitBody) -> u64 {
    body.buckets.unwrap_or(BUCKETS)
}

fn window(body: &LimitBody) -> Result<(u64, u64), Invalid> {
    let limit = required("/limit", body.limit)?;
    let window_ms = required("/window_ms", body.window_ms)?;
    Ok((limit, window_ms))
}

fn quota(body: &LimitBody) -> Result<Quota, Invalid> {
    let limit = required("/limit", body.limit)?;
    let cadence = required("/cadence", body.cadence)?;
    if cadence == Cadence::Rolling {
        let period_ms = required("/period_ms", body.period_ms)?;
        return Quota::rolling(limit, period_ms, buckets(body));
    }
    let period = if cadence == Cadence::Fixed {
        let period_ms = required("/period_ms", body.period_ms)?;
        Period::fixed(period_ms, body.anchor.unwrap_or(0))?
    } else {
        let week_starts_on = body.week_starts_on.unwrap_or(WEEK_STARTS_ON_DEFAULT);
        Period::calendar(cadence, zone(body)?, week_starts_on)?
    };
    Quota::new(limit, period)
}

/// The zone of a calendar: UTC where the policy does not say.
fn zone(body: &LimitBody) -> Result<Zone, Invalid> {
    match (&body.time_zone, body.offset_minutes) {
        (Some(_), Some(_)) => {
            let by = "offset_minutes";
            Err(Invalid::new("/time_zone", Fault::Excluded { by }))
        }
        (Some(name), None) => Zone::named(name),
        (None, offset_minutes) => Zone::offset(offset_minutes.unwrap_or(0)),
    }
}
