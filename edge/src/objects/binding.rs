//! Typed calls to objects: one definition of name, route, request and answer, used by caller and object alike.
//! Every call has a deadline, as a stuck object would hang its caller.

use futures_util::future::LocalBoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use weir_shared::federation::branch;
use weir_shared::json;
use weir_shared::trace::parent;
use weir_shared::trace::span::Said;
use worker::{Env, Headers, Method, Request, RequestInit, Response, Stub};

use super::deadline::within;
use super::{telemetry, trace, usage};

/// The header by which an object is asked for a live socket, with what the socket is to be told.
pub const LIVE_HEADER: &str = "weir-live";

/// Raised when objects have to be moved: another generation is another set of objects.
const GENERATION: u32 = 1;

/// Location hints that the platform knows; a region by another name is placed near its first caller.
const HINTS: [&str; 9] = [
    "wnam", "enam", "sam", "weur", "eeur", "apac", "oc", "afr", "me",
];

/// A class of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// One for each budget, for each shard of keys of the deployment, and one for its overloaded resources.
    Coordinator,
    /// One for each region, for each of its branches, and for each shard of its keys.
    Region,
    /// One.
    Registry,
    /// One for each region.
    Ledger,
}

impl Class {
    fn binding(self) -> &'static str {
        match self {
            Self::Coordinator => "COORDINATOR",
            Self::Region => "REGION_ESCROW",
            Self::Registry => "REGISTRY",
            Self::Ledger => "LEDGER",
        }
    }
}

/// One object: its class, its name within the class, and where it is placed by its first call.
#[derive(Debug, Clone, Copy)]
pub struct Address<'a> {
    class: Class,
    name: &'a str,
    place: &'a str,
}

impl<'a> Address<'a> {
    /// The coordinator of a budget, or of one shard of a global limit's keys.
    #[must_use]
    pub fn coordinator(name: &'a str, home: &'a str) -> Self {
        Self {
            class: Class::Coordinator,
            name,
            place: home,
        }
    }

    /// The hub of overloaded resources. No budget, limit or shard of keys has a name with a slash and no number.
    #[must_use]
    pub fn hub(home: &'a str) -> Self {
        Self {
            class: Class::Coordinator,
            name: "overload/hub",
            place: home,
        }
    }

    /// A shard of keys, by its name.
    #[must_use]
    pub fn keys(shard: &'a KeyShard) -> Self {
        Self {
            class: shard.class,
            name: &shard.name,
            place: &shard.place,
        }
    }

    /// A region's own object, or a branch of it, by its name.
    #[must_use]
    pub fn region(name: &'a str) -> Self {
        Self {
            class: Class::Region,
            name,
            place: branch::of_name(name).0,
        }
    }

    /// The answers that a region remembers, by the name of [`answers_of`] that region: no region, and no shard of keys, is
    /// called so.
    #[must_use]
    pub fn answers(name: &'a str, region: &'a str) -> Self {
        Self {
            class: Class::Region,
            name,
            place: region,
        }
    }

    /// The registry.
    #[must_use]
    pub fn registry(home: &'a str) -> Self {
        Self {
            class: Class::Registry,
            name: "registry",
            place: home,
        }
    }

    /// The ledger of a region.
    #[must_use]
    pub fn ledger(region: &'a str) -> Self {
        Self {
            class: Class::Ledger,
            name: region,
            place: region,
        }
    }
}

/// The name of the object that remembers a region's answers.
#[must_use]
pub fn answers_of(region: &str) -> String {
    format!("{region}/answers")
}

/// A shard of keys: a region's, or one for the whole deployment. Ordered by name; no two have the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyShard {
    name: String,
    class: Class,
    place: String,
}

impl KeyShard {
    /// A region's shard of that number. Regions' names contain no slash.
    #[must_use]
    pub fn of_region(region: &str, shard: u32) -> Self {
        Self {
            name: format!("{region}/keys/{shard}"),
            class: Class::Region,
            place: region.to_owned(),
        }
    }

    /// The region's shard of logins of a kind: an object of their own, in which no request's keys take their room, and which
    /// nobody calls who proves less.
    #[must_use]
    pub fn of_logins(region: &str, kind: &str) -> Self {
        Self {
            name: format!("{region}/logins/{kind}"),
            class: Class::Region,
            place: region.to_owned(),
        }
    }

    /// The deployment's shard of that number, first placed in `home`. The pools of a global limit by the name of `keys`
    /// lie in the same objects, in tables of their own.
    #[must_use]
    pub fn of_deployment(home: &str, shard: u32) -> Self {
        Self {
            name: format!("keys/{shard}"),
            class: Class::Coordinator,
            place: home.to_owned(),
        }
    }

    /// Whether it is a region's.
    #[must_use]
    pub fn is_regional(&self) -> bool {
        self.class == Class::Region
    }
}

impl std::fmt::Display for KeyShard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

/// A call, with who answers it.
pub trait Call: Serialize + DeserializeOwned {
    /// The classes whose objects answer.
    const CLASSES: &'static [Class];
    /// Its name on the wire.
    const ROUTE: &'static str;
    /// The answer.
    type Reply: Serialize + DeserializeOwned;
}

/// Why a call has no answer. None of these is retried by itself: an object that is overloaded gets no second call.
#[derive(Debug)]
pub enum CallError {
    /// Not within the deadline.
    Late {
        /// The call.
        route: &'static str,
        /// The deadline.
        ms: u64,
    },
    /// The object answered with an error.
    Status {
        /// The call.
        route: &'static str,
        /// HTTP status.
        status: u16,
    },
    /// The platform's or the reader's error.
    Failed {
        /// The call.
        route: &'static str,
        /// In the platform's words.
        message: String,
    },
}

