//! A check of a limit: decided by the region's object.

use weir_shared::accounting::counters::Charged;
use weir_shared::decision::{Decision, Retry};
use weir_shared::limits::CALL_MS_MAX;
use weir_shared::policy::limit::Limit;
use weir_shared::units::EpochMs;
use weir_shared::wire::accounting::ANONYMOUS;
use weir_shared::wire::region::DecideBody;
use worker::console_error;

use super::contact::tend;
use super::request::RequestHandles;
use super::{now, with};
use crate::http::failure::Failure;
use crate::objects::binding::{Address, call};

/// Decides a check of a limit of the policy.
///
/// # Errors
/// [`Failure::NotFound`] when the region's newer policy has no such limit any more.
pub async fn decide(
    handles: &RequestHandles,
    question: DecideBody,
    limit: &Limit,
) -> Result<Decision, Failure> {
    let sent_at = now();
    let region = question.region.clone();
    match call(
        &handles.env,
        Address::region(&region),
        &question,
        CALL_MS_MAX,
    )
    .await
    {
        Ok(reply) => {
            with(&region, |view| {
                view.heard(sent_at);
                if reply.revision > question.revision {
                    view.contact_due = EpochMs(0);
                }
            })?;
            let decided = reply.decision.ok_or(Failure::NotFound {
                what: "limit",
                field: Some("/limit".to_owned()),
            })?;
            Ok(Decision {
                reason: decided.reason,
                limit: decided.limit,
                remaining: decided.remaining,
                reset_at: decided.reset_at,
                retry: match decided.retry_after_ms {
                    Some(0) => Retry::Now,
                    Some(ms) => Retry::AfterMs(ms),
                    None => Retry::Never,
                },
            })
        }
        Err(error) => {
            console_error!("limit {}: {error}", question.limit);
            let after_ms = with(&region, |view| {
                // The region did not count this decision, so it is counted here.
                let tenant = question.tenant.as_deref().unwrap_or(ANONYMOUS);
                let charged = Charged::Limit(&question.limit);
                view.outbox.count(tenant, charged, false, question.cost);
                view.contact_ms
            })?;
            tend(handles, &region)?;
            Ok(Decision::unavailable(limit.gcra.burst(), now(), after_ms))
        }
    }
}
