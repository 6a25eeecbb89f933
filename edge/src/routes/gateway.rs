//! The gateway: a request whose path is none of Weir's own goes where the policy's routes say. It is decided before the
//! first byte of its body is read, handed to the origin and back as streams, and what it owes is worked off at its end.

pub mod authorize;
mod body;
mod decision;
mod exchange;
mod facts;
mod fallback;
mod head;
mod provider;
mod reply;
mod settling;
mod ticket;
mod upstream;
mod visitor;
mod waiting;
mod websocket;

use std::cell::Cell;
use std::net::IpAddr;
use std::sync::Arc;

use weir_shared::gateway::address;
use weir_shared::gateway::facts::{BodyLength, Facts};
use weir_shared::gateway::forwarding::{
    Hop, loops, request_headers, target_url, with_origin_headers,
};
use weir_shared::gateway::models;
use weir_shared::gateway::problem::Refusal;
use weir_shared::gateway::router::{Routed, Router, To};
use weir_shared::gateway::usage::reader::AnswerForm;
use weir_shared::gateway::websocket::{handshake, is_asked};
use weir_shared::policy::doors::{Forwarding, OPERATOR_HOST};
use weir_shared::policy::route::{HeaderName, Origin, Route};
use weir_shared::wire::route::ErrorForm;
use worker::wasm_bindgen::JsValue;
use worker::{Request, Response, console_error};

use crate::auth::bootstrap::BootstrapToken;
use crate::auth::client_address::client_address;
use crate::auth::doors::doors;
use crate::auth::secrets::secret_of;
use crate::http::answered::Answered;
use crate::http::failure::Failure;
use crate::isolate::client::Client;
use crate::isolate::loaded::Loaded;
use crate::isolate::now;
use crate::isolate::place::place;
use crate::isolate::request::RequestHandles;
use crate::objects::trace;
use decision::{Decider, GatewayRequest, Passed, unless_shadow};
use exchange::{Exchange, Reading};
use facts::Arrived;
use fallback::Fallback;
use head::{Body, Head, Joined};
use ticket::Desk;
use upstream::Upstream;

/// Why a request does not get the origin's answer.
pub enum Refused {
    /// A problem, with the decision that it comes from.
    Problem(Box<Refusal>, Option<Box<Answered>>),
    /// What any request may be answered.
    Failure(Failure),
}

impl Refused {
    /// A problem that comes from no decision.
    pub fn of(refusal: Refusal) -> Self {
        Self::Problem(Box::new(refusal), None)
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self::of(refusal)
    }
}

/// Answers a request that is none of Weir's own.
///
/// # Errors
/// When the region or the platform fails; what the policy refuses is an answer.
pub async fn serve(request: &Request, handles: &RequestHandles) -> Result<Response, Failure> {
    let (region, loaded) = place(request, handles).await?;
    let gate = Gate {
        handles,
        region: &region,
        loaded: &loaded,
        arrived: Arrived::of(request)?,
        errors: Cell::default(),
        head: Cell::default(),
    };
    match gate.pass(request).await {
        Ok(response) => Ok(response),
        Err(Refused::Problem(refusal, answered)) => {
            let decided = answered.as_deref().map(|one| (one, &*loaded.policy));
            Ok(reply::problem(&refusal, gate.errors.get(), decided).respond()?)
        }
        Err(Refused::Failure(failure)) => Err(failure),
    }
}

/// One request before the gate.
struct Gate<'a> {
    handles: &'a RequestHandles,
    region: &'a str,
    loaded: &'a Loaded,
    arrived: Arrived,
    /// The form of refusals, once the route is known.
    errors: Cell<ErrorForm>,
    /// The head of the body, where it was read.
    head: Cell<Option<Head>>,
}

/// Where a request goes, and by which route.
#[derive(Clone, Copy)]
struct Way<'a> {
    origin: &'a Origin,
    route: Option<&'a Route>,
}

impl<'a> Way<'a> {
    fn to(origin: &'a Origin) -> Self {
        let route = None;
        Self { origin, route }
    }

    fn by(route: &'a Route, origin: &'a Origin) -> Self {
        let route = Some(route);
        Self { origin, route }
    }

    /// The header that stays behind.
    fn consumed(self) -> Option<&'a HeaderName> {
        self.route.and_then(Route::consumed)
    }
}

