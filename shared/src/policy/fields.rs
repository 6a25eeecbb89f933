//! Which fields a limit has, by its algorithm. A field of another algorithm is refused: to drop it would be to promise
//! a bound that is not kept.

use super::limit::algorithm_of;
use super::wire_name;
use crate::invalid::{Fault, Invalid};
use crate::wire::numbers::LimitOverrideBody;
use crate::wire::policy::{Algorithm, Cadence, LimitBody};

/// Refuses the first number that is given and does not belong to the algorithm.
pub(super) fn only_own(body: &LimitBody) -> Result<(), Invalid> {
    let own = own(body);
    let common = [
        ("scope", body.scope.is_some()),
        ("per_tenant", body.per_tenant.is_some()),
    ];
    // They belong to each algorithm, and not to a limit that is made of others.
    let of_parts = |given: bool| given && algorithm_of(body).is_none();
    let common = common.into_iter().filter(|(_, given)| of_parts(*given));
    let common = common.map(|(field, _)| field);
    let numbers = LimitOverrideBody::given(body).filter(|field| !own.contains(field));
    let foreign = numbers.chain(common).next();
    let Some(field) = foreign else {
        return Ok(());
    };
    let to = match (algorithm_of(body), body.cadence) {
        (Some(Algorithm::Quota), Some(cadence)) => {
            format!("quota with the cadence {}", wire_name(&cadence))
        }
        (Some(algorithm), _) => wire_name(&algorithm),
        (None, _) => "a limit that is made of others, which have their own".to_owned(),
    };
    Err(Invalid::new(format!("/{field}"), Fault::Foreign { to }))
}

/// What the algorithm has of its own.
fn own(body: &LimitBody) -> &'static [&'static str] {
    match algorithm_of(body) {
        None => &[],
        Some(Algorithm::Gcra) => &["limit", "period_ms", "burst"],
        Some(Algorithm::TokenBucket) => &["capacity", "refill_per_sec"],
        Some(Algorithm::FixedWindow | Algorithm::SlidingLog) => &["limit", "window_ms"],
        Some(Algorithm::SlidingWindow) => &["limit", "window_ms", "buckets"],
        Some(Algorithm::Quota) => of_quota(body.cadence),
        Some(Algorithm::LeakyBucket) => &["rate_per_sec", "max_queue_ms"],
    }
}

fn of_quota(cadence: Option<Cadence>) -> &'static [&'static str] {
    match cadence {
        Some(Cadence::CalendarMonth | Cadence::CalendarWeek | Cadence::CalendarDay) => &[
            "limit",
            "cadence",
            "offset_minutes",
            "time_zone",
            "week_starts_on",
        ],
        Some(Cadence::Fixed) => &["limit", "cadence", "period_ms", "anchor"],
        Some(Cadence::Rolling) => &["limit", "cadence", "period_ms", "buckets"],
        // What the rest belongs to is not known until this is.
        None => &[
            "limit",
            "cadence",
            "offset_minutes",
            "time_zone",
            "week_starts_on",
            "period_ms",
            "anchor",
            "buckets",
        ],
    }
}
