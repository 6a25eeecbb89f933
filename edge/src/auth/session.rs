//! Console sessions: a cookie that names a token and says until when, with a MAC that any isolate verifies by itself.
//! What the session permits is what its token permits now: with the token it ends.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use weir_shared::limits::SESSION_MS;
use weir_shared::units::EpochMs;
use worker::Request;

use super::secrets::Secrets;
use crate::http::failure::Failure;

const COOKIE: &str = "weir_session";
const PURPOSE: &str = "weir session 2";
const ATTRIBUTES: &str = "Path=/; HttpOnly; Secure; SameSite=Strict";

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The id of the token that it was opened with.
    pub id: String,
    /// When it ends.
    pub expires_at: EpochMs,
}

/// The `Set-Cookie` value of a new session of a token; `None` where the deployment has no secret.
#[must_use]
pub fn open(secrets: &Secrets, id: &str, now: EpochMs) -> Option<(String, Session)> {
    let session = Session {
        id: id.to_owned(),
        expires_at: now.plus(SESSION_MS),
    };
    let signed = format!("{}.{id}", session.expires_at.0);
    let mac = URL_SAFE_NO_PAD.encode(secrets.mac(PURPOSE, &signed)?);
    let max_age_s = SESSION_MS / 1_000;
    let cookie = format!("{COOKIE}={signed}.{mac}; Max-Age={max_age_s}; {ATTRIBUTES}");
    Some((cookie, session))
}

/// The `Set-Cookie` value that ends a session in the browser.
#[must_use]
pub fn close() -> String {
    format!("{COOKIE}=; Max-Age=0; {ATTRIBUTES}")
}

/// The session of a request; `None` without a cookie, or with one that is forged or over.
///
/// # Errors
/// When the platform cannot read the headers.
pub fn of(request: &Request, secrets: &Secrets, now: EpochMs) -> Result<Option<Session>, Failure> {
    let Some(header) = request.headers().get("cookie")? else {
        return Ok(None);
    };
    let mut values = header
        .split(';')
        .filter_map(|pair| pair.trim().split_once('='));
    let value = values
        .find(|(name, _)| *name == COOKIE)
        .map(|(_, value)| value);
    Ok(value.and_then(|value| verify(secrets, value, now)))
}

fn verify(secrets: &Secrets, value: &str, now: EpochMs) -> Option<Session> {
    let (signed, mac) = value.rsplit_once('.')?;
    let given = URL_SAFE_NO_PAD.decode(mac).ok()?;
    if !secrets.is(PURPOSE, signed, &given) {
        return None;
    }
    let (expires_at, id) = signed.split_once('.')?;
    let expires_at = EpochMs(expires_at.parse().ok()?);
    (now < expires_at).then(|| Session {
        id: id.to_owned(),
        expires_at,
    })
}
