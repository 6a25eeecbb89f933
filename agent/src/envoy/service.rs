//! What descriptors charge by the policy's table, and what Envoy is told.

use std::rc::Rc;

use tonic::Status;
use weir_shared::decision::Reason;
use weir_shared::decision::id::{Denial, HEADER};
use weir_shared::limits::{
    DAY_MS, DESCRIPTOR_ENTRIES_MAX, DESCRIPTORS_PER_REQUEST_MAX, HOUR_MS, MINUTE_MS,
};
use weir_shared::name::tenant_name;
use weir_shared::policy::Policy;
use weir_shared::units::EpochMs;
use weir_shared::wire::rule_kind::RuleKind;

use super::message::{
    Code, DescriptorStatus, Duration, HeaderValue, RateLimit, RateLimitDescriptor,
    RateLimitRequest, RateLimitResponse, Unit,
};
use crate::agent::Agent;
use crate::charge::{Charge, ChargeDecision, ChargeOutcome, Undecided};

/// Milliseconds of a second.
const SECOND_MS: u64 = 1_000;

/// What becomes of one descriptor.
enum Fate {
    /// The policy has no rule for it: nothing limits it.
    Free,
    /// It names a tenant that there cannot be: no limit is that tenant's, so it is over every limit.
    Nobody,
    /// It is the charge of that place.
    Charged(usize),
}

/// Decides a request: all its descriptors charge, or none.
///
/// # Errors
/// `INVALID_ARGUMENT` for more descriptors or entries than are read, and `UNAVAILABLE` before the agent has heard of a
/// policy: Envoy then does as it is configured.
pub async fn should_rate_limit(
    agent: &Agent,
    request: &RateLimitRequest,
) -> Result<RateLimitResponse, Status> {
    bounded(request)?;
    let loaded = agent.with(|state| state.loaded.clone());
    let loaded = loaded.ok_or_else(not_ready)?;
    let policy = Rc::clone(&loaded.policy);
    let (fates, charges) = described(&policy, request);
    let free = fates.iter().filter(|fate| matches!(fate, Fate::Free));
    let undescribed = free.count() as u64;
    agent.with(|state| state.tallies.undescribed += undescribed);
    if fates.iter().any(|fate| matches!(fate, Fate::Nobody)) {
        return Ok(over(&fates));
    }
    if charges.is_empty() {
        return Ok(RateLimitResponse {
            overall_code: Code::Ok.into(),
            statuses: fates.iter().map(|_| unlimited(Code::Ok)).collect(),
            response_headers_to_add: Vec::new(),
        });
    }
    match agent.decide(&charges).await {
        Ok(outcome) => Ok(response(&fates, &charges, &outcome)),
        // The policy refuses the tenant: it has a part of nothing.
        Err(Undecided::Tenant(_)) => Ok(over(&fates)),
        Err(Undecided::NotReady) => Err(not_ready()),
        Err(Undecided::Budget(_) | Undecided::Unleased(_) | Undecided::Gone) => {
            Err(Status::unavailable("the policy changes at this moment"))
        }
    }
}

fn not_ready() -> Status {
    Status::unavailable("the agent has not heard from the deployment yet")
}

fn bounded(request: &RateLimitRequest) -> Result<(), Status> {
    let most = [
        (
            "descriptors",
            request.descriptors.len(),
            DESCRIPTORS_PER_REQUEST_MAX,
        ),
        (
            "entries of a descriptor",
            request
                .descriptors
                .iter()
                .map(|one| one.entries.len())
                .max()
                .unwrap_or(0),
            DESCRIPTOR_ENTRIES_MAX,
        ),
    ];
    for (what, got, max) in most {
        if got > max {
            let text = format!("{got} {what}, at most {max} are read");
            return Err(Status::invalid_argument(text));
        }
    }
    Ok(())
}

/// What each descriptor charges.
fn described<'a>(
    policy: &'a Policy,
    request: &'a RateLimitRequest,
) -> (Vec<Fate>, Vec<Charge<'a>>) {
    let mut charges = Vec::new();
    let fates = request.descriptors.iter().map(|descriptor| {
        let entries = descriptor.entries.iter();
        let entries: Vec<(&str, &str)> = entries
            .map(|entry| (entry.key.as_str(), entry.value.as_str()))
            .collect();
        let Some(found) = policy.descriptors.find(&request.domain, &entries) else {
            return Fate::Free;
        };
        if tenant_name(found.tenant).is_err() {
            return Fate::Nobody;
        }
        charges.push(Charge {
            tenant: found.tenant,
            budget: found.budget,
            cost: found.cost_of(hits(request, descriptor)),
        });
        Fate::Charged(charges.len() - 1)
    });
    (fates.collect(), charges)
}

/// How many hits a descriptor counts as.
fn hits(request: &RateLimitRequest, descriptor: &RateLimitDescriptor) -> u64 {
    match &descriptor.hits_addend {
        _ if descriptor.is_negative_hits => 0,
        Some(hits) => hits.value,
        None => u64::from(request.hits_addend).max(1),
    }
}

fn unlimited(code: Code) -> DescriptorStatus {
    DescriptorStatus {
        code: code.into(),
        ..DescriptorStatus::default()
    }
}

/// Nothing was charged, and the request may not pass.
fn over(fates: &[Fate]) -> RateLimitResponse {
    let code = |fate: &Fate| match fate {
        Fate::Free => Code::Ok,
        Fate::Nobody | Fate::Charged(_) => Code::OverLimit,
    };
    RateLimitResponse {
        overall_code: Code::OverLimit.into(),
        statuses: fates.iter().map(|fate| unlimited(code(fate))).collect(),
        response_headers_to_add: Vec::new(),
    }
}

