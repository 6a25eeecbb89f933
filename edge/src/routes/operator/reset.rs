//! `POST /operator/v1/reset`: puts a key of a limit, a meter or a guard of a tenant, or a tenant back to the start. It is
//! recorded before it is carried out, so that none goes unrecorded.

use futures_util::future::join_all;
use serde_json::{Value, json};
use weir_shared::audit::Action;
use weir_shared::check::reset::{Refused, Reset};
use weir_shared::limiting::key::shard;
use weir_shared::limiting::messages::ResetBody;
use weir_shared::limits::{CALL_MS_MAX, OPERATOR_BODY_BYTES_MAX};
use weir_shared::wire::audit::AuditOutcome;
use weir_shared::wire::exchange::VERSION;
use weir_shared::wire::operator::reset::{ResetReply, ResetRequest};
use worker::{Env, Request, Response};

use super::change::Change;
use super::{InForce, in_force, registry};
use crate::auth::caller::Caller;
use crate::http::failure::Failure;
use crate::http::{body, reply};
use crate::isolate::now;
use crate::isolate::request::RequestHandles;
use crate::objects::binding::{Address, KeyShard, call};

/// Carries a reset out, in every region that keeps what is meant.
///
/// # Errors
/// 400 naming the field, 404 for a name that the policy does not have, 413, 415; 503 when the registry or a shard does not
/// answer: what was put back by then is, and the same again does the rest.
pub async fn reset(
    request: &mut Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    let mut change = Change::new(request, handles, caller, Action::StateReset)?;
    let read = body::json(request, OPERATOR_BODY_BYTES_MAX).await;
    let request: ResetRequest = change.asked(read)?;
    let because = change.because(request.why.clone());
    change.asked(because)?;
    let found = in_force(handles).await?;
    let reset = Reset::of(&request, &found.policy).map_err(|refused| match refused {
        Refused::Invalid(invalid) => Failure::Invalid(invalid),
        Refused::Unknown(what) => Failure::unknown(what, ""),
    });
    let reset = change.asked(reset)?;
    let change = change.of(reset.target.clone());
    let meant = ResetRequest {
        why: None,
        ..request
    };
    let record = change.record(AuditOutcome::Done, Value::Null, json!(meant));
    let recorded = registry(handles, &record).await?;
    let keys = carried_out(&handles.env, &found, &reset).await?;
    reply::json(
        200,
        &ResetReply {
            at: now(),
            audit: recorded.sequence,
            keys,
        },
    )
}

async fn carried_out(env: &Env, found: &InForce, reset: &Reset) -> Result<u64, Failure> {
    let (policy, number) = (&found.policy, shard(&reset.key, found.placement));
    let mut shards = Vec::new();
    if !reset.regional.is_empty() {
        let regions = policy.regions.iter();
        let regions = regions.map(|region| KeyShard::of_region(region, number));
        shards.extend(regions.map(|shard| (shard, &reset.regional)));
    }
    if !reset.global.is_empty() {
        let shard = KeyShard::of_deployment(&policy.home, number);
        shards.push((shard, &reset.global));
    }
    let asked = shards.iter().map(async |(shard, names)| {
        let body = ResetBody {
            v: VERSION,
            names: (*names).clone(),
            key: reset.key.clone(),
            tenant: reset.tenant,
        };
        let (mut keys, mut more) = (0, true);
        while more {
            let told = call(env, Address::keys(shard), &body, CALL_MS_MAX).await;
            let told = told.map_err(|error| Failure::Unavailable {
                what: format!("{shard}: {error}"),
            })?;
            keys += told.keys;
            more = told.more && told.keys > 0;
        }
        Ok::<u64, Failure>(keys)
    });
    let mut keys = 0;
    for told in join_all(asked).await {
        keys += told?;
    }
    Ok(keys)
}
