//! Reservations as text: what was charged, with a MAC that any isolate verifies by itself.

use weir_shared::invalid::{Fault, Invalid};
use weir_shared::limiting::reservation::Reservation;
use worker::Env;

use super::sealed;
use crate::http::failure::Failure;

const PURPOSE: &str = "weir reservation 1";

/// The text of a reservation.
///
/// # Errors
/// When the deployment has no secret, which no authenticated request meets.
pub fn seal(env: &Env, reservation: &Reservation) -> Result<String, Failure> {
    sealed::seal(env, PURPOSE, reservation)
}

/// The reservation of a text.
///
/// # Errors
/// 400 for a text that this deployment did not make.
pub fn open(env: &Env, text: &str) -> Result<Reservation, Failure> {
    let reservation: Option<Reservation> = sealed::open(env, PURPOSE, text);
    reservation.ok_or_else(|| {
        let fault = Fault::Unknown {
            name: text.chars().take(16).collect(),
            what: "reservation of this deployment",
        };
        Invalid::new("/reservation", fault).into()
    })
}
