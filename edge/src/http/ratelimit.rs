//! The rate-limit headers of a decision, in the dialect that the policy names. Names are of `a-z 0-9 _ -`, so they need
//! no escape.

use weir_shared::units::EpochMs;
use weir_shared::wire::policy::HeaderDialect;
use worker::ResponseBuilder;

use crate::isolate::answer::Answered;

/// The largest integer of a structured field: 15 digits (RFC 9651, section 3.3.1).
const INTEGER_MAX: u64 = 999_999_999_999_999;

/// What the policy promises: `quota` units per `window_ms`.
#[derive(Debug, Clone, Copy)]
pub struct Promise {
    /// Units.
    pub quota: u64,
    /// Milliseconds.
    pub window_ms: u64,
}

/// What the headers say of one budget or limit.
#[derive(Debug, Clone)]
pub struct Standing {
    /// Its name.
    pub name: String,
    /// What it promises.
    pub promise: Promise,
    /// Units that could still be admitted.
    pub remaining: u64,
    /// When it is back to full, or its window ends.
    pub reset_at: EpochMs,
}

/// Adds the headers of a decision made at `now`, and `Retry-After` to a denial that a retry can mend.
///
/// # Errors
/// When the platform refuses a header.
pub fn headers(
    builder: ResponseBuilder,
    dialect: HeaderDialect,
    answered: &Answered,
    now: EpochMs,
) -> worker::Result<ResponseBuilder> {
    let mut builder = match dialect {
        HeaderDialect::Ietf => ietf(builder, &answered.standings, now)?,
        HeaderDialect::XRatelimit => x_ratelimit(builder, answered, now)?,
        HeaderDialect::None => builder,
    };
    let body = &answered.body;
    if let (false, Some(retry_ms)) = (body.allowed, body.retry_after_ms) {
        let retry_s = retry_ms.div_ceil(1_000).max(1);
        builder = builder.with_header("retry-after", &retry_s.to_string())?;
    }
    Ok(builder)
}

/// `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-10: lists of structured fields, one item
/// for each budget and limit that had a say.
fn ietf(
    builder: ResponseBuilder,
    standings: &[Standing],
    now: EpochMs,
) -> worker::Result<ResponseBuilder> {
    // Nothing bounds what was asked.
    if standings.is_empty() {
        return Ok(builder);
    }
    let policies = standings.iter().map(|standing| {
        let Promise { quota, window_ms } = standing.promise;
        let (quota, window_s) = (quota.min(INTEGER_MAX), window_ms.div_ceil(1_000));
        format!("\"{}\";q={quota};w={window_s}", standing.name)
    });
    let limits = standings.iter().map(|standing| {
        let remaining = standing.remaining.min(INTEGER_MAX);
        let reset_s = reset_s(standing.reset_at, now);
        format!("\"{}\";r={remaining};t={reset_s}", standing.name)
    });
    builder
        .with_header("ratelimit-policy", &policies.collect::<Vec<_>>().join(", "))?
        .with_header("ratelimit", &limits.collect::<Vec<_>>().join(", "))
}

/// The three headers that most clients knew before the draft, of what decided.
fn x_ratelimit(
    builder: ResponseBuilder,
    answered: &Answered,
    now: EpochMs,
) -> worker::Result<ResponseBuilder> {
    let body = &answered.body;
    builder
        .with_header("x-ratelimit-limit", &body.limit.to_string())?
        .with_header("x-ratelimit-remaining", &body.remaining.to_string())?
        .with_header(
            "x-ratelimit-reset",
            &reset_s(EpochMs(body.reset_at), now).to_string(),
        )
}

fn reset_s(reset_at: EpochMs, now: EpochMs) -> u64 {
    reset_at.since(now).div_ceil(1_000)
}
