//! Text with a MAC: what a caller keeps and brings back, so that any isolate can tell by itself that this deployment
//! made it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use weir_shared::json;
use worker::Env;

use super::secrets::Secrets;
use crate::http::failure::Failure;

/// The text of `body`; `purpose` keeps one use apart from another.
///
/// # Errors
/// When the deployment has no secret, which no authenticated request meets.
pub fn seal(env: &Env, purpose: &str, body: &impl Serialize) -> Result<String, Failure> {
    let body = URL_SAFE_NO_PAD.encode(serde_json::to_string(body)?);
    let mac = Secrets::of(env)
        .mac(purpose, &body)
        .ok_or_else(|| Failure::Internal("no secret".to_owned()))?;
    Ok(format!("{body}.{}", URL_SAFE_NO_PAD.encode(mac)))
}

/// What a text says; `None` for one that this deployment did not make for that purpose.
#[must_use]
pub fn open<T: DeserializeOwned>(env: &Env, purpose: &str, text: &str) -> Option<T> {
    let (body, mac) = text.split_once('.')?;
    let given = URL_SAFE_NO_PAD.decode(mac).ok()?;
    if !Secrets::of(env).is(purpose, body, &given) {
        return None;
    }
    json::from_slice(&URL_SAFE_NO_PAD.decode(body).ok()?).ok()
}
