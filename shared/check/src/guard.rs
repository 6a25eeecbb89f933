//! A slot of a guard: asked for, renewed and released.

use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::SLOT_BYTES_MAX;
use weir_policy::count;
use weir_wire::guard::{AcquireRequest, SlotRequest};

use super::named;

/// A checked question for a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acquire {
    /// Who asks.
    pub tenant: String,
}

impl TryFrom<AcquireRequest> for Acquire {
    type Error = Invalid;

    fn try_from(request: AcquireRequest) -> Result<Self, Invalid> {
        named(request.tenant.as_deref())?;
        let missing = || Invalid::new("/tenant", Fault::Missing);
        Ok(Self {
            tenant: request.tenant.ok_or_else(missing)?,
        })
    }
}

/// A slot as it was given: 1 to 1024 bytes. Whether it is genuine is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Its text.
    pub text: String,
}

impl TryFrom<SlotRequest> for Slot {
    type Error = Invalid;

    fn try_from(request: SlotRequest) -> Result<Self, Invalid> {
        let text = request.slot.unwrap_or_default();
        if text.is_empty() {
            return Err(Invalid::new("/slot", Fault::Missing));
        }
        count("/slot", "bytes", text.len(), SLOT_BYTES_MAX)?;
        Ok(Self { text })
    }
}
