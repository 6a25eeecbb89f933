//! Logins that are tried too often: counted in an object of their own in each region.
//!
//! Who brings a token that Weir made is counted by it. The bootstrap token proves no more than that it was typed: where the
//! address is known it counts for that like any guess, so that guesses of it are slow.

use weir_shared::access::login::{Attempt, terms};
use weir_shared::algorithms::composite::StateKey;
use weir_shared::gateway::address::{CONNECTING, account};
use weir_shared::limiting::owner::Account;
use weir_shared::limits::LOGIN_ATTEMPTS_MAX;
use weir_shared::wire::access::BOOTSTRAP;
use weir_shared::wire::check::Reason;
use worker::Request;

use super::client_address::client_address;
use crate::http::failure::Failure;
use crate::isolate::key::KeyCheck;
use crate::isolate::request::RequestHandles;
use crate::objects::binding::KeyShard;

/// Counts one attempt, with the token of that id or with none that is known, and answers the address that it comes from,
/// where that is known.
///
/// # Errors
/// 429 for one too many, 503 while attempts cannot be counted.
pub async fn attempt(
    request: &Request,
    handles: &RequestHandles,
    region: &str,
    token: Option<&str>,
) -> Result<Option<String>, Failure> {
    let headers = request.headers();
    let told_by = client_address(&handles.env);
    let address = told_by.value(CONNECTING, |name| headers.get(name).ok().flatten());
    let attempt = match (token, address.as_deref()) {
        (Some(BOOTSTRAP), Some(address)) | (None, Some(address)) => Attempt::Address(address),
        (Some(id), _) => Attempt::Token(id),
        (None, None) => Attempt::Nowhere,
    };
    let account = match attempt {
        Attempt::Address(address) => account(address),
        Attempt::Token(_) | Attempt::Nowhere => Account::default(),
    };
    let terms = terms();
    let key = StateKey {
        limit: terms.name.clone(),
        key: attempt.key(),
    };
    let check = KeyCheck {
        region,
        shard: &KeyShard::of_logins(region),
        key: &key,
        terms: &terms,
        units: 1,
        ceiling: LOGIN_ATTEMPTS_MAX,
        look: false,
        draws: false,
        known: attempt.is_known(),
        account: &account,
    };
    let decision = check.decide(handles).await?.decision;
    match decision.reason {
        _ if decision.admitted() => Ok(address),
        Reason::Unavailable => Err(Failure::Unavailable {
            what: "the count of logins".to_owned(),
        }),
        _ => Err(Failure::TooMany {
            detail: refused(attempt),
            after_ms: decision.retry.after_ms().unwrap_or_default(),
        }),
    }
}

fn refused(attempt: Attempt<'_>) -> &'static str {
    match attempt {
        Attempt::Token(_) => "Too many logins were tried with this token.",
        Attempt::Address(_) => "Too many logins were tried from this address.",
        Attempt::Nowhere => "Too many logins were tried with tokens that are not known.",
    }
}
