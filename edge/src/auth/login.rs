//! Logins that are tried too often: counted in an object of their own in each region, before anything is compared that could
//! be guessed.

use weir_shared::access::login::{Attempt, queue_terms, terms};
use weir_shared::algorithms::composite::StateKey;
use weir_shared::gateway::address::account;
use weir_shared::limiting::messages::ShapeBody;
use weir_shared::limiting::owner::Account;
use weir_shared::limits::{CALL_MS_MAX, LOGIN_ATTEMPTS_MAX, LOGIN_PERIOD_MS};
use weir_shared::wire::check::Reason;
use weir_shared::wire::exchange::VERSION;

use crate::http::failure::Failure;
use crate::isolate::key::KeyCheck;
use crate::isolate::request::RequestHandles;
use crate::objects::binding::{Address, KeyShard, call};
use crate::objects::deadline::sleep;

/// Counts one attempt, and waits until it is its turn.
///
/// # Errors
/// 429 for one too many, 503 while attempts cannot be counted.
pub async fn attempt(
    handles: &RequestHandles,
    region: &str,
    attempt: Attempt<'_>,
) -> Result<(), Failure> {
    let shard = KeyShard::of_logins(region);
    in_line(handles, region, &shard, attempt).await?;
    let queued = ShapeBody {
        v: VERSION,
        limit: queue_terms(),
        key: attempt.queue().to_owned(),
        cost: 1,
        known: true,
        account: Account::default(),
    };
    let place = call(&handles.env, Address::keys(&shard), &queued, CALL_MS_MAX).await;
    let place = place.map_err(|error| Failure::Unavailable {
        what: error.to_string(),
    })?;
    if !place.accepted {
        return Err(Failure::TooMany {
            detail: "Too many logins are tried at once.",
            after_ms: place.retry_after_ms.unwrap_or(LOGIN_PERIOD_MS),
        });
    }
    if place.delay_ms > 0 {
        sleep(place.delay_ms).await;
    }
    Ok(())
}

async fn in_line(
    handles: &RequestHandles,
    region: &str,
    shard: &KeyShard,
    attempt: Attempt<'_>,
) -> Result<(), Failure> {
    let account = match attempt {
        Attempt::Bootstrap(Some(address)) | Attempt::Stranger(Some(address)) => account(address),
        _ => Account::default(),
    };
    let terms = terms();
    let key = StateKey {
        limit: terms.name.clone(),
        key: attempt.line(),
    };
    let check = KeyCheck {
        region,
        shard,
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
        _ if decision.admitted() => Ok(()),
        Reason::Unavailable => Err(Failure::Unavailable {
            what: "the count of logins".to_owned(),
        }),
        _ => Err(Failure::TooMany {
            detail: refused(attempt),
            after_ms: decision.retry.after_ms().unwrap_or_default(),
        }),
    }
}

/// Why an attempt is not looked at.
#[must_use]
pub fn refused(attempt: Attempt<'_>) -> &'static str {
    match attempt {
        Attempt::Token(..) => "Too many logins were tried with this token.",
        Attempt::Bootstrap(Some(_)) | Attempt::Stranger(Some(_)) => {
            "Too many tokens that are not valid came from this address."
        }
        Attempt::Bootstrap(None) | Attempt::Stranger(None) => {
            "Too many tokens were tried that are not valid."
        }
    }
}
