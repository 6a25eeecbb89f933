//! What a policy changes for one tenant at an instant: which of its overrides are in force, and what counts of them.

use std::cmp::Reverse;

use weir_core::invalid::Invalid;
use weir_core::limits::{JSON_INTEGER_MAX, OVERRIDES_MAX};
use weir_core::ordered::sort_by_key;
use weir_core::units::EpochMs;
use weir_wire::numbers::BudgetOverrideBody;
use weir_wire::overrides::OverrideBody;

use super::changes::Changes;
use super::claim::Claim;
use super::{between, count};

/// One override of a tenant.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    /// Where it stands in the document's list.
    pub index: usize,
    /// From when on.
    pub starts_at: EpochMs,
    /// The first instant at which it is over; `None` for good.
    pub expires_at: Option<EpochMs>,
    /// What it claims of every budget: the tenant's weight.
    pub claim: Claim,
    /// What else it changes.
    pub changes: Changes,
}

/// A value that an override gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given<T> {
    /// The value.
    pub value: T,
    /// Where the override stands in the document's list.
    pub index: usize,
    /// When it is over.
    pub until: Option<EpochMs>,
}

/// The overrides of one tenant, first the one that counts before all others while it is in force.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides(Vec<Override>);

impl Override {
    /// Whether it counts at `now`: from its first millisecond on, and at its end no more.
    #[must_use]
    pub fn in_force(&self, now: EpochMs) -> bool {
        self.starts_at <= now && self.expires_at.is_none_or(|end| now < end)
    }
}

impl Overrides {
    /// Those in force, first the one that started last; of two that started at once, the one that stands later.
    pub fn in_force(&self, now: EpochMs) -> impl DoubleEndedIterator<Item = &Override> {
        self.0.iter().filter(move |one| one.in_force(now))
    }

    /// All of them, in the same order.
    pub fn iter(&self) -> impl Iterator<Item = &Override> {
        self.0.iter()
    }

    /// The first value that one in force gives.
    pub fn given<T>(
        &self,
        now: EpochMs,
        value: impl Fn(&Override) -> Option<T>,
    ) -> Option<Given<T>> {
        self.in_force(now).find_map(|one| {
            Some(Given {
                value: value(one)?,
                index: one.index,
                until: one.expires_at,
            })
        })
    }

    /// When what is in force changed last: the latest start or end up to `now`; 0 before all of them.
    ///
    /// Two who resolve a tenant by one policy agree exactly where this is the same, and the one for whom it is later
    /// knows what the other does not.
    #[must_use]
    pub fn since(&self, now: EpochMs) -> EpochMs {
        let past = self.turns().filter(|turn| *turn <= now);
        past.max().unwrap_or_default()
    }

    /// When what is in force changes next.
    #[must_use]
    pub fn next_change_at(&self, now: EpochMs) -> Option<EpochMs> {
        self.turns().filter(|turn| *turn > now).min()
    }

    /// Every start and end.
    pub fn turns(&self) -> impl Iterator<Item = EpochMs> {
        let turns = |one: &Override| [Some(one.starts_at), one.expires_at];
        self.0.iter().flat_map(turns).flatten()
    }

    /// The overrides of a document's tenant.
    ///
    /// # Errors
    /// At `/overrides` where there are too many, else under `/overrides/{index}`.
    pub(super) fn read(bodies: &[OverrideBody]) -> Result<Self, Invalid> {
        count("/overrides", "overrides", bodies.len(), OVERRIDES_MAX)?;
        let mut overrides = Vec::with_capacity(bodies.len());
        for (index, body) in bodies.iter().enumerate() {
            let at = |refused: Invalid| refused.under(&format!("/overrides/{index}"));
            overrides.push(read(index, body).map_err(at)?);
        }
        sort_by_key(&mut overrides, |one| Reverse((one.starts_at, one.index)));
        Ok(Self(overrides))
    }
}

fn read(index: usize, body: &OverrideBody) -> Result<Override, Invalid> {
    let starts_at = body.starts_at.unwrap_or_default();
    between("/starts_at", starts_at.0, 0, JSON_INTEGER_MAX)?;
    if let Some(expires_at) = body.expires_at {
        between(
            "/expires_at",
            expires_at.0,
            starts_at.0 + 1,
            JSON_INTEGER_MAX,
        )?;
    }
    Ok(Override {
        index,
        starts_at,
        expires_at: body.expires_at,
        claim: Claim::read(&BudgetOverrideBody {
            weight: body.weight,
            ..BudgetOverrideBody::default()
        })?,
        changes: Changes::read(&body.meters, &body.guards, &body.limits, &body.budgets)?,
    })
}
