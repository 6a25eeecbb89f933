//! The rate-limit headers of draft-ietf-httpapi-ratelimit-headers: `RateLimit-Policy` and `RateLimit`, structured
//! fields whose items are named after the budget or limit. Names are of `a-z 0-9 _ -`, so they need no escape.

use weir_shared::wire::check::DecisionBody;
use worker::ResponseBuilder;

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

/// Adds the headers of one decision made at `now_ms`, and `Retry-After` to a denial that a retry can mend.
///
/// # Errors
/// When the platform refuses a header.
pub fn headers(
    builder: ResponseBuilder,
    decision: &DecisionBody,
    promise: Promise,
    now_ms: u64,
) -> worker::Result<ResponseBuilder> {
    let name = &decision.binding;
    let window_s = promise.window_ms.div_ceil(1_000);
    let reset_s = decision.reset_at.saturating_sub(now_ms).div_ceil(1_000);
    let mut builder = builder
        .with_header(
            "ratelimit-policy",
            &format!(
                "\"{name}\";q={};w={window_s}",
                promise.quota.min(INTEGER_MAX)
            ),
        )?
        .with_header(
            "ratelimit",
            &format!(
                "\"{name}\";r={};t={reset_s}",
                decision.remaining.min(INTEGER_MAX)
            ),
        )?;
    if let (false, Some(retry_ms)) = (decision.allowed, decision.retry_after_ms) {
        let retry_s = retry_ms.div_ceil(1_000).max(1);
        builder = builder.with_header("retry-after", &retry_s.to_string())?;
    }
    Ok(builder)
}
