//! Reservations as text: what was charged, so that any isolate can settle it by itself.

use weir_shared::invalid::{Fault, Invalid};
use weir_shared::limiting::reservation::Reservation;

use crate::http::failure::Failure;
use crate::isolate::request::RequestHandles;

const PURPOSE: &str = "weir reservation 2";

/// The text of a reservation.
///
/// # Errors
/// 503 while the deployment's keys are not known.
pub fn seal(reservation: &Reservation) -> Result<String, Failure> {
    super::seal(PURPOSE, reservation)
}

/// The reservation of a text.
///
/// # Errors
/// 400 for a text that this deployment did not make, 503 while its keys are not known.
pub async fn open(
    handles: &RequestHandles,
    region: &str,
    text: &str,
) -> Result<Reservation, Failure> {
    let reservation: Option<Reservation> = super::open(handles, region, PURPOSE, text).await?;
    reservation.ok_or_else(|| {
        let fault = Fault::Unknown {
            name: text.chars().take(16).collect(),
            what: "reservation of this deployment",
        };
        Invalid::new("/reservation", fault).into()
    })
}
