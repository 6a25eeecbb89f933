//! Which fields a limit has, by its algorithm. A field of another algorithm is refused: to drop it would be to promise
//! a bound that is not kept.

use super::limit::algorithm_of;
use super::wire_name;
use crate::invalid::{Fault, Invalid};
use crate::wire::policy::{Algorithm, Cadence, LimitBody};

/// Refuses the first number that is given and does not belong to the algorithm.
pub(super) fn only_own(body: &LimitBody) -> Result<(), Invalid> {
    let own = own(body);
    let common =
        |field: &str| algorithm_of(body).is_some() && ["/scope", "/per_tenant"].contains(&field);
    let foreign = given(body).find(|field| !own.contains(field) && !common(field));
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
    Err(Invalid::new(field, Fault::Foreign { to }))
}

/// What the algorithm has of its own; `/scope` and `/per_tenant` belong to each.
fn own(body: &LimitBody) -> &'static [&'static str] {
    match algorithm_of(body) {
        None => &[],
        Some(Algorithm::Gcra) => &["/limit", "/period_ms", "/burst"],
        Some(Algorithm::TokenBucket) => &["/capacity", "/refill_per_sec"],
        Some(Algorithm::FixedWindow | Algorithm::SlidingLog) => &["/limit", "/window_ms"],
        Some(Algorithm::SlidingWindow) => &["/limit", "/window_ms", "/buckets"],
        Some(Algorithm::Quota) => of_quota(body.cadence),
        Some(Algorithm::LeakyBucket) => &["/rate_per_sec", "/max_queue_ms"],
    }
}

fn of_quota(cadence: Option<Cadence>) -> &'static [&'static str] {
    match cadence {
        Some(Cadence::CalendarMonth | Cadence::CalendarWeek | Cadence::CalendarDay) => &[
            "/limit",
            "/cadence",
            "/offset_minutes",
            "/time_zone",
            "/week_starts_on",
        ],
        Some(Cadence::Fixed) => &["/limit", "/cadence", "/period_ms", "/anchor"],
        Some(Cadence::Rolling) => &["/limit", "/cadence", "/period_ms", "/buckets"],
        // What the rest belongs to is not known until this is.
        None => &[
            "/limit",
            "/cadence",
            "/offset_minutes",
            "/time_zone",
            "/week_starts_on",
            "/period_ms",
            "/anchor",
            "/buckets",
        ],
    }
}

/// The fields that are given, in the order of the document; not those that say what kind of limit it is, nor those
/// that every kind has.
fn given(body: &LimitBody) -> impl Iterator<Item = &'static str> {
    let LimitBody {
        algorithm: _,
        limit,
        period_ms,
        burst,
        capacity,
        refill_per_sec,
        window_ms,
        buckets,
        cadence,
        offset_minutes,
        time_zone,
        week_starts_on,
        anchor,
        rate_per_sec,
        max_queue_ms,
        all: _,
        any: _,
        scope,
        per_tenant,
        shadow: _,
        on_unavailable: _,
    } = body;
    let fields = [
        ("/limit", limit.is_some()),
        ("/period_ms", period_ms.is_some()),
        ("/burst", burst.is_some()),
        ("/capacity", capacity.is_some()),
        ("/refill_per_sec", refill_per_sec.is_some()),
        ("/window_ms", window_ms.is_some()),
        ("/buckets", buckets.is_some()),
        ("/cadence", cadence.is_some()),
        ("/offset_minutes", offset_minutes.is_some()),
        ("/time_zone", time_zone.is_some()),
        ("/week_starts_on", week_starts_on.is_some()),
        ("/anchor", anchor.is_some()),
        ("/rate_per_sec", rate_per_sec.is_some()),
        ("/max_queue_ms", max_queue_ms.is_some()),
        ("/scope", scope.is_some()),
        ("/per_tenant", per_tenant.is_some()),
    ];
    let given = fields.into_iter().filter(|(_, given)| *given);
    given.map(|(field, _)| field)
}