impl Gate<'_> {
    async fn pass(&self, request: &Request) -> Result<Response, Refused> {
        let told_by = client_address(&self.handles.env);
        let header = |name: &str| told_by.value(name, |name| self.arrived.header(name));
        let facts = self.arrived.facts(&header);
        if loops(&facts) {
            return Err(Refusal::loops().into());
        }
        let policy = &self.loaded.policy;
        let address = address::client(&policy.trusted_proxies, &facts);
        let forwarding = doors(&self.handles.env).forwarding(facts.host);
        if forwarding == Forwarding::Never {
            return Err(Refusal::no_route().into());
        }
        let Routed { to, path } = self.route(request, &facts).await?;
        if forwarding == Forwarding::Unset {
            let why = "Nothing is forwarded before the console has a host of its own.";
            let variable = OPERATOR_HOST;
            return Err(Failure::Setting { variable, why }.into());
        }
        let (way, passed) = match to {
            To::Forward(origin) => (Way::to(origin), Passed::default()),
            To::Route(route) => {
                self.errors.set(route.errors);
                trace::name(|| format!("{} {}", self.arrived.method(), route.name));
                let passed = self.ask(request, route, &facts, address).await;
                let passed = unless_shadow(route, passed)?;
                match route.origin() {
                    Some(origin) => (Way::by(route, origin), passed),
                    None => return self.models(route, &facts, address, &passed),
                }
            }
        };
        self.forward(request, (way, &path), &facts, passed).await
    }

    /// Who takes the request. Where that is for the model to say, the head of its body is read, and goes on before the
    /// rest.
    async fn route(&self, request: &Request, facts: &Facts<'_>) -> Result<Routed<'_>, Refused> {
        let router = Router::new(&self.loaded.policy, facts)?;
        let Some(first) = router.by_model() else {
            return Ok(router.find(None)?);
        };
        self.errors.set(first.errors);
        self.read_head(request).await?;
        let head = self.head.take();
        let said = head.as_ref().map(|head| &head.said);
        let routed = router.find(said.and_then(|said| said.model.as_deref()));
        self.head.set(head);
        Ok(routed?)
    }

    /// The models that the client may use, or the one that it asks for, with what was decided of its asking.
    fn models(
        &self,
        route: &Route,
        facts: &Facts<'_>,
        client: Option<IpAddr>,
        passed: &Passed,
    ) -> Result<Response, Refused> {
        let policy = &self.loaded.policy;
        let tenant = Some(passed.ticket.tenant.as_str()).filter(|tenant| !tenant.is_empty());
        let asking = models::Asking {
            route,
            tenant,
            facts,
            client,
        };
        let answered = passed.answered.as_ref();
        let told = models::answer(policy, &asking, now()).map_err(|refusal| {
            Refused::Problem(Box::new(refusal), answered.cloned().map(Box::new))
        })?;
        let reply = reply::own(told, answered, policy);
        Ok(reply.respond().map_err(Failure::from)?)
    }

    async fn ask(
        &self,
        request: &Request,
        route: &Route,
        facts: &Facts<'_>,
        address: Option<IpAddr>,
    ) -> Result<Passed, Refused> {
        let decider = Decider {
            handles: self.handles,
            region: self.region,
            loaded: self.loaded,
            forwards: true,
        };
        let tenant = decider.tenant(route, facts, address).await?;
        let reads = route.reads_requests();
        if reads {
            self.read_head(request).await?;
        }
        let head = self.head.take();
        let client = Client::of(request);
        let asked = GatewayRequest {
            facts,
            said: head.as_ref().map(|head| &head.said).filter(|_| reads),
            tenant,
            address,
            client: &client,
        };
        let decided = decider.decide(route, &asked).await;
        self.head.set(head);
        decided
    }

    async fn forward(
        &self,
        request: &Request,
        (way, path): (Way<'_>, &str),
        facts: &Facts<'_>,
        passed: Passed,
    ) -> Result<Response, Refused> {
        let (origin, url) = (way.origin, &self.arrived.url);
        let bootstrap = BootstrapToken::from_env(&self.handles.env);
        let secret = bootstrap.and_then(|bootstrap| bootstrap.ends());
        let hop = Hop {
            facts,
            trusted: &self.loaded.policy.trusted_proxies,
            scheme: url.scheme(),
            secret: secret.as_ref(),
            consumed: way.consumed(),
        };
        let headers = request_headers(self.arrived.headers(), &hop);
        let (body, asks) = match (self.body(request), self.head.take()) {
            (Some((_, length)), Some(head)) => {
                let asks_usage = way.route.is_some_and(|route| route.injects_usage);
                let (body, asks) = head.join(length, asks_usage);
                (Some(body), asks)
            }
            (body, _) => (body.map(Joined::Passing), false),
        };
        let usage = way.route.and_then(Route::usage);
        let websocket_ms = way.route.and_then(|route| route.websocket_ms);
        let websocket_ms = websocket_ms.filter(|_| is_asked(facts));
        let length = body.as_ref().and_then(Joined::length);
        let secret = |name: &str| secret_of(&self.handles.env, name);
        let upstream = |origin: &Origin, headers| {
            let headers = with_origin_headers(headers, origin, secret).map_err(|missing| {
                console_error!("the deployment has no secret {}", missing.as_str());
            });
            let mut headers = headers.ok()?;
            if usage.is_some() {
                headers = readable(headers, length);
            }
            if websocket_ms.is_some() {
                headers = handshake(headers);
            }
            Some(Upstream {
                url: target_url(origin, path, url.query()),
                method: self.arrived.method().to_owned(),
                headers,
                timeout_ms: origin.timeout_ms,
                limits: origin.limits.clone(),
            })
        };
        let others = way.route.map_or(&[][..], |route| &route.fallback);
        // Each origin's own headers are put in beside the client's, and never beside another's.
        let mut upstreams = Vec::with_capacity(1 + others.len());
        upstreams.extend(others.iter().map(|other| upstream(other, headers.clone())));
        upstreams.insert(0, upstream(origin, headers));
        if upstreams.iter().all(Option::is_none) {
            return Err(Refusal::origin_unreachable().into());
        }
        let fallback = Fallback::of(way.route, self.arrived.method());
        let (body, whole) = match body {
            // What several origins may get is kept, within the room for that.
            Some(Joined::Whole(bytes)) if fallback.is_none() => (None, Some(bytes)),
            body => (body.map(Joined::stream), None),
        };
        let exchange = Exchange {
            unreached: Default::default(),
            desk: Desk {
                handles: self.handles.share(),
                region: self.region.to_owned(),
                loaded: self.loaded.clone(),
            },
            ticket: passed.ticket,
            upstreams,
            asked: Cell::new(0),
            given_ms: Cell::new(origin.timeout_ms),
            fallback,
            websocket_ms,
            body,
            sending: whole.map(JsValue::from),
            length,
            answered: passed.answered,
            reading: usage.map(|usage| Reading {
                usage: Arc::clone(usage),
                drops_usage: asks,
            }),
        };
        exchange.run().await
    }

    /// The body, where there is one: of these methods it means nothing (RFC 9110, section 9.3.1), and the platform
    /// forwards none.
    fn body(&self, request: &Request) -> Option<Body> {
        let bodiless = matches!(self.arrived.method(), "GET" | "HEAD");
        let body = request.inner().body().filter(|_| !bodiless)?;
        let length = match self.arrived.body() {
            BodyLength::Known(bytes) => Some(bytes),
            _ => None,
        };
        Some((body, length))
    }

    /// Reads the head of a body in JSON, unless that was done.
    async fn read_head(&self, request: &Request) -> Result<(), Refused> {
        let known = self.head.take();
        if known.is_some() {
            self.head.set(known);
            return Ok(());
        }
        let field = |name| self.arrived.header(name);
        let (kind, coding) = (field("content-type"), field("content-encoding"));
        let is_json = AnswerForm::of(kind.as_deref(), coding.as_deref()) == AnswerForm::Json;
        if let Some(body) = self.body(request).filter(|_| is_json) {
            self.head.set(Some(Head::read(body).await?));
        }
        Ok(())
    }
}

/// The headers of a request whose answer is read, which must not be compressed; its body may be longer than it came.
fn readable(mut headers: Vec<(String, String)>, length: Option<u64>) -> Vec<(String, String)> {
    headers.retain(|(name, _)| name != "accept-encoding");
    headers.push(("accept-encoding".to_owned(), "identity".to_owned()));
    for (name, value) in &mut headers {
        if let (Some(bytes), "content-length") = (length, name.as_str()) {
            *value = bytes.to_string();
        }
    }
    headers
}
