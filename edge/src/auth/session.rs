//! Console sessions in the browser: a cookie, by the name that its address permits.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use weir_shared::access::session::{Session, cookie_name};
use weir_shared::access::table::AccessTable;
use weir_shared::units::EpochMs;
use worker::Request;

use super::bootstrap::BootstrapToken;
use crate::http::failure::Failure;
use crate::http::location::Location;
use crate::isolate::bearer::nobody_knows;

const ATTRIBUTES: &str = "Path=/; HttpOnly; Secure; SameSite=Strict";

/// Bytes of a session's id: two are never equal by accident.
const ID_BYTES: usize = 12;

/// A new session of a token, and the `Set-Cookie` value that gives it to the browser. `bootstrap`: the bootstrap token,
/// where that opens it.
///
/// # Errors
/// 503 while the deployment's keys are not known.
pub fn open(
    request: &Request,
    table: &AccessTable,
    token: &str,
    bootstrap: Option<&BootstrapToken>,
    now: EpochMs,
) -> Result<(String, Session), Failure> {
    let mut id = [0; ID_BYTES];
    getrandom::fill(&mut id).map_err(|error| Failure::Internal(error.to_string()))?;
    let id = URL_SAFE_NO_PAD.encode(id);
    let id = match bootstrap {
        Some(bootstrap) => bootstrap.mark(&id),
        None => id,
    };
    let session = Session::new(token.to_owned(), id, now).ending_with(table.principal(token, now));
    let text = session.seal(table.seals()).ok_or_else(nobody_knows)?;
    let max_age_s = session.expires_at.since(now) / 1_000;
    let name = name(request);
    let cookie = format!("{name}={text}; Max-Age={max_age_s}; {ATTRIBUTES}");
    Ok((cookie, session))
}

/// The `Set-Cookie` value that takes the session from the browser.
#[must_use]
pub fn close(request: &Request) -> String {
    format!("{}=; Max-Age=0; {ATTRIBUTES}", name(request))
}

/// What the cookie of a request says; `None` without one.
///
/// # Errors
/// When the platform cannot read the headers.
pub fn text(request: &Request) -> Result<Option<String>, Failure> {
    let Some(header) = request.headers().get("cookie")? else {
        return Ok(None);
    };
    let due = name(request);
    let mut values = header
        .split(';')
        .filter_map(|pair| pair.trim().split_once('='));
    let value = values.find(|(name, _)| *name == due);
    Ok(value.map(|(_, value)| value.to_owned()))
}

fn name(request: &Request) -> &'static str {
    let location = Location::of(request);
    cookie_name(location.scheme(), location.host())
}
