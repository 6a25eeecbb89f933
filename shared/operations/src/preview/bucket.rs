//! What flows through a meter, and through the minute of a guard.

use weir_core::units::EpochMs;
use weir_policy::Policy;
use weir_wire::amount::AmountBody;
use weir_wire::metering::RateBody;
use weir_wire::rule_kind::RuleKind;

use super::RecordedInterval;

/// Millionths of a unit.
const MICROS: f64 = 1_000_000.0;

/// A bucket that fills evenly, in millionths of a unit; how finely its own machine counts makes no difference here.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bucket {
    /// What is not there admits nothing.
    Absent,
    /// No bound.
    Unlimited,
    /// So many a second, up to so many at once.
    Bounded {
        per_sec: u128,
        capacity: u128,
        tokens: u128,
        at: EpochMs,
    },
}

impl Bucket {
    /// A full bucket at the start of an interval.
    pub fn of(policy: &Policy, kind: RuleKind, one: &RecordedInterval, now: EpochMs) -> Self {
        if policy.resolve(&one.tenant, now).is_none() {
            return Self::Absent;
        }
        let numbers = match kind {
            RuleKind::Meter => policy
                .meter_numbers(&one.name, &one.tenant, now)
                .map(|numbers| {
                    let RateBody::PerSec(rate) = numbers.per_sec else {
                        return None;
                    };
                    Some((rate.0 * MICROS, rate.0 * numbers.burst_seconds.0 * MICROS))
                }),
            RuleKind::Guard => policy
                .guard_numbers(&one.name, &one.tenant, now)
                .map(|numbers| {
                    let AmountBody::Units(calls) = numbers.per_minute else {
                        return None;
                    };
                    Some((calls as f64 / 60.0 * MICROS, calls as f64 * MICROS))
                }),
            RuleKind::Budget | RuleKind::Limit | RuleKind::Overload => None,
        };
        match numbers {
            None => Self::Absent,
            Some(None) => Self::Unlimited,
            Some(Some((per_sec, capacity))) => Self::Bounded {
                per_sec: per_sec as u128,
                capacity: capacity as u128,
                tokens: capacity as u128,
                at: one.at,
            },
        }
    }

    /// Units of an interval that it lets through.
    pub fn admit(&mut self, one: &RecordedInterval) -> u64 {
        let (per_sec, capacity, tokens, at) = match self {
            Self::Absent => return 0,
            Self::Unlimited => return one.demand,
            Self::Bounded {
                per_sec,
                capacity,
                tokens,
                at,
            } => (*per_sec, *capacity, tokens, at),
        };
        let flows = |ms: u64| per_sec * u128::from(ms) / 1_000;
        // While nothing was recorded it filled up.
        let rested = tokens
            .saturating_add(flows(one.at.since(*at)))
            .min(capacity);
        let open = rested.saturating_add(flows(one.interval_ms));
        let micros = MICROS as u128;
        let admitted = (open / micros).min(u128::from(one.demand));
        *tokens = (open - admitted * micros).min(capacity);
        *at = one.at.plus(one.interval_ms);
        u64::try_from(admitted).unwrap_or(one.demand)
    }
}
