//! A validated meter.

use weir_algorithms::deficit_bucket::DeficitBucket;
use weir_algorithms::rational::Rational;
use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::{BURST_SECONDS_MAX, DEBT_MS_MAX, DECIMALS_MAX};
use weir_wire::decimal::Decimal;
use weir_wire::limit_terms::MeterTerms;
use weir_wire::metering::{MeterBody, RateBody};
use weir_wire::numbers::{BURST_SECONDS, MAX_DEBT_MS, MeterOverrideBody};
use weir_wire::policy::{OnUnavailable, Scope};

use super::{between, required, wire_name};

/// A meter of the policy: what each tenant may bring of one kind of unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Meter {
    /// Its numbers for a tenant without overrides.
    pub numbers: MeterNumbers,
    /// The same as the document says it.
    pub body: MeterBody,
    /// Whether it bounds one region or the whole deployment.
    pub scope: Scope,
    /// Whether what it admits is billed.
    pub billable: bool,
    /// Whether it is only decided and counted.
    pub shadow: bool,
    /// What is answered when the holder is out of reach.
    pub on_unavailable: OnUnavailable,
}

/// The numbers of a meter, within their ranges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeterNumbers {
    /// Units per second.
    pub per_sec: RateBody,
    /// Seconds of that rate in a full bucket.
    pub burst_seconds: Decimal,
    /// For how long one batch may leave the bucket empty.
    pub max_debt_ms: u64,
}

impl MeterNumbers {
    /// These numbers with those that an override names.
    #[must_use]
    pub fn with(self, body: &MeterOverrideBody) -> Self {
        Self {
            per_sec: body.per_sec.unwrap_or(self.per_sec),
            burst_seconds: body.burst_seconds.unwrap_or(self.burst_seconds),
            max_debt_ms: body.max_debt_ms.unwrap_or(self.max_debt_ms),
        }
    }

    /// The rules of its bucket; `None` where there is no bound.
    ///
    /// ```
    /// use weir_policy::meter::MeterNumbers;
    /// use weir_wire::decimal::Decimal;
    /// use weir_wire::metering::RateBody;
    /// use weir_wire::numbers::{BURST_SECONDS, MAX_DEBT_MS};
    /// let numbers = |per_sec| MeterNumbers { per_sec, burst_seconds: BURST_SECONDS, max_debt_ms: MAX_DEBT_MS };
    /// let terms = numbers(RateBody::PerSec(Decimal(1_000.0))).terms().unwrap();
    /// assert_eq!((terms.burst_seconds, terms.max_debt_ms), (Decimal(10.0), 60_000));
    /// assert_eq!(numbers(RateBody::Unlimited).terms(), None);
    /// ```
    #[must_use]
    pub fn terms(self) -> Option<MeterTerms> {
        match self.per_sec {
            RateBody::Unlimited => None,
            RateBody::PerSec(per_sec) => Some(MeterTerms {
                per_sec,
                burst_seconds: self.burst_seconds,
                max_debt_ms: self.max_debt_ms,
            }),
        }
    }

    /// The same numbers, if each lies in its range.
    ///
    /// # Errors
    /// At `/per_sec`, `/burst_seconds` or `/max_debt_ms`.
    pub(super) fn checked(self) -> Result<Self, Invalid> {
        if let Some(terms) = self.terms() {
            DeficitBucket::new(terms.per_sec, terms.burst_seconds, terms.max_debt_ms)?;
            return Ok(self);
        }
        // What counts once there is a bound again.
        Rational::above_zero(self.burst_seconds.0, BURST_SECONDS_MAX, DECIMALS_MAX)
            .map_err(|fault| Invalid::new("/burst_seconds", fault))?;
        between("/max_debt_ms", self.max_debt_ms, 1, DEBT_MS_MAX)?;
        Ok(self)
    }
}

impl TryFrom<&MeterBody> for Meter {
    type Error = Invalid;

    fn try_from(body: &MeterBody) -> Result<Self, Invalid> {
        let numbers = MeterNumbers {
            per_sec: required("/per_sec", body.per_sec)?,
            burst_seconds: body.burst_seconds.unwrap_or(BURST_SECONDS),
            max_debt_ms: body.max_debt_ms.unwrap_or(MAX_DEBT_MS),
        };
        Ok(Self {
            numbers: numbers.checked()?,
            body: body.clone(),
            scope: shared_scope(body.scope)?,
            billable: body.billable.unwrap_or(true),
            shadow: body.shadow.unwrap_or(false),
            on_unavailable: body.on_unavailable.unwrap_or(OnUnavailable::Deny),
        })
    }
}

/// The scope of a meter or a guard: the whole deployment where the policy does not say. What an isolate keeps for itself
/// would bound nothing that a tenant does.
pub(super) fn shared_scope(scope: Option<Scope>) -> Result<Scope, Invalid> {
    match scope.unwrap_or(Scope::Global) {
        Scope::Isolate => Err(Invalid::new(
            "/scope",
            Fault::Unserved {
                got: wire_name(&Scope::Isolate),
                served: "region and global",
            },
        )),
        scope => Ok(scope),
    }
}
