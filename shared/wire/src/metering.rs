//! Meters and guards of the policy document: rates of units, and how many calls run at a time.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::amount::AmountBody;
use super::decimal::Decimal;
use super::numbers::{GuardOverrideBody, MeterOverrideBody};
use super::policy::{OnUnavailable, Scope};
use super::section::section;

/// What a policy writes in the place of a rate that is meant to have no bound.
const UNLIMITED: &str = "unlimited";

/// Units per second, or `"unlimited"`.
///
/// ```
/// use weir_core::invalid::read_json;
/// use weir_wire::decimal::Decimal;
/// use weir_wire::metering::RateBody;
/// assert_eq!(read_json(b"2.5"), Ok(RateBody::PerSec(Decimal(2.5))));
/// assert_eq!(read_json(b"\"unlimited\""), Ok(RateBody::Unlimited));
/// assert!(read_json::<RateBody>(b"\"none\"").is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateBody {
    /// So many. What is no rate is refused when a policy is built of it.
    PerSec(Decimal),
    /// Any number.
    Unlimited,
}

impl Serialize for RateBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::PerSec(rate) => rate.serialize(serializer),
            Self::Unlimited => serializer.serialize_str(UNLIMITED),
        }
    }
}

impl<'de> Deserialize<'de> for RateBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Rate;

        impl Visitor<'_> for Rate {
            type Value = RateBody;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a number above 0 or {UNLIMITED:?}")
            }

            fn visit_u64<E: Error>(self, rate: u64) -> Result<RateBody, E> {
                self.visit_f64(rate as f64)
            }

            fn visit_i64<E: Error>(self, rate: i64) -> Result<RateBody, E> {
                self.visit_f64(rate as f64)
            }

            fn visit_f64<E: Error>(self, rate: f64) -> Result<RateBody, E> {
                Ok(RateBody::PerSec(Decimal(rate)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<RateBody, E> {
                if text == UNLIMITED {
                    return Ok(RateBody::Unlimited);
                }
                Err(E::invalid_value(Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_any(Rate)
    }
}

section! {
/// One meter: the flow of one kind of unit that each tenant may have. A deficit bucket of `per_sec * burst_seconds` units.
pub struct MeterBody {
    /// Units per second.
    pub per_sec: Option<RateBody> = "number or 'unlimited' or null";
    /// Seconds of that rate in a full bucket; 10 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_seconds: Option<Decimal> = "number";
    /// How long one batch may leave the bucket empty, which bounds its debt; a minute when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_debt_ms: Option<u64> = "integer";
    /// Whether it bounds one region or the whole deployment; `global` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope> = "Scope";
    /// Whether what it admits is billed; true when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub billable: Option<bool> = "boolean";
    /// Decided and counted, never enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<bool> = "boolean";
    /// The answer when the holder is unreachable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_unavailable: Option<OnUnavailable> = "OnUnavailable";
}
}

impl MeterBody {
    /// Its numbers, which may be others for a tenant.
    #[must_use]
    pub fn numbers(&self) -> MeterOverrideBody {
        MeterOverrideBody {
            per_sec: self.per_sec,
            burst_seconds: self.burst_seconds,
            max_debt_ms: self.max_debt_ms,
        }
    }
}

/// A bound that is there: null is none.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<AmountBody>, D::Error> {
    AmountBody::deserialize(deserializer).map(Some)
}

section! {
/// One guard: how many calls of each tenant run at a time, and start in a minute.
pub struct GuardBody {
    /// Calls at a time; any number when absent.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<AmountBody> = "Amount?";
    /// Calls in a minute; any number when absent.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<AmountBody> = "Amount?";
    /// How long a call counts as running without a renewal or release; half a minute when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64> = "integer";
    /// Whether it bounds one region or the whole deployment; `global` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope> = "Scope";
    /// Decided and counted, never enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<bool> = "boolean";
    /// The answer when the holder is unreachable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_unavailable: Option<OnUnavailable> = "OnUnavailable";
}
}

impl GuardBody {
    /// Its numbers, which may be others for a tenant.
    #[must_use]
    pub fn numbers(&self) -> GuardOverrideBody {
        GuardOverrideBody {
            concurrency: self.concurrency,
            per_minute: self.per_minute,
            lease_ms: self.lease_ms,
        }
    }
}
