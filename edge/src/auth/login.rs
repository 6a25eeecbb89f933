//! Logins that are tried too often: counted in objects of their own in each region, one for each kind, before anything is
//! compared that could be guessed. An isolate asks them about a few at a time.

use weir_shared::access::login::{Attempt, queue_terms, terms};
use weir_shared::access::turnstile::{Place, Turn};
use weir_shared::algorithms::composite::StateKey;
use weir_shared::gateway::address::account;
use weir_shared::limiting::messages::ShapeBody;
use weir_shared::limiting::owner::Account;
use weir_shared::limits::{CALL_MS_MAX, LOGIN_ATTEMPTS_MAX, LOGIN_PERIOD_MS, LOGIN_WAIT_MS_MAX};
use weir_shared::wire::check::Reason;
use weir_shared::wire::exchange::VERSION;

use crate::http::failure::Failure;
use crate::isolate::key::KeyCheck;
use crate::isolate::look::Looks;
use crate::isolate::request::RequestHandles;
use crate::isolate::turnstiles;
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
    let delay_ms = {
        let _turn = AttemptTurn::in_turn(attempt).await?;
        let shard = KeyShard::of_logins(region, attempt.queue());
        in_line(handles, region, &shard, attempt).await?;
        in_queue(handles, &shard, attempt).await?
    };
    if delay_ms > 0 {
        sleep(delay_ms).await;
    }
    Ok(())
}

/// An attempt that the objects are asked about; others of its kind wait until this goes out of scope.
struct AttemptTurn<'a> {
    attempt: Attempt<'a>,
    place: Place,
}

impl<'a> AttemptTurn<'a> {
    /// Once it is its turn in this isolate.
    async fn in_turn(attempt: Attempt<'a>) -> Result<Self, Failure> {
        let entered = turnstiles(|turnstiles, now| turnstiles.enter(attempt, now))?;
        let place = entered.ok_or_else(|| too_many_at_once(LOGIN_WAIT_MS_MAX))?;
        let asked = Self { attempt, place };
        let mut looks = Looks::default();
        loop {
            match turnstiles(|turnstiles, now| turnstiles.turn(attempt, place, now))? {
                Turn::Ask => return Ok(asked),
                Turn::Refused => return Err(too_many_at_once(LOGIN_WAIT_MS_MAX)),
                Turn::Wait => looks.again().await,
            }
        }
    }
}

impl Drop for AttemptTurn<'_> {
    fn drop(&mut self) {
        // Where nothing is known of it nobody waits for it.
        let _gone = turnstiles(|turnstiles, _| turnstiles.leave(self.attempt, self.place));
    }
}

/// Milliseconds until its turn among all of its kind in the region.
async fn in_queue(
    handles: &RequestHandles,
    shard: &KeyShard,
    attempt: Attempt<'_>,
) -> Result<u64, Failure> {
    let queued = ShapeBody {
        v: VERSION,
        limit: queue_terms(),
        key: attempt.queue().to_owned(),
        cost: 1,
        known: true,
        account: Account::default(),
    };
    let place = call(&handles.env, Address::keys(shard), &queued, CALL_MS_MAX).await;
    let place = place.map_err(|error| Failure::Unavailable {
        what: error.to_string(),
    })?;
    if place.accepted {
        return Ok(place.delay_ms);
    }
    turnstiles(|turnstiles, now| turnstiles.full(attempt, now))?;
    Err(too_many_at_once(
        place.retry_after_ms.unwrap_or(LOGIN_PERIOD_MS),
    ))
}

fn too_many_at_once(after_ms: u64) -> Failure {
    let detail = "Too many logins are tried at once.";
    Failure::TooMany { detail, after_ms }
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
