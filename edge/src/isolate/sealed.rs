//! What a caller keeps and brings back, so that any isolate can tell by itself that this deployment made it: JSON, sealed
//! by the keys that travel with the tokens.

pub mod reservation;
pub mod slot;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use weir_shared::access::seal::Opened;
use weir_shared::json;

use super::bearer::nobody_knows;
use crate::http::failure::Failure;
use crate::isolate::access::access_sealed;
use crate::isolate::memory::{any_access, now};
use crate::isolate::request::RequestHandles;

/// Whether this isolate can seal anything. Asked before something is charged that is worth nothing without its text.
///
/// # Errors
/// 503 while the keys are not known.
pub fn ready() -> Result<(), Failure> {
    let table = any_access().filter(|table| !table.seals().is_empty());
    table.map(drop).ok_or_else(nobody_knows)
}

/// The text of `body`; `purpose` keeps one use apart from another.
///
/// # Errors
/// 503 while the keys are not known.
pub fn seal(purpose: &str, body: &impl Serialize) -> Result<String, Failure> {
    let body = URL_SAFE_NO_PAD.encode(serde_json::to_string(body)?);
    let table = any_access().ok_or_else(nobody_knows)?;
    table.seals().seal(purpose, &body).ok_or_else(nobody_knows)
}

/// What a text says; `None` for one that this deployment did not make for that purpose. Where it may be of a key that
/// this isolate has not heard of, the region is asked.
///
/// # Errors
/// 503 while the keys are not known.
pub async fn open<T: DeserializeOwned>(
    handles: &RequestHandles,
    region: &str,
    purpose: &str,
    text: &str,
) -> Result<Option<T>, Failure> {
    let mut table = any_access();
    let opened = table
        .as_ref()
        .map(|table| table.seals().open(purpose, text, now()));
    if let Some(Opened::Newer { version }) = opened {
        table = access_sealed(handles, region, version).await?;
    }
    let table = table.ok_or_else(nobody_knows)?;
    let Opened::Body { body, .. } = table.seals().open(purpose, text, now()) else {
        return Ok(None);
    };
    let bytes = URL_SAFE_NO_PAD.decode(body).ok();
    Ok(bytes.and_then(|bytes| json::from_slice(&bytes).ok()))
}
