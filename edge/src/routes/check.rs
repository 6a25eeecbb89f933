//! `POST /v1/check` and `POST /v1/check/batch`: decisions.

use futures_util::future::join_all;
use weir_shared::access::endpoint::Endpoint;
use weir_shared::check::Check;
use weir_shared::check::batch::Batch;
use weir_shared::invalid::read_json;
use weir_shared::limiting::owner::Asking;
use weir_shared::limits::CHECK_BODY_BYTES_MAX;
use weir_shared::ordered::{OrderedMap, OrderedSet};
use weir_shared::wire::batch::{BatchReply, BatchRequest};
use weir_shared::wire::check::{CheckRequest, DecisionBody};
use worker::{Request, Response};

use crate::auth::caller::Caller;
use crate::http::body;
use crate::http::failure::Failure;
use crate::http::ratelimit::headers;
use crate::http::reply::Reply;
use crate::isolate::answer::Asker;
use crate::isolate::now;
use crate::isolate::place::ClientLocation;
use crate::isolate::request::RequestHandles;

/// The question of a body that was read, and who asks it.
pub struct CheckCall<'a> {
    /// The platform.
    pub handles: &'a RequestHandles,
    /// Where it came from.
    pub location: &'a ClientLocation,
    /// Who asks.
    pub caller: &'a Caller,
    /// JSON.
    pub body: &'a [u8],
}

/// Reads a question and answers it by [`CheckCall::check`], or a batch of them by [`CheckCall::batch`].
///
/// # Errors
/// As these; 413 or 415.
pub async fn answer(
    request: &mut Request,
    handles: &RequestHandles,
    caller: &Caller,
    endpoint: Endpoint,
) -> Result<Response, Failure> {
    let body = body::json_bytes(request, CHECK_BODY_BYTES_MAX).await?;
    let asked = CheckCall {
        handles,
        location: &ClientLocation::of(request, &handles.env)?,
        caller,
        body: &body,
    };
    let reply = match endpoint {
        Endpoint::CheckBatch => asked.batch().await?,
        _ => asked.check().await?,
    };
    Ok(reply.respond()?)
}

impl CheckCall<'_> {
    /// Answers one check. A decision is always 200.
    ///
    /// # Errors
    /// 400, 403 or 404, with the field at fault.
    pub async fn check(&self) -> Result<Reply, Failure> {
        let mut question: CheckRequest = read_json(self.body)?;
        question.tenant = self.caller.tenant(question.tenant, "")?;
        let check = Check::try_from(question)?;
        let (region, loaded) = self.location.place(self.handles).await?;
        let asker = Asker {
            shadow: false,
            forwards: false,
            handles: self.handles,
            region: &region,
            loaded: &loaded,
            asking: Asking::Principal(&self.caller.principal),
        };
        let answered = asker.answer(&check).await?;
        let mut reply = Reply::json(200, &answered.body)?;
        reply.headers = headers(loaded.policy.headers, &answered, now());
        Ok(reply)
    }

    /// Answers a batch: every check is planned before the first is decided, so that a batch with a fault charges
    /// nothing. Checks that charge the same budget or key are decided one after another, in their order; others at the
    /// same time.
    ///
    /// # Errors
    /// As [`CheckCall::check`], with the pointer of the request at fault.
    pub async fn batch(&self) -> Result<Reply, Failure> {
        let mut question: BatchRequest = read_json(self.body)?;
        for (index, one) in question.requests.iter_mut().enumerate() {
            let at = format!("/requests/{index}");
            one.tenant = self.caller.tenant(one.tenant.take(), &at)?;
        }
        let batch = Batch::try_from(question)?;
        let (region, loaded) = self.location.place(self.handles).await?;
        let asker = Asker {
            shadow: false,
            forwards: false,
            handles: self.handles,
            region: &region,
            loaded: &loaded,
            asking: Asking::Principal(&self.caller.principal),
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
        let mut decisions: OrderedMap<usize, DecisionBody> = OrderedMap::new();
        for decided in join_all(running).await {
            decisions.extend(decided?);
        }
        let decisions = decisions.into_values().collect();
        Reply::json(200, &BatchReply { decisions })
    }
}

/// The checks that have to wait for one another, by their places: those that charge the same state.
fn chains(planned: &[Vec<String>]) -> Vec<Vec<usize>> {
    let mut chain_of: OrderedMap<&str, usize> = OrderedMap::new();
    let mut chains: Vec<Vec<usize>> = Vec::new();
    for (index, names) in planned.iter().enumerate() {
        let known = names.iter().filter_map(|name| chain_of.get(name.as_str()));
        let known: OrderedSet<usize> = known.copied().collect();
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