fn response(fates: &[Fate], charges: &[Charge<'_>], outcome: &ChargeOutcome) -> RateLimitResponse {
    let statuses = fates.iter().map(|fate| match fate {
        Fate::Charged(index) => match outcome.decided.get(*index).copied().flatten() {
            Some(decided) => {
                let binds = *index == outcome.binding;
                let denied = !outcome.admitted && (binds || !decided.decision.admitted());
                status(charges[*index].budget, &decided, denied, outcome.at)
            }
            // Another was denied before it was looked at.
            None => unlimited(Code::Ok),
        },
        Fate::Free | Fate::Nobody => unlimited(Code::Ok),
    });
    let code = match outcome.admitted {
        true => Code::Ok,
        false => Code::OverLimit,
    };
    RateLimitResponse {
        overall_code: code.into(),
        statuses: statuses.collect(),
        response_headers_to_add: headers(charges, outcome),
    }
}

fn status(budget: &str, of: &ChargeDecision, denied: bool, at: EpochMs) -> DescriptorStatus {
    let code = match denied {
        true => Code::OverLimit,
        false => Code::Ok,
    };
    let left_ms = of.decision.reset_at.since(at);
    DescriptorStatus {
        code: code.into(),
        current_limit: Some(RateLimit {
            requests_per_unit: narrowed(of.quota),
            unit: unit(of.window_ms).into(),
            name: budget.to_owned(),
        }),
        limit_remaining: narrowed(of.decision.remaining),
        duration_until_reset: Some(Duration {
            seconds: i64::try_from(left_ms / SECOND_MS).unwrap_or(i64::MAX),
            nanos: i32::try_from(left_ms % SECOND_MS * 1_000_000).unwrap_or(0),
        }),
    }
}

/// When a denied request may try again, and what leads to the explanation of the denial, as the Worker says it.
fn headers(charges: &[Charge<'_>], outcome: &ChargeOutcome) -> Vec<HeaderValue> {
    let decided = outcome.decided.get(outcome.binding).copied().flatten();
    let (Some(decided), Some(charge)) = (decided, charges.get(outcome.binding)) else {
        return Vec::new();
    };
    if outcome.admitted {
        return Vec::new();
    }
    let denial = Denial {
        at: outcome.at,
        tenant: charge.tenant,
        region: &outcome.region,
        reason: decided.decision.reason,
        kind: RuleKind::Budget,
        rule: charge.budget,
    };
    let header = |key: &str, value: String| HeaderValue {
        key: key.to_owned(),
        value,
    };
    let mut headers = vec![header(HEADER, denial.to_string())];
    let never = decided.decision.reason == Reason::Never;
    if let Some(after_ms) = decided.decision.retry.after_ms().filter(|_| !never) {
        // Never 0, which would invite a request that is denied again.
        let after_s = after_ms.div_ceil(SECOND_MS).max(1);
        headers.push(header("retry-after", after_s.to_string()));
    }
    headers
}

/// Envoy counts in 32 bits; more is as good as the most.
fn narrowed(units: u64) -> u32 {
    u32::try_from(units).unwrap_or(u32::MAX)
}

fn unit(window_ms: u64) -> Unit {
    match window_ms {
        SECOND_MS => Unit::Second,
        MINUTE_MS => Unit::Minute,
        HOUR_MS => Unit::Hour,
        DAY_MS => Unit::Day,
        _ => Unit::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits_of(request: u32, descriptor: Option<u64>, negative: bool) -> u64 {
        let descriptor = RateLimitDescriptor {
            hits_addend: descriptor.map(|value| super::super::message::UInt64Value { value }),
            is_negative_hits: negative,
            ..RateLimitDescriptor::default()
        };
        let request = RateLimitRequest {
            hits_addend: request,
            ..RateLimitRequest::default()
        };
        hits(&request, &descriptor)
    }

    #[test]
    fn a_request_is_one_hit_unless_it_or_a_descriptor_says_more() {
        assert_eq!(hits_of(0, None, false), 1);
        assert_eq!(hits_of(7, None, false), 7);
        assert_eq!(hits_of(7, Some(3), false), 3);
        assert_eq!(hits_of(7, Some(0), false), 0);
        assert_eq!(hits_of(7, Some(3), true), 0, "nothing is given back");
    }

    #[test]
    fn windows_are_named_where_envoy_has_a_word() {
        let units = [1_000, 60_000, 3_600_000, 86_400_000, 2_000].map(unit);
        let named = [
            Unit::Second,
            Unit::Minute,
            Unit::Hour,
            Unit::Day,
            Unit::Unknown,
        ];
        assert_eq!(units, named);
        assert_eq!([narrowed(5), narrowed(1 << 40)], [5, u32::MAX]);
    }

    #[test]
    fn a_request_with_too_much_is_refused() {
        let refused = |descriptors: usize, entries: usize| {
            let entry = super::super::message::Entry::default();
            let descriptor = RateLimitDescriptor {
                entries: vec![entry; entries],
                ..RateLimitDescriptor::default()
            };
            let request = RateLimitRequest {
                descriptors: vec![descriptor; descriptors],
                ..RateLimitRequest::default()
            };
            bounded(&request)
                .err()
                .map(|status| status.message().to_owned())
        };
        assert_eq!(
            refused(DESCRIPTORS_PER_REQUEST_MAX, DESCRIPTOR_ENTRIES_MAX),
            None
        );
        assert_eq!(
            refused(17, 1).unwrap(),
            "17 descriptors, at most 16 are read"
        );
        let entries = refused(1, 17).unwrap();
        assert_eq!(entries, "17 entries of a descriptor, at most 16 are read");
    }
}
