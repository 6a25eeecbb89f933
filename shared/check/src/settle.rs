//! The end of a reservation.

use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::{COST_MAX, RESERVATION_BYTES_MAX};
use weir_policy::{between, count, required};
use weir_wire::settle::SettleRequest;

/// A checked settlement. Whether the reservation is genuine is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settle {
    /// The reservation's text: 1 to 4096 bytes.
    pub reservation: String,
    /// Units that were used; 0 releases what was reserved.
    pub actual: u64,
}

impl TryFrom<SettleRequest> for Settle {
    type Error = Invalid;

    fn try_from(request: SettleRequest) -> Result<Self, Invalid> {
        let reservation = request.reservation.unwrap_or_default();
        if reservation.is_empty() {
            return Err(Invalid::new("/reservation", Fault::Missing));
        }
        count(
            "/reservation",
            "bytes",
            reservation.len(),
            RESERVATION_BYTES_MAX,
        )?;
        let actual = required("/actual", request.actual)?;
        Ok(Self {
            reservation,
            actual: between("/actual", actual, 0, COST_MAX)?,
        })
    }
}
