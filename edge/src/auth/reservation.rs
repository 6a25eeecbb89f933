//! Reservations as text: what was charged, with a MAC that any isolate verifies by itself.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;
use weir_shared::invalid::{Fault, Invalid};
use weir_shared::limiting::reservation::Reservation;
use worker::Env;

use super::bootstrap::BootstrapToken;
use crate::http::failure::Failure;

const PURPOSE: &str = "weir reservation 1";

/// The text of a reservation.
///
/// # Errors
/// When the deployment has no secret, which no authenticated request meets.
pub fn seal(env: &Env, reservation: &Reservation) -> Result<String, Failure> {
    let body = URL_SAFE_NO_PAD.encode(serde_json::to_string(reservation)?);
    let mac = secret(env)?
        .mac(PURPOSE, &body)
        .ok_or_else(|| Failure::Internal("no mac".to_owned()))?;
    Ok(format!("{body}.{}", URL_SAFE_NO_PAD.encode(mac)))
}

/// The reservation of a text.
///
/// # Errors
/// 400 for a text that this deployment did not make.
pub fn open(env: &Env, text: &str) -> Result<Reservation, Failure> {
    let secret = secret(env)?;
    let opened = text.split_once('.').and_then(|(body, mac)| {
        let given = URL_SAFE_NO_PAD.decode(mac).ok()?;
        let due = secret.mac(PURPOSE, body)?;
        bool::from(due.as_slice().ct_eq(&given)).then_some(body)
    });
    let bytes = opened.and_then(|body| URL_SAFE_NO_PAD.decode(body).ok());
    let reservation = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    reservation.ok_or_else(|| {
        let fault = Fault::Unknown {
            name: text.chars().take(16).collect(),
            what: "reservation of this deployment",
        };
        Invalid::new("/reservation", fault).into()
    })
}

fn secret(env: &Env) -> Result<BootstrapToken, Failure> {
    BootstrapToken::from_env(env).ok_or(Failure::Unauthorized)
}
