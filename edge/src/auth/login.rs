//! Logins that are tried too often: counted for each address, in the region's shards, before the token is looked at.

use weir_shared::access::login::{key, terms};
use weir_shared::algorithms::composite::StateKey;
use weir_shared::limiting::key::shard;
use weir_shared::limits::LOGIN_ATTEMPTS_MAX;
use weir_shared::wire::check::Reason;
use worker::Request;

use crate::http::failure::Failure;
use crate::isolate::key::KeyCheck;
use crate::isolate::request::RequestHandles;
use crate::objects::binding::KeyShard;

/// The address of the client, as the platform says it.
const ADDRESS_HEADER: &str = "cf-connecting-ip";

/// Counts one attempt.
///
/// # Errors
/// 429 for one too many, 503 while attempts cannot be counted.
pub async fn attempt(
    request: &Request,
    handles: &RequestHandles,
    region: &str,
) -> Result<(), Failure> {
    let address = request.headers().get(ADDRESS_HEADER)?;
    let terms = terms();
    let key = StateKey {
        limit: terms.name.clone(),
        key: key(address.as_deref()),
    };
    let check = KeyCheck {
        region,
        shard: &KeyShard::of_region(region, shard(&key.key)),
        key: &key,
        terms: &terms,
        units: 1,
        ceiling: LOGIN_ATTEMPTS_MAX,
        look: false,
        draws: false,
        known: false,
    };
    let decision = check.decide(handles).await?.decision;
    match decision.reason {
        _ if decision.admitted() => Ok(()),
        Reason::Unavailable => Err(Failure::Unavailable {
            what: "the count of logins".to_owned(),
        }),
        _ => Err(Failure::TooMany {
            detail: "Too many logins were tried from this address.",
            after_ms: decision.retry.after_ms().unwrap_or_default(),
        }),
    }
}
