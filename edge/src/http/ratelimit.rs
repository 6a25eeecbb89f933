//! The rate-limit headers of a decision, in the dialect that the policy names. Names are of `a-z 0-9 _ -`, so they need
//! no escape.

use weir_shared::check::template::Parts;
use weir_shared::decision::id;
use weir_shared::units::EpochMs;
use weir_shared::wire::policy::HeaderDialect;

use super::answered::Answered;
use super::reply::Header;

/// The largest integer of a structured field: 15 digits (RFC 9651, section 3.3.1).
const INTEGER_MAX: u64 = 999_999_999_999_999;

/// What the policy promises: `quota` units per `window_ms`.
#[derive(Debug, Clone, Copy)]
pub struct QuotaPolicy {
    /// Units.
    pub quota: u64,
    /// Milliseconds.
    pub window_ms: u64,
}

/// What the headers say of one budget or limit.
#[derive(Debug, Clone)]
pub struct ServiceLimit {
    /// Its name.
    pub name: String,
    /// What it promises.
    pub quota_policy: QuotaPolicy,
    /// Units that could still be admitted.
    pub remaining: u64,
    /// When it is back to full, or its window ends.
    pub reset_at: EpochMs,
}

/// The headers of a decision made at `now`, with its id on a denial, and `Retry-After` on one that a retry can mend.
#[must_use]
pub fn headers(dialect: HeaderDialect, answered: &Answered, now: EpochMs) -> Vec<Header> {
    let mut headers = match dialect {
        HeaderDialect::Ietf => ietf(&answered.service_limits, now),
        HeaderDialect::XRatelimit => x_ratelimit(answered, now),
        HeaderDialect::None => Vec::new(),
    };
    let body = &answered.body;
    headers.extend(body.decision.clone().map(|id| (id::HEADER, id)));
    if let (false, Some(retry_ms)) = (body.allowed, body.retry_after_ms) {
        headers.push(("retry-after", retry_after_s(retry_ms).to_string()));
    }
    headers
}

/// `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-10: lists of structured fields, one item
/// for each budget and limit that had a say.
#[must_use]
pub fn ietf(service_limits: &[ServiceLimit], now: EpochMs) -> Vec<Header> {
    // Nothing bounds what was asked.
    if service_limits.is_empty() {
        return Vec::new();
    }
    let (mut policies, mut limits) = (String::new(), String::new());
    for service_limit in service_limits {
        if !policies.is_empty() {
            policies.push_str(", ");
            limits.push_str(", ");
        }
        let ServiceLimit {
            name, quota_policy, ..
        } = service_limit;
        tell_policy(name, *quota_policy, &mut policies);
        tell_left(
            name,
            service_limit.remaining,
            (service_limit.reset_at, now),
            &mut limits,
        );
    }
    vec![("ratelimit-policy", policies), ("ratelimit", limits)]
}

/// Tells what the policy promises of one budget or limit, as an item of two parameters: `"tokens";q=100;w=60`.
pub fn tell_policy(name: &str, quota_policy: QuotaPolicy, parts: &mut impl Parts) {
    let window_s = quota_policy.window_ms.div_ceil(1_000);
    tell(
        name,
        [(";q=", quota_policy.quota), (";w=", window_s)],
        parts,
    );
}

/// Tells what is left of it, and in how many seconds from now it is back: `"tokens";r=40;t=12`.
pub fn tell_left(
    name: &str,
    remaining: u64,
    (reset_at, now): (EpochMs, EpochMs),
    parts: &mut impl Parts,
) {
    let reset_s = reset_s(reset_at, now);
    tell(name, [(";r=", remaining), (";t=", reset_s)], parts);
}

fn tell(name: &str, parameters: [(&str, u64); 2], parts: &mut impl Parts) {
    parts.text("\"");
    parts.text(name);
    parts.text("\"");
    for (parameter, value) in parameters {
        parts.text(parameter);
        parts.number(value.min(INTEGER_MAX));
    }
}

/// The three headers that most clients knew before the draft, of what decided.
fn x_ratelimit(answered: &Answered, now: EpochMs) -> Vec<Header> {
    let body = &answered.body;
    let reset_s = reset_s(EpochMs(body.reset_at), now);
    vec![
        ("x-ratelimit-limit", body.limit.to_string()),
        ("x-ratelimit-remaining", body.remaining.to_string()),
        ("x-ratelimit-reset", reset_s.to_string()),
    ]
}

/// Seconds of a `Retry-After`: never 0, which would invite a request that is denied again.
#[must_use]
pub fn retry_after_s(after_ms: u64) -> u64 {
    after_ms.div_ceil(1_000).max(1)
}

fn reset_s(reset_at: EpochMs, now: EpochMs) -> u64 {
    reset_at.since(now).div_ceil(1_000)
}
