//! A validated budget.

use serde::Serialize;

use super::{between, bounded, required, wire_name};
use crate::invalid::{Fault, Invalid};
use crate::limits::{BUDGET_WINDOW_MS_MIN, JSON_INTEGER_MAX, WINDOW_MS_MAX};
use crate::units::Revision;
use crate::wire::exchange::Terms;
use crate::wire::policy::{BudgetBody, OnUnavailable, Outage, Reserve, Scope, Sharing};

/// A global budget that goes to whoever comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Units per window, over the whole deployment.
    pub limit: u64,
    /// Length of a window.
    pub window_ms: u64,
    /// Whether it is only decided and counted.
    pub shadow: bool,
    /// What is answered when a holder is out of reach.
    pub on_unavailable: OnUnavailable,
}

impl Budget {
    /// The terms that travel with every exchange.
    #[must_use]
    pub fn terms(&self, revision: Revision) -> Terms {
        Terms {
            limit: self.limit,
            window_ms: self.window_ms,
            revision,
            cycle: None,
        }
    }
}

impl TryFrom<&BudgetBody> for Budget {
    type Error = Invalid;

    fn try_from(body: &BudgetBody) -> Result<Self, Invalid> {
        let limit = bounded("/limit", required("/limit", body.limit)?, JSON_INTEGER_MAX)?;
        let window_ms = between(
            "/window_ms",
            required("/window_ms", body.window_ms)?,
            BUDGET_WINDOW_MS_MIN,
            WINDOW_MS_MAX,
        )?;
        let sharing = required("/sharing", body.sharing)?;
        let scope = required("/scope", body.scope)?;
        serve(
            "/sharing",
            &sharing,
            sharing == Sharing::FirstCome,
            "first_come",
        )?;
        serve("/scope", &scope, scope == Scope::Global, "global")?;
        if let Some(reserve) = &body.reserve {
            serve("/reserve", reserve, *reserve == Reserve::Pinned, "pinned")?;
        }
        if let Some(outage) = &body.outage {
            serve(
                "/outage",
                outage,
                *outage == Outage::FailClosed,
                "fail_closed",
            )?;
        }
        if let Some(lease) = &body.lease {
            serve("/lease", lease, lease.as_str() == Some("auto"), "\"auto\"")?;
        }
        Ok(Self {
            limit,
            window_ms,
            shadow: body.shadow.unwrap_or(false),
            on_unavailable: body.on_unavailable.unwrap_or(OnUnavailable::Deny),
        })
    }
}

/// Refuses a legal value that is not served.
fn serve(
    field: &str,
    value: &impl Serialize,
    served_here: bool,
    served: &'static str,
) -> Result<(), Invalid> {
    if served_here {
        return Ok(());
    }
    let got = wire_name(value);
    Err(Invalid::new(field, Fault::Unserved { got, served }))
}
