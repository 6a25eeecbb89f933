//! `/v1/authorize`: decides a request that a proxy has received, by the routes of the gateway. What it then owes is the
//! proxy's to settle and to release.

use weir_shared::access::endpoint::{AUTHORIZE, Matched};
use weir_shared::decision::Reason;
use weir_shared::gateway::address;
use weir_shared::gateway::described::Described;
use weir_shared::gateway::facts::Facts;
use weir_shared::gateway::router::{Router, To};
use weir_shared::gateway::verdict::Verdict;
use weir_shared::percent::in_header;
use weir_shared::policy::Policy;
use weir_shared::policy::route::{Route, RouteTarget};
use weir_shared::wire::route::ErrorForm;
use worker::{Request, Response, ResponseBuilder, console_error};

use super::decision::{Decider, GatewayRequest, Passed, unless_shadow};
use super::facts::Arrived;
use super::{Refused, reply};
use crate::auth::admit_bearer;
use crate::auth::bearer::Tokens;
use crate::auth::caller::Caller;
use crate::auth::client_address::client_address;
use crate::http::failure::Failure;
use crate::http::ratelimit;
use crate::http::reply::{Header, Reply};
use crate::isolate::client::Client;
use crate::isolate::now;
use crate::isolate::place::{ClientLocation, place};
use crate::isolate::request::RequestHandles;
use crate::isolate::sealed::{self, reservation, slot};
use crate::routes::operator::query;

/// Where a proxy proves who it is, as `authorization` may be the client's.
const PROXY_AUTHORIZATION: &str = "weir-authorization";

const AUTHORIZATION: &str = "authorization";

/// The status that a 403 stands for.
const DENY_STATUS: &str = "weir-deny-status";

/// Answers a proxy: 200 for a request that may pass, with what the proxy passes on; else as the gateway would answer the
/// request, or with 403 where the proxy asks for that.
///
/// # Errors
/// 401 and 403 for a proxy that may not ask, 400 for a question that cannot be read.
pub async fn serve(
    request: &Request,
    handles: &RequestHandles,
    matched: &Matched<'_>,
) -> Result<Response, Failure> {
    let arrived = Arrived::of(request)?;
    let told_by = client_address(&handles.env);
    let header = |name: &str| told_by.value(name, |name| arrived.header(name));
    let question = arrived.facts(&header);
    let (region, loaded) = place(request, handles).await?;
    let proxy = Proxy::admitted(request, handles, matched, (&loaded.policy, &question)).await?;
    let verdict = match question.path == AUTHORIZE {
        true => Verdict::read(query(request)?)?,
        // The query is the request's own.
        false => Verdict::default(),
    };
    let described = Described::read(&question)?;
    let of_client = |name: &str| header(name).filter(|_| !proxy.has_sent(name));
    let decider = Decider {
        handles,
        region: &region,
        loaded: &loaded,
        forwards: false,
    };
    let facts = described.facts(&of_client);
    let client = Client::of(request);
    let (errors, decided) = proxy.decide(&decider, (&facts, &client)).await;
    match decided.and_then(|passed| admitted(&loaded.policy, passed)) {
        Err(refused) if verdict.allows_undecided() && is_undecided(&refused) => {
            console_error!("a request passes undecided");
            Ok(respond(Vec::new())?)
        }
        Ok(headers) => Ok(respond(headers)?),
        Err(refused) => Ok(denied(refused, errors, &loaded.policy, verdict).respond()?),
    }
}

/// Who asks.
struct Proxy {
    /// By a token; `None` for one that is known by its address.
    caller: Option<Caller>,
    /// The header in which the token was.
    proven_in: Option<&'static str>,
}

