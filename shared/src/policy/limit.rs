//! A validated limit.

use super::{required, wire_name};
use crate::algorithms::gcra::Gcra;
use crate::invalid::{Fault, Invalid};
use crate::wire::policy::{Algorithm, LimitBody, OnUnavailable, Scope};

/// A limit per key, kept in each region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The algorithm with its numbers.
    pub gcra: Gcra,
    /// Units per period, for the rate-limit headers.
    pub quota: u64,
    /// The period.
    pub period_ms: u64,
    /// Whether each tenant has its own keys.
    pub per_tenant: bool,
    /// Whether it is only decided and counted.
    pub shadow: bool,
    /// What is answered when the holder is out of reach.
    pub on_unavailable: OnUnavailable,
}

impl TryFrom<&LimitBody> for Limit {
    type Error = Invalid;

    fn try_from(body: &LimitBody) -> Result<Self, Invalid> {
        let algorithm = required("/algorithm", body.algorithm)?;
        if algorithm != Algorithm::Gcra {
            let got = wire_name(&algorithm);
            return Err(Invalid::new(
                "/algorithm",
                Fault::Unserved {
                    got,
                    served: "gcra",
                },
            ));
        }
        let scope = required("/scope", body.scope)?;
        if scope != Scope::Region {
            let got = format!("gcra at scope {}", wire_name(&scope));
            return Err(Invalid::new(
                "/scope",
                Fault::Unserved {
                    got,
                    served: "region",
                },
            ));
        }
        let quota = required("/limit", body.limit)?;
        let period_ms = required("/period_ms", body.period_ms)?;
        Ok(Self {
            gcra: Gcra::new(quota, period_ms, body.burst.unwrap_or(quota))?,
            quota,
            period_ms,
            per_tenant: body.per_tenant.unwrap_or(false),
            shadow: body.shadow.unwrap_or(false),
            on_unavailable: body.on_unavailable.unwrap_or(OnUnavailable::Deny),
        })
    }
}
