//! A question for a place in the queue of a shaper.

use weir_core::invalid::{Fault, Invalid};
use weir_wire::reserve::ReserveRequest;

use super::{cost, named, one};

/// A checked question for a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reserve {
    /// Who asks.
    pub tenant: Option<String>,
    /// The shaper's name.
    pub limit: String,
    /// The key within it.
    pub key: Option<String>,
    /// Units that are to leave; 0 looks.
    pub cost: u64,
}

impl TryFrom<ReserveRequest> for Reserve {
    type Error = Invalid;

    fn try_from(request: ReserveRequest) -> Result<Self, Invalid> {
        named(request.tenant.as_deref())?;
        let missing = || Invalid::new("/limit", Fault::Missing);
        Ok(Self {
            limit: request.limit.ok_or_else(missing)?,
            key: one(request.key)?,
            cost: cost(request.cost)?,
            tenant: request.tenant,
        })
    }
}
