//! Console sessions: a cookie that says until when, with a MAC that any isolate verifies by itself.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;
use weir_shared::limits::SESSION_MS;
use weir_shared::units::EpochMs;
use weir_shared::wire::operator::{Role, SessionReply};
use worker::{Env, Request};

use super::bootstrap::BootstrapToken;
use crate::http::failure::Failure;

const COOKIE: &str = "weir_session";
const PURPOSE: &str = "weir session 1";
const ATTRIBUTES: &str = "Path=/; HttpOnly; Secure; SameSite=Strict";

/// The `Set-Cookie` value of a new session, and what it permits.
#[must_use]
pub fn open(token: &BootstrapToken, now: EpochMs) -> Option<(String, SessionReply)> {
    let expires_at = now.plus(SESSION_MS).0;
    let mac = URL_SAFE_NO_PAD.encode(token.mac(PURPOSE, &expires_at.to_string())?);
    let max_age_s = SESSION_MS / 1_000;
    let cookie = format!("{COOKIE}={expires_at}.{mac}; Max-Age={max_age_s}; {ATTRIBUTES}");
    let reply = SessionReply {
        role: Role::Admin,
        expires_at,
    };
    Some((cookie, reply))
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
pub fn of(request: &Request, env: &Env, now: EpochMs) -> Result<Option<SessionReply>, Failure> {
    let Some(header) = request.headers().get("cookie")? else {
        return Ok(None);
    };
    let Some(token) = BootstrapToken::from_env(env) else {
        return Ok(None);
    };
    let mut values = header
        .split(';')
        .filter_map(|pair| pair.trim().split_once('='));
    let value = values
        .find(|(name, _)| *name == COOKIE)
        .map(|(_, value)| value);
    Ok(value.and_then(|value| verify(&token, value, now)))
}

fn verify(token: &BootstrapToken, value: &str, now: EpochMs) -> Option<SessionReply> {
    let (expires, mac) = value.split_once('.')?;
    let given = URL_SAFE_NO_PAD.decode(mac).ok()?;
    let due = token.mac(PURPOSE, expires)?;
    if !bool::from(due.as_slice().ct_eq(&given)) {
        return None;
    }
    let expires_at: u64 = expires.parse().ok()?;
    (now.0 < expires_at).then_some(SessionReply {
        role: Role::Admin,
        expires_at,
    })
}
