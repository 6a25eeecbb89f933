//! The algorithm of a limit, from the fields of the document: one table of what each is called, which fields it has, and how
//! they are read. Ranges are the algorithms' own.

use weir_algorithms::Algorithm;
use weir_algorithms::calendar::{Period, WEEK_STARTS_ON_DEFAULT, Zone};
use weir_algorithms::dual_token_bucket::DualTokenBucket;
use weir_algorithms::fixed_window::FixedWindow;
use weir_algorithms::gcra::Gcra;
use weir_algorithms::leaky_bucket::LeakyBucket;
use weir_algorithms::quota::Quota;
use weir_algorithms::sliding_log::SlidingLog;
use weir_algorithms::sliding_window::SlidingWindow;
use weir_algorithms::token_bucket::TokenBucket;
use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::QUEUE_MS_MAX;
use weir_wire::decimal::Decimal;
use weir_wire::policy::{Algorithm as Name, Cadence, LimitBody};

use super::{between, required};

/// Parts of a rolling window where the policy does not say.
const BUCKETS: u64 = 10;

/// What a limit says of an algorithm, and how it is read.
struct Form {
    /// What people call it.
    title: &'static str,
    /// Its fields, in the order of a form. Those of a quota depend on its [cadence](of_quota).
    fields: &'static [&'static str],
    /// The field with the length of its windows, if it has windows whose units can be lent ahead.
    length_ms: Option<Length>,
    /// Builds what decides.
    read: fn(&LimitBody) -> Result<Algorithm, Invalid>,
}

/// A length of time in the document: its pointer, and how it is read.
pub(super) type Length = (&'static str, fn(&LimitBody) -> Option<u64>);

const WINDOW_MS: Length = ("/window_ms", |body| body.window_ms);
const PERIOD_MS: Length = ("/period_ms", |body| body.period_ms);

fn form(name: Name) -> Form {
    match name {
        Name::Gcra => Form {
            title: "GCRA (smooth rate with a burst)",
            fields: &["limit", "period_ms", "burst"],
            length_ms: None,
            read: |body| {
                let limit = required("/limit", body.limit)?;
                let period_ms = required("/period_ms", body.period_ms)?;
                Gcra::new(limit, period_ms, body.burst.unwrap_or(limit)).map(Algorithm::Gcra)
            },
        },
        Name::TokenBucket => Form {
            title: "token bucket",
            fields: &["capacity", "refill_per_sec"],
            length_ms: None,
            read: |body| {
                let capacity = required("/capacity", body.capacity)?;
                let refill_per_sec = required("/refill_per_sec", body.refill_per_sec)?;
                TokenBucket::new(capacity, refill_per_sec).map(Algorithm::TokenBucket)
            },
        },
        Name::DualTokenBucket => Form {
            title: "token bucket with a peak rate",
            fields: &[
                "capacity",
                "refill_per_sec",
                "peak_capacity",
                "peak_per_sec",
            ],
            length_ms: None,
            read: |body| {
                DualTokenBucket::new(
                    required("/capacity", body.capacity)?,
                    required("/refill_per_sec", body.refill_per_sec)?,
                    required("/peak_capacity", body.peak_capacity)?,
                    required("/peak_per_sec", body.peak_per_sec)?,
                )
                .map(Algorithm::DualTokenBucket)
            },
        },
        Name::FixedWindow => Form {
            title: "fixed window",
            fields: &["limit", "window_ms"],
            length_ms: Some(WINDOW_MS),
            read: |body| {
                let (limit, window_ms) = window(body)?;
                FixedWindow::new(limit, window_ms).map(Algorithm::FixedWindow)
            },
        },
        Name::SlidingWindow => Form {
            title: "sliding window",
            fields: &["limit", "window_ms", "buckets"],
            length_ms: Some(WINDOW_MS),
            read: |body| {
                let (limit, window_ms) = window(body)?;
                SlidingWindow::new(limit, window_ms, buckets(body)).map(Algorithm::SlidingWindow)
            },
        },
        Name::SlidingLog => Form {
            title: "sliding log",
            fields: &["limit", "window_ms"],
            length_ms: None,
            read: |body| {
                let (limit, window_ms) = window(body)?;
                SlidingLog::new(limit, window_ms).map(Algorithm::SlidingLog)
            },
        },
        Name::Quota => Form {
            title: "quota (calendar, fixed or rolling)",
            // What a field belongs to is not known until the cadence is.
            fields: &[
                "limit",
                "cadence",
                "time_zone",
                "offset_minutes",
                "week_starts_on",
                "period_ms",
                "anchor",
                "buckets",
            ],
            length_ms: Some(PERIOD_MS),
            read: |body| quota(body).map(Algorithm::Quota),
        },
        Name::LeakyBucket => Form {
            title: "leaky bucket (a queue that delays)",
            fields: &["rate_per_sec", "max_queue_ms"],
            length_ms: None,
            read: |body| {
                let rate_per_sec = required("/rate_per_sec", body.rate_per_sec)?;
                let max_queue_ms = required("/max_queue_ms", body.max_queue_ms)?;
                let max_queue_ms = between("/max_queue_ms", max_queue_ms, 0, QUEUE_MS_MAX)?;
                LeakyBucket::new(rate_per_sec, Decimal(max_queue_ms as f64))
                    .map(Algorithm::LeakyBucket)
            },
        },
    }
}

/// What people call an algorithm.
#[must_use]
pub fn title(name: Name) -> &'static str {
    form(name).title
}

/// The fields that a limit of an algorithm has of its own, in the order of a form. Those of a quota depend on its
/// cadence: all that one can have while it has none.
///
/// ```
/// use weir_policy::algorithm::fields;
/// use weir_wire::policy::{Algorithm, Cadence};
/// assert_eq!(fields(Algorithm::Gcra, None), ["limit", "period_ms", "burst"]);
/// let rolling = fields(Algorithm::Quota, Some(Cadence::Rolling));
/// assert_eq!(rolling, ["limit", "cadence", "period_ms", "buckets"]);
/// ```
#[must_use]
pub fn fields(name: Name, cadence: Option<Cadence>) -> &'static [&'static str] {
    match (name, cadence) {
        (Name::Quota, Some(cadence)) => of_quota(cadence),
        (name, _) => form(name).fields,
    }
}

fn of_quota(cadence: Cadence) -> &'static [&'static str] {
    match cadence {
        Cadence::CalendarMonth | Cadence::CalendarWeek | Cadence::CalendarDay => &[
            "limit",
            "cadence",
            "time_zone",
            "offset_minutes",
            "week_starts_on",
        ],
        Cadence::Fixed => &["limit", "cadence", "period_ms", "anchor"],
        Cadence::Rolling => &["limit", "cadence", "period_ms", "buckets"],
    }
}

/// The length of its windows, if it has windows whose units can be lent ahead.
pub(super) fn length_ms(name: Name) -> Option<Length> {
    form(name).length_ms
}

/// Builds what decides.
pub(super) fn algorithm(name: Name, body: &LimitBody) -> Result<Algorithm, Invalid> {
    (form(name).read)(body)
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