impl Proxy {
    /// Lets a proxy in: by its own header; without one by its address, where the policy trusts it; else by
    /// `authorization`.
    async fn admitted(
        request: &Request,
        handles: &RequestHandles,
        matched: &Matched<'_>,
        (policy, question): (&Policy, &Facts<'_>),
    ) -> Result<Self, Failure> {
        let proven_in = if question.value(PROXY_AUTHORIZATION).is_some() {
            PROXY_AUTHORIZATION
        } else if address::from_trusted(&policy.trusted_proxies, question) {
            return Ok(Self {
                caller: None,
                proven_in: None,
            });
        } else {
            AUTHORIZATION
        };
        let text = question.value(proven_in).ok_or(Failure::Unauthorized)?;
        let tokens = Tokens {
            location: &ClientLocation::of(request, &handles.env)?,
            handles,
            route: matched.route,
            request: Some(request),
        };
        let caller = admit_bearer(&text, &tokens, matched).await?;
        Ok(Self {
            caller: Some(caller),
            proven_in: Some(proven_in),
        })
    }

    /// Whether a header is the proxy's own, and none of the client's.
    fn has_sent(&self, name: &str) -> bool {
        self.proven_in == Some(name)
    }

    /// Decides a request, in the place of its client; and in what form a refusal is told.
    async fn decide(
        &self,
        decider: &Decider<'_>,
        (facts, client): (&Facts<'_>, &Client),
    ) -> (ErrorForm, Result<Passed, Refused>) {
        let router = Router::new(&decider.loaded.policy, facts);
        let first = router.as_ref().ok().and_then(Router::by_model);
        let errors = first.map(|route| route.errors).unwrap_or_default();
        // A body stays with the proxy, so nobody knows of a model.
        match router
            .and_then(|router| router.find(None))
            .map(|routed| routed.to)
        {
            Err(refusal) => (errors, Err(refusal.into())),
            // Nothing is charged.
            Ok(To::Forward(_)) => (ErrorForm::default(), Ok(Passed::default())),
            Ok(To::Route(route)) => {
                let decided = self.by_route(decider, route, (facts, client)).await;
                (route.errors, unless_shadow(route, decided))
            }
        }
    }

    async fn by_route(
        &self,
        decider: &Decider<'_>,
        route: &Route,
        (facts, client): (&Facts<'_>, &Client),
    ) -> Result<Passed, Refused> {
        let address = address::behind(&decider.loaded.policy.trusted_proxies, facts);
        let tenant = decider.tenant(route, facts, address).await?;
        if let Some(caller) = &self.caller {
            caller.may_name(tenant.as_deref(), "")?;
        }
        if owes(route) {
            sealed::ready()?;
        }
        let asked = GatewayRequest {
            facts,
            said: None,
            tenant,
            address,
            client,
        };
        decider.decide(route, &asked).await
    }
}

/// Whether anything may be left to be done for a request that a route lets through.
fn owes(route: &Route) -> bool {
    let mut checks = route.checks.iter();
    checks.any(|check| check.cost.settles() || matches!(check.target, RouteTarget::Guard(_)))
}

/// What a proxy passes on of a request that may pass, and keeps.
fn admitted(policy: &Policy, passed: Passed) -> Result<Vec<Header>, Refused> {
    let Passed { ticket, answered } = passed;
    let mut headers = answered.map_or_else(Vec::new, |answered| {
        ratelimit::headers(policy.headers, &answered, now())
    });
    if !ticket.tenant.is_empty() {
        headers.push(("weir-tenant", in_header(&ticket.tenant)));
    }
    let reservations = ticket.reservations.iter();
    let open = reservations.filter(|(reservation, _)| !reservation.is_empty());
    let sealed = open.map(|(open, _)| reservation::seal(open));
    let sealed = sealed.collect::<Result<Vec<_>, _>>()?;
    if !sealed.is_empty() {
        headers.push(("weir-settle", sealed.join(",")));
    }
    if let Some(taken) = ticket.slot.filter(|taken| taken.slot.held.is_some()) {
        headers.push(("weir-slot", slot::seal(&taken.slot)?));
    }
    Ok(headers)
}

/// Whether nobody could say if the request may pass.
fn is_undecided(refused: &Refused) -> bool {
    match refused {
        Refused::Failure(failure) => {
            matches!(failure, Failure::Unavailable { .. } | Failure::Internal(_))
        }
        Refused::Problem(_, answered) => answered
            .as_deref()
            .is_some_and(|answered| answered.body.reason == Reason::Unavailable),
    }
}

fn denied(refused: Refused, errors: ErrorForm, policy: &Policy, verdict: Verdict) -> Reply {
    let mut reply = match refused {
        Refused::Problem(refusal, answered) => {
            let decided = answered.as_deref().map(|one| (one, policy));
            reply::problem(&refusal, errors, decided)
        }
        Refused::Failure(failure) => failure.reply(),
    };
    let (status, stands_for) = verdict.status(reply.status);
    reply.status = status;
    if let Some(status) = stands_for {
        reply = reply.with(DENY_STATUS, status.to_string());
    }
    reply
}

/// An answer without a body, which no cache keeps: another request costs, too.
fn respond(headers: Vec<Header>) -> worker::Result<Response> {
    let mut builder = ResponseBuilder::new()
        .with_status(200)
        .with_header("cache-control", "no-store")?;
    for (name, value) in &headers {
        builder = builder.with_header(name, value)?;
    }
    Ok(builder.empty())
}
