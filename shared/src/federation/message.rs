//! An exchange message whose bounds have been checked: the only kind that a parent takes.

use std::ops::Deref;

use crate::limits::{
    BUDGET_WINDOW_MS_MIN, COST_MAX, EXCHANGE_ENTRIES_MAX, JSON_INTEGER_MAX, WINDOW_MS_MAX,
};
use crate::wire::exchange::{ExchangeBody, Refusal, Seen, VERSION, version_accepted};

/// A checked message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message(ExchangeBody);

impl Message {
    /// The name of the reply to this message.
    #[must_use]
    pub fn reply_name(&self) -> Seen {
        Seen {
            incarnation: self.0.incarnation,
            sequence: self.0.sequence,
        }
    }

    /// Units that requests wait for, over all wants.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.0.wants.iter().map(|want| want.waiting).sum()
    }

    /// The smallest cost among the waiting requests; 0 when none waits.
    #[must_use]
    pub fn smallest(&self) -> u64 {
        let waiting = self.0.wants.iter().filter(|want| want.waiting > 0);
        waiting.map(|want| want.smallest).min().unwrap_or(0)
    }

    /// Units expected beyond those waited for, over all wants.
    #[must_use]
    pub fn expected(&self) -> u64 {
        self.0.wants.iter().map(|want| want.expected).sum()
    }
}

impl Deref for Message {
    type Target = ExchangeBody;

    fn deref(&self) -> &ExchangeBody {
        &self.0
    }
}

impl TryFrom<ExchangeBody> for Message {
    type Error = Refusal;

    fn try_from(body: ExchangeBody) -> Result<Self, Refusal> {
        if !version_accepted(body.v) {
            return Err(Refusal::Version {
                got: body.v,
                have: VERSION,
            });
        }
        let bounds = [
            ("incarnation", body.incarnation.0, 1, JSON_INTEGER_MAX),
            ("sequence", body.sequence.0, 1, JSON_INTEGER_MAX),
            ("terms/revision", body.terms.revision.0, 0, JSON_INTEGER_MAX),
            ("terms/limit", body.terms.limit, 1, JSON_INTEGER_MAX),
            (
                "terms/window_ms",
                body.terms.window_ms,
                BUDGET_WINDOW_MS_MIN,
                WINDOW_MS_MAX,
            ),
            (
                "wants",
                body.wants.len() as u64,
                0,
                EXCHANGE_ENTRIES_MAX as u64,
            ),
            (
                "returns",
                body.returns.len() as u64,
                0,
                EXCHANGE_ENTRIES_MAX as u64,
            ),
        ];
        for (field, got, min, max) in bounds {
            if !(min..=max).contains(&got) {
                return Err(malformed(field));
            }
        }
        let labels = body.returns.iter().map(|back| back.window);
        if labels
            .chain(body.window)
            .any(|label| label.0 > JSON_INTEGER_MAX)
        {
            return Err(malformed("window"));
        }
        // Sums of these stay below 64 x 2^53, far from overflow.
        for want in &body.wants {
            if want.waiting > COST_MAX || want.expected > COST_MAX || want.smallest > want.waiting {
                return Err(malformed("wants"));
            }
            if want.tenant.is_some() {
                return Err(Refusal::TenantNamed);
            }
        }
        if body.returns.iter().any(|back| back.units > COST_MAX) {
            return Err(malformed("returns"));
        }
        Ok(Self(body))
    }
}

fn malformed(field: &str) -> Refusal {
    Refusal::Malformed {
        field: field.to_owned(),
    }
}
