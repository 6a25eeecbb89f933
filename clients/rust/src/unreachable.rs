//! What is answered in Weir's place while it is out of reach.

use crate::answer::{Decision, Place, Reason};
use crate::error::WeirError;
use crate::options::Fail;

/// Milliseconds after which to ask again, where a denial has to say something.
const RETRY_MS: u64 = 1_000;

/// An answer, or what is answered in its place; an error of the request itself is handed on.
pub(crate) fn or_else<T>(
    asked: Result<T, WeirError>,
    in_its_place: impl FnOnce(WeirError) -> T,
) -> Result<T, WeirError> {
    match asked {
        Err(error) if error.unreachable() => Ok(in_its_place(error)),
        other => other,
    }
}

/// The decision of `fail`.
pub(crate) fn decision(fail: Fail, cause: WeirError, now_ms: u64) -> Decision {
    let allowed = fail == Fail::Open;
    let retry_ms = retry_ms(allowed, &cause);
    Decision {
        allowed,
        reason: Reason::Unreachable,
        limit: 0,
        remaining: 0,
        reset_at: now_ms.saturating_add(retry_ms),
        retry_after_ms: Some(retry_ms),
        binding: String::new(),
        region: String::new(),
        window: None,
        policy_revision: 0,
        decision: None,
        reservation: None,
        slot: None,
        expires_at: None,
        headers: Vec::new(),
        cause: Some(cause),
    }
}

/// The place of `fail`: `Open` lets go on at once.
pub(crate) fn place(fail: Fail, cause: WeirError) -> Place {
    let accepted = fail == Fail::Open;
    Place {
        accepted,
        delay_ms: 0,
        retry_after_ms: Some(retry_ms(accepted, &cause)),
        decision: None,
        cause: Some(cause),
    }
}

fn retry_ms(allowed: bool, cause: &WeirError) -> u64 {
    match allowed {
        true => 0,
        false => cause.retry_after_ms.unwrap_or(RETRY_MS),
    }
}
