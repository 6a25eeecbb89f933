//! A validated guard.

use weir_algorithms::guard::Guard as Slots;
use weir_core::invalid::Invalid;
use weir_wire::amount::AmountBody;
use weir_wire::limit_terms::GuardTerms;
use weir_wire::metering::GuardBody;
use weir_wire::numbers::{GuardOverrideBody, LEASE_MS};
use weir_wire::policy::{OnUnavailable, Scope};

use super::meter::shared_scope;

/// A guard of the policy: how many calls of each tenant run at a time, and start in a minute.
#[derive(Debug, Clone, PartialEq)]
pub struct Guard {
    /// Its numbers for a tenant without overrides.
    pub numbers: GuardNumbers,
    /// The same as the document says it.
    pub body: GuardBody,
    /// Whether it bounds one region or the whole deployment.
    pub scope: Scope,
    /// Whether it is only decided and counted.
    pub shadow: bool,
    /// What is answered when the holder is out of reach.
    pub on_unavailable: OnUnavailable,
}

/// The numbers of a guard, within their ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuardNumbers {
    /// Calls at a time.
    pub concurrency: AmountBody,
    /// Calls in a minute.
    pub per_minute: AmountBody,
    /// After how long a call counts as ended.
    pub lease_ms: u64,
}

impl GuardNumbers {
    /// These numbers with those that an override names.
    #[must_use]
    pub fn with(self, body: &GuardOverrideBody) -> Self {
        Self {
            concurrency: body.concurrency.unwrap_or(self.concurrency),
            per_minute: body.per_minute.unwrap_or(self.per_minute),
            lease_ms: body.lease_ms.unwrap_or(self.lease_ms),
        }
    }

    /// The rules of its slots and of its minute.
    #[must_use]
    pub fn terms(self) -> GuardTerms {
        GuardTerms {
            concurrency: self.concurrency.units(),
            per_minute: self.per_minute.units(),
            lease_ms: self.lease_ms,
        }
    }

    /// The same numbers, if each lies in its range.
    ///
    /// # Errors
    /// At `/concurrency`, `/per_minute` or `/lease_ms`.
    pub(super) fn checked(self) -> Result<Self, Invalid> {
        let terms = self.terms();
        Slots::new(terms.concurrency, terms.per_minute, terms.lease_ms)?;
        Ok(self)
    }
}

impl TryFrom<&GuardBody> for Guard {
    type Error = Invalid;

    fn try_from(body: &GuardBody) -> Result<Self, Invalid> {
        let numbers = GuardNumbers {
            concurrency: body.concurrency.unwrap_or(AmountBody::Unlimited),
            per_minute: body.per_minute.unwrap_or(AmountBody::Unlimited),
            lease_ms: body.lease_ms.unwrap_or(LEASE_MS),
        };
        Ok(Self {
            numbers: numbers.checked()?,
            body: body.clone(),
            scope: shared_scope(body.scope)?,
            shadow: body.shadow.unwrap_or(false),
            on_unavailable: body.on_unavailable.unwrap_or(OnUnavailable::Deny),
        })
    }
}