impl CallError {
    fn failed(route: &'static str, error: impl std::fmt::Display) -> Self {
        Self::Failed {
            route,
            message: error.to_string(),
        }
    }
}

impl std::fmt::Display for CallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Late { route, ms } => write!(f, "{route}: no answer within {ms} ms"),
            Self::Status { route, status } => write!(f, "{route}: answered {status}"),
            Self::Failed { route, message } => write!(f, "{route}: {message}"),
        }
    }
}

/// Calls an object.
///
/// # Errors
/// Why there is no answer.
pub async fn call<C: Call>(
    env: &Env,
    address: Address<'_>,
    call: &C,
    deadline_ms: u64,
) -> Result<C::Reply, CallError> {
    debug_assert!(
        C::CLASSES.contains(&address.class),
        "a call to a class that does not answer it"
    );
    let body = serde_json::to_string(call).map_err(|error| CallError::failed(C::ROUTE, error));
    let text = answered(env, address, C::ROUTE, body, deadline_ms).await?;
    json::from_str(&text).map_err(|fault| CallError::failed(C::ROUTE, fault))
}

/// Opens a WebSocket to an object, for the client whose request asked for one.
///
/// # Errors
/// Why there is none.
pub async fn upgrade<A: Serialize>(
    env: &Env,
    address: Address<'_>,
    ask: &A,
    deadline_ms: u64,
) -> Result<Response, CallError> {
    const ROUTE: &str = "live";
    let failed = |message: String| CallError::Failed {
        route: ROUTE,
        message,
    };
    let platform = |error: worker::Error| failed(error.to_string());
    let text = serde_json::to_string(ask).map_err(|error| failed(error.to_string()))?;
    let stub = stub(env, address).map_err(platform)?;
    let headers = Headers::new();
    headers.set("upgrade", "websocket").map_err(platform)?;
    headers.set(LIVE_HEADER, &text).map_err(platform)?;
    let mut init = RequestInit::new();
    init.with_method(Method::Get).with_headers(headers);
    let url = format!("https://weir.internal/{ROUTE}");
    let request = Request::new_with_init(&url, &init).map_err(platform)?;
    usage::called(address.class);
    let opened = within(deadline_ms, stub.fetch_with_request(request)).await;
    let response = opened.ok_or(CallError::Late {
        route: ROUTE,
        ms: deadline_ms,
    })?;
    let response = response.map_err(platform)?;
    match response.status_code() {
        101 => Ok(response),
        status => Err(CallError::Status {
            route: ROUTE,
            status,
        }),
    }
}

fn stub(env: &Env, address: Address<'_>) -> worker::Result<Stub> {
    let namespace = env.durable_object(address.class.binding())?;
    let name = format!("{}.g{GENERATION}", address.name);
    if HINTS.contains(&address.place) {
        namespace.get_by_name_with_location_hint(&name, address.place)
    } else {
        namespace.get_by_name(&name)
    }
}

/// What every call has in common, once for all of them: text out, text in.
async fn exchange(
    env: &Env,
    address: Address<'_>,
    route: &'static str,
    body: String,
) -> Result<String, CallError> {
    let platform = |error: worker::Error| CallError::failed(route, error);
    let stub = stub(env, address).map_err(platform)?;
    let mut init = RequestInit::new();
    init.with_method(Method::Post).with_body(Some(body.into()));
    let span = trace::ask(|| format!("{} {route}", address.class.binding().to_ascii_lowercase()));
    if let Some(span) = &span {
        span.say([("weir.object", Said::Text(address.name.to_owned()))]);
        let headers = Headers::new();
        let (parent, _) = span.headers();
        headers.set(parent::HEADER, &parent).map_err(platform)?;
        init.with_headers(headers);
    }
    let url = format!("https://weir.internal/{route}");
    let request = Request::new_with_init(&url, &init).map_err(platform)?;
    usage::called(address.class);
    let mut response = stub.fetch_with_request(request).await.map_err(platform)?;
    if let Some(span) = &span {
        span.answered(response.status_code());
    }
    if let Some(text) = response.headers().get(usage::HEADER).map_err(platform)?
        && let Ok(used) = json::from_str(&text)
    {
        usage::told(&used);
    }
    if let Some(text) = response
        .headers()
        .get(telemetry::HEADER)
        .map_err(platform)?
        && let Ok(told) = json::from_str(&text)
    {
        telemetry::told(&told);
    }
    match response.status_code() {
        200 => response.text().await.map_err(platform),
        status => Err(CallError::Status { route, status }),
    }
}

/// An exchange within the deadline. It is boxed, so that callers keep a pointer in the place of its state.
fn answered<'a>(
    env: &'a Env,
    address: Address<'a>,
    route: &'static str,
    body: Result<String, CallError>,
    deadline_ms: u64,
) -> LocalBoxFuture<'a, Result<String, CallError>> {
    Box::pin(async move {
        let exchanged = within(deadline_ms, exchange(env, address, route, body?)).await;
        let answer = exchanged.unwrap_or(Err(CallError::Late {
            route,
            ms: deadline_ms,
        }));
        if answer.is_err() {
            telemetry::call_failed(address.class);
        }
        answer
    })
}
