//! `POST /v1/check` and `POST /v1/check/batch`: decisions.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use weir_shared::check::Check;
use weir_shared::check::batch::Batch;
use weir_shared::limits::CHECK_BODY_BYTES_MAX;
use weir_shared::wire::batch::{BatchReply, BatchRequest};
use weir_shared::wire::check::{CheckRequest, DecisionBody};
use worker::{Request, Response};

use super::place::place;
use crate::auth::caller::Caller;
use crate::http::failure::Failure;
use crate::http::ratelimit::headers;
use crate::http::{body, reply};
use crate::isolate::answer::Asker;
use crate::isolate::now;
use crate::isolate::request::RequestHandles;

/// Answers one check. A decision is always 200.
///
/// # Errors
/// 400, 403, 404, 413 or 415, with the field at fault.
pub async fn check(
    request: &mut Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    let mut question: CheckRequest = body::json(request, CHECK_BODY_BYTES_MAX).await?;
    question.tenant = caller.tenant(question.tenant, "")?;
    let check = Check::try_from(question)?;
    let (region, loaded) = place(request, handles).await?;
    let asker = Asker {
        handles,
        region: &region,
        loaded: &loaded,
    };
    let answered = asker.answer(&check).await?;
    let builder = headers(
        reply::builder(200)?,
        loaded.policy.headers,
        &answered,
        now(),
    )?;
    reply::with_body(builder, &answered.body)
}

/// Answers a batch: every check is planned before the first is decided, so that a batch with a fault charges nothing.
/// Checks that charge the same budget or key are decided one after another, in their order; others at the same time.
///
/// # Errors
/// As [`check`], with the pointer of the request at fault.
pub async fn batch(
    request: &mut Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    let mut question: BatchRequest = body::json(request, CHECK_BODY_BYTES_MAX).await?;
    for (index, one) in question.requests.iter_mut().enumerate() {
        one.tenant = caller.tenant(one.tenant.take(), &format!("/requests/{index}"))?;
    }
    let batch = Batch::try_from(question)?;
    let (region, loaded) = place(request, handles).await?;
    let asker = Asker {
        handles,
        region: &region,
        loaded: &loaded,
    };
    let planned = batch.checks.iter().map(|check| asker.plan(check));
    let planned = planned.collect::<Result<Vec<_>, _>>()?;
    let running = chains(&planned).into_iter().map(|chain| async {
        let mut decided = Vec::with_capacity(chain.len());
        for index in chain {
            decided.push((index, asker.answer(&batch.checks[index]).await?.body));
        }
        Ok::<_, Failure>(decided)
    });
    let mut decisions: BTreeMap<usize, DecisionBody> = BTreeMap::new();
    for decided in join_all(running).await {
        decisions.extend(decided?);
    }
    let decisions = decisions.into_values().collect();
    reply::json(200, &BatchReply { decisions })
}

/// The checks that have to wait for one another, by their places: those that charge the same state.
fn chains(planned: &[Vec<String>]) -> Vec<Vec<usize>> {
    let mut chain_of: BTreeMap<&str, usize> = BTreeMap::new();
    let mut chains: Vec<Vec<usize>> = Vec::new();
    for (index, names) in planned.iter().enumerate() {
        let known = names.iter().filter_map(|name| chain_of.get(name.as_str()));
        let known: BTreeSet<usize> = known.copied().collect();
        let chain = known.first().copied().unwrap_or_else(|| {
            chains.push(Vec::new());
            chains.len() - 1
        });
        for other in known.into_iter().skip(1) {
            let moved = std::mem::take(&mut chains[other]);
            chains[chain].extend(moved);
            for at in chain_of.values_mut().filter(|at| **at == other) {
                *at = chain;
            }
        }
        chains[chain].push(index);
        chains[chain].sort_unstable();
        for name in names {
            chain_of.insert(name, chain);
        }
    }
    chains
}
