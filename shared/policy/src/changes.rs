//! What a tier, a tenant or an override says otherwise than the policy says for all, and whose word it is. Of a number the
//! override in force counts, else the tenant's own word, else its tier's, else the policy's.

use weir_core::invalid::Invalid;
use weir_core::json::pointer::step;
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;
use weir_wire::effective::Origin;
use weir_wire::numbers::{
    BudgetOverrideBody, GuardOverrideBody, LimitOverrideBody, MeterOverrideBody,
};

use super::claim::Claim;
use super::overrides::Override;

/// Other numbers than the policy's: what is absent is as beneath, each inner field for itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// Of meters, by name.
    pub meters: OrderedMap<String, MeterOverrideBody>,
    /// Of guards, by name.
    pub guards: OrderedMap<String, GuardOverrideBody>,
    /// Of limits, by name.
    pub limits: OrderedMap<String, LimitOverrideBody>,
    /// Of its claim to budgets, by name.
    pub budgets: OrderedMap<String, Claim>,
}

impl Changes {
    /// Those of a document.
    ///
    /// # Errors
    /// At the field of a budget's claim that is out of its range. Numbers of limits, meters and guards are checked where
    /// they stand together with those that they leave in force.
    pub(super) fn read(
        meters: &OrderedMap<String, MeterOverrideBody>,
        guards: &OrderedMap<String, GuardOverrideBody>,
        limits: &OrderedMap<String, LimitOverrideBody>,
        budgets: &OrderedMap<String, BudgetOverrideBody>,
    ) -> Result<Self, Invalid> {
        let claims = budgets.iter().map(|(name, body)| {
            let at = format!("/budgets{}", step(name));
            let claim = Claim::read(body).map_err(|refused| refused.under(&at))?;
            Ok((name.clone(), claim))
        });
        Ok(Self {
            meters: meters.clone(),
            guards: guards.clone(),
            limits: limits.clone(),
            budgets: claims.collect::<Result<_, Invalid>>()?,
        })
    }

    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Whose word changes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By<'a> {
    /// An override of the tenant.
    Override {
        /// Where it stands in the tenant's list.
        index: usize,
        /// When it is over.
        until: Option<EpochMs>,
    },
    /// The tenant's own entry.
    Tenant,
    /// Its tier, by name.
    Tier(&'a str),
}

impl By<'_> {
    /// Where the document says so, of a tenant of that name.
    pub(super) fn place(self, tenant: &str) -> String {
        match self {
            Self::Override { index, .. } => format!("/tenants{}/overrides/{index}", step(tenant)),
            Self::Tenant => format!("/tenants{}", step(tenant)),
            Self::Tier(tier) => format!("/tiers{}", step(tier)),
        }
    }

    pub(super) fn origin(self) -> Origin {
        match self {
            Self::Override { .. } => Origin::Override,
            Self::Tenant => Origin::Tenant,
            Self::Tier(_) => Origin::Tier,
        }
    }

    /// Whether it is said of a tenant by its name.
    pub(super) fn is_by_name(self) -> bool {
        !matches!(self, Self::Tier(_))
    }

    pub(super) fn until(self) -> Option<EpochMs> {
        match self {
            Self::Override { until, .. } => until,
            Self::Tenant | Self::Tier(_) => None,
        }
    }
}

/// What one of them says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Word<'a> {
    /// What is said.
    pub changes: &'a Changes,
    /// By whom.
    pub by: By<'a>,
}

impl<'a> Word<'a> {
    pub(super) fn of_override(one: &'a Override) -> Self {
        Self {
            changes: &one.changes,
            by: By::Override {
                index: one.index,
                until: one.expires_at,
            },
        }
    }
}
