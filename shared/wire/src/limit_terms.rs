//! The rules of limits, meters and guards as they travel with each question.

use serde::{Deserialize, Serialize};
use weir_core::name::{guard_name, meter_name};
use weir_core::units::{EpochMs, Revision};

use super::count::is_zero;
use super::decimal::Decimal;
use super::policy::LimitBody;

/// The rules of one limit, which travel with each question: a shard needs no policy of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitTerms {
    /// Its name.
    pub name: String,
    /// The policy revision that says so; a shard applies the newest it has seen.
    pub revision: Revision,
    /// In how many parts of a unit it is counted; 1 for a meter and a guard.
    pub scale: u64,
    /// The rules; empty for a meter and a guard.
    pub body: LimitBody,
    /// The rules of a meter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meter: Option<MeterTerms>,
    /// The rules of a guard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<GuardTerms>,
    /// The one key that these rules are for: a tenant that has overrides. Absent where they are every key's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Since when these rules are in force within their revision, in epoch milliseconds: the latest start or end of an
    /// override; 0 where none has started. Of one revision the later rules count.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub since: u64,
}

impl LimitTerms {
    /// The rules of a limit, counted in `1 / scale` units.
    #[must_use]
    pub fn of_limit(name: &str, revision: Revision, scale: u64, body: LimitBody) -> Self {
        Self {
            name: name.to_owned(),
            revision,
            scale,
            body,
            meter: None,
            guard: None,
            key: None,
            since: 0,
        }
    }

    /// The rules of the meter `name` of the policy.
    #[must_use]
    pub fn of_meter(name: &str, revision: Revision, meter: MeterTerms) -> Self {
        Self {
            meter: Some(meter),
            ..Self::of_limit(&meter_name(name), revision, 1, LimitBody::default())
        }
    }

    /// The rules of the guard `name` of the policy.
    #[must_use]
    pub fn of_guard(name: &str, revision: Revision, guard: GuardTerms) -> Self {
        Self {
            guard: Some(guard),
            ..Self::of_limit(&guard_name(name), revision, 1, LimitBody::default())
        }
    }

    /// The same for one key alone, in force since `since`.
    #[must_use]
    pub fn for_key(self, key: &str, since: EpochMs) -> Self {
        Self {
            key: Some(key.to_owned()),
            since: since.0,
            ..self
        }
    }
}

/// The rules of a meter: a deficit bucket.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MeterTerms {
    /// Units that flow in each second: above 0, at most 10^9.
    pub per_sec: Decimal,
    /// Seconds for which a full bucket lasts at that rate: above 0.
    pub burst_seconds: Decimal,
    /// For how long, at most, one batch may block those after it; 0 for no debt at all.
    pub max_debt_ms: u64,
}

/// The rules of a guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardTerms {
    /// Slots that may be held at a time; absent for any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u64>,
    /// Slots that may be taken in a minute; absent for any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<u64>,
    /// For how long a slot is held unless it is renewed.
    pub lease_ms: u64,
}
