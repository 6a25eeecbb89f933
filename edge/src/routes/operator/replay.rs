//! `POST /operator/v1/replay`: what another policy would have admitted.

use futures_util::future::join_all;
use weir_shared::invalid::Invalid;
use weir_shared::limits::REPLAY_BODY_BYTES_MAX;
use weir_shared::replay::question::{Over, ReplayQuestion};
use weir_shared::replay::{Replay, busiest};
use weir_shared::report::regions::Totals;
use weir_shared::wire::replay::ReplayRequest;
use weir_shared::wire::series::{SeriesBody, SeriesReply};
use worker::{Request, Response};

use super::in_force;
use super::ledgers::{borrowed, each, totals};
use super::policy::candidate;
use crate::http::failure::Failure;
use crate::http::{body, reply};
use crate::isolate::now;
use crate::isolate::request::RequestHandles;

/// Plays a trace, or what was recorded, against a candidate and the policy in force. Changes nothing.
///
/// # Errors
/// 400 naming the field, 413, 415, 503.
pub async fn replay(request: &mut Request, handles: &RequestHandles) -> Result<Response, Failure> {
    let asked: ReplayRequest = body::json(request, REPLAY_BODY_BYTES_MAX).await?;
    let asked = ReplayQuestion::try_from(asked)?;
    let candidate = candidate(handles, &asked.policy).map_err(of_policy)?;
    let found = in_force(handles).await?;
    let mut replay = Replay::new(&found.policy, &candidate);
    let (entries, span, unreachable) = match asked.over {
        Over::Trace(trace) => (replay.trace(trace)?, None, Vec::new()),
        Over::Recorded(minutes) => {
            let (series, unreachable) = counted(handles, &found.policy.regions, &minutes).await;
            let span = Some((minutes.from, minutes.to));
            (replay.recorded(&series)?, span, unreachable)
        }
    };
    for entry in &entries {
        replay.play(entry);
    }
    let mut told = replay.told(now(), Some(found.revision));
    (told.from, told.to) = span.unwrap_or((told.from, told.to));
    told.unreachable = unreachable;
    reply::json(200, &told)
}

/// What ledgers counted, of the tenants with the most calls each and of all together; and which of them did not answer.
async fn counted(
    handles: &RequestHandles,
    regions: &[String],
    minutes: &SeriesBody,
) -> (Vec<(Option<String>, SeriesReply)>, Vec<String>) {
    let env = &handles.env;
    let answers = totals(env, regions).await;
    let totals = Totals::of(borrowed(&answers));
    let named = busiest(&totals.counters).into_iter().map(Some);
    let asked = named.chain([None]).map(async |tenant| {
        let body = SeriesBody {
            tenant: tenant.clone(),
            ..minutes.clone()
        };
        (tenant, each(env, regions, |_| body.clone()).await)
    });
    let (mut series, mut silent) = (Vec::new(), Vec::new());
    for (tenant, answers) in join_all(asked).await {
        for (region, answer) in answers {
            match answer {
                Some(answer) => series.push((tenant.clone(), answer)),
                None if silent.contains(&region) => {}
                None => silent.push(region),
            }
        }
    }
    (series, silent)
}

/// A fault of the candidate, where it stands in the body.
fn of_policy(failure: Failure) -> Failure {
    let under = |refused: Invalid| refused.under("/policy");
    match failure {
        Failure::Invalid(refused) => Failure::Invalid(under(refused)),
        Failure::TooMuch(refused) => Failure::TooMuch(under(refused)),
        other => other,
    }
}
