//! A check of a limit: decided by the region's object.

use weir_shared::decision::{Decision, Retry};
use weir_shared::limits::CALL_MS_MAX;
use weir_shared::policy::limit::Limit;
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::region::{DecideBody, DecidedBody};
use worker::console_error;

use super::request::RequestHandles;
use super::{now, with};
use crate::http::failure::Failure;
use crate::objects::binding::{Address, call};

/// Decides a check of a limit of the policy, and says by which revision. `known` is the isolate's.
///
/// A region that answers too late may have charged what is answered as `unavailable`: the caller was not let through,
/// and the key has less left than it could.
///
/// The decision is absent when the region's newer policy has no such limit any more.
///
/// # Errors
/// When the isolate decides for too many regions.
pub async fn decide(
    handles: &RequestHandles,
    question: &DecideBody,
    limit: &Limit,
    known: Revision,
) -> Result<(Option<Decision>, Revision), Failure> {
    let sent_at = now();
    let region = &question.region;
    match call(&handles.env, Address::region(region), question, CALL_MS_MAX).await {
        Ok(reply) => {
            with(region, |view| {
                view.heard(sent_at);
                if reply.revision > known {
                    view.contact_due = EpochMs(0);
                }
            })?;
            Ok((reply.decision.map(decision), reply.revision))
        }
        Err(error) => {
            console_error!("limit {}: {error}", question.limit);
            let after_ms = with(region, |view| view.contact_ms)?;
            let unavailable = Decision::unavailable(limit.gcra.burst(), now(), after_ms);
            Ok((Some(unavailable), known))
        }
    }
}

fn decision(decided: DecidedBody) -> Decision {
    Decision {
        reason: decided.reason,
        limit: decided.limit,
        remaining: decided.remaining,
        reset_at: decided.reset_at,
        retry: match decided.retry_after_ms {
            Some(0) => Retry::Now,
            Some(ms) => Retry::AfterMs(ms),
            None => Retry::Never,
        },
    }
}
