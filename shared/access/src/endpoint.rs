//! Every route of Weir, and who may use it: one table, from which requests are dispatched and authorised, the OpenAPI
//! document is made, and which the tests go through.

use weir_core::invalid::{Fault, Invalid};
use weir_core::name::tenant_name;
use weir_core::percent::{Miswritten, decoded};
use weir_decision::id::DecisionId;
use weir_wire::role::Role;
use weir_wire::role::Role::{Admin, Agent, Editor, Service, Tenant, Viewer};

/// A method that is served somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Reads.
    Get,
    /// Reads the head alone.
    Head,
    /// Asks or makes.
    Post,
    /// Replaces.
    Put,
    /// Changes what it names.
    Patch,
    /// Removes.
    Delete,
}

impl Method {
    /// Its name in HTTP.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// The method of that name; `None` for one that nothing serves.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let all = [
            Self::Get,
            Self::Head,
            Self::Post,
            Self::Put,
            Self::Patch,
            Self::Delete,
        ];
        all.into_iter().find(|method| method.name() == name)
    }

    /// Whether it changes nothing by its definition (RFC 9110, section 9.2.1).
    #[must_use]
    pub fn is_safe(self) -> bool {
        matches!(self, Self::Get | Self::Head)
    }
}

/// What is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Endpoint {
    /// One decision.
    Check,
    /// Many decisions.
    CheckBatch,
    /// A place in the queue of a shaper.
    Reserve,
    /// What a reservation really cost.
    Settle,
    /// How a request that used an overload resource came out.
    Report,
    /// A slot of a guard.
    GuardAcquire,
    /// Decides a request that a proxy has received.
    Authorize,
    /// Keeps a slot for longer.
    GuardRenew,
    /// Gives a slot back.
    GuardRelease,
    /// Units for an agent, and its counters.
    AgentContact,
    /// A tenant's own effective policy and accounting.
    OwnFairness,
    /// Totals for Prometheus.
    Metrics,
    /// Whether the Worker runs.
    Health,
    /// This interface as an OpenAPI document.
    OpenApi,
    /// The form of a policy as a JSON Schema.
    PolicySchema,
    /// The way to the console.
    Console,
    /// The policy in force.
    PolicyRead,
    /// Another policy.
    PolicySave,
    /// Who would gain and who would lose.
    PolicyPreview,
    /// What another policy would have admitted.
    Replay,
    /// The tenants that the policy names.
    TenantsList,
    /// One tenant.
    TenantRead,
    /// Changes one tenant.
    TenantPatch,
    /// Takes one tenant out of the policy.
    TenantDelete,
    /// Who got what.
    FairnessRead,
    /// The budgets and their windows in force.
    BudgetsList,
    /// The windows that one budget had.
    BudgetWindows,
    /// The regions and how they are.
    RegionsList,
    /// What was changed, by whom and why.
    AuditList,
    /// Whether the audit log is whole.
    AuditVerify,
    /// The audit log as a file.
    AuditExport,
    /// Counters over time.
    SeriesRead,
    /// The last decisions, some of many.
    DecisionsRead,
    /// What the id of a denial leads to.
    DecisionRead,
    /// What the deployment costs to run.
    CostsRead,
    /// What happens, as it happens: a WebSocket.
    Live,
    /// Puts state back to its start.
    Reset,
    /// The tokens, without what is secret about them.
    TokensList,
    /// A new token, shown this once.
    TokenCreate,
    /// Revokes a token.
    TokenRevoke,
    /// The session of the request.
    SessionRead,
    /// Logs in.
    SessionOpen,
    /// Logs out.
    SessionClose,
    /// Logs everybody out.
    SessionsRevoke,
}

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anyone, without saying who.
    Public,
    /// Callers of these roles.
    Roles(&'static [Role]),
}

impl Access {
    /// Whether a caller of the role may.
    #[must_use]
    pub fn admits(self, role: Role) -> bool {
        match self {
            Self::Public => true,
            Self::Roles(roles) => roles.contains(&role),
        }
    }
}

/// One route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path; a segment in braces stands for one name.
    pub path: &'static str,
    /// What is served.
    pub endpoint: Endpoint,
    /// To whom.
    pub access: Access,
}

impl Route {
    /// Whether a browser's session is accepted, too: on the operator plane. Decisions take a bearer token alone.
    #[must_use]
    pub fn takes_session(&self) -> bool {
        self.path.starts_with("/operator/")
    }

    /// Whether an `Idempotency-Key` lets it be asked again and charged once.
    #[must_use]
    pub fn takes_key(&self) -> bool {
        use Endpoint::{Check, GuardAcquire, Reserve, Settle};
        matches!(self.endpoint, Check | Reserve | Settle | GuardAcquire)
    }

    /// The name in braces; `None` where there is none.
    #[must_use]
    pub fn parameter(&self) -> Option<&'static str> {
        self.path.split('/').find_map(braced)
    }
}

/// Who decides. A viewer and an editor decide nothing.
const DECIDES: Access = Access::Roles(&[Service, Tenant, Admin]);
/// Who speaks for others: says how requests came out, of which a tenant would report its own successes alone, or which
/// requests it has received.
const SPEAKS: Access = Access::Roles(&[Service, Admin]);
/// Who holds units of budgets beside a proxy, as an isolate does. Nobody else speaks as one, an admin neither.
const LEASES: Access = Access::Roles(&[Agent]);
/// Who reads what operators read.
const READS: Access = Access::Roles(&[Viewer, Editor, Admin]);
/// Who changes what operators change.
const CHANGES: Access = Access::Roles(&[Editor, Admin]);
/// Who gives out tokens, each of which may be another admin's.
const ADMINISTERS: Access = Access::Roles(&[Admin]);
/// Who asks what a tenant has: the tenant for itself, or an admin who names one.
const ACCOUNTS: Access = Access::Roles(&[Tenant, Admin]);

const fn route(method: Method, path: &'static str, endpoint: Endpoint, access: Access) -> Route {
    Route {
        method,
        path,
        endpoint,
        access,
    }
}

/// Where proxies ask about requests.
pub const AUTHORIZE: &str = "/v1/authorize";

/// What follows [`AUTHORIZE`] in a path: that of the request, from a proxy that puts its own path before and keeps the
/// rest. `None` where nothing follows.
///
/// ```
/// use weir_access::endpoint::carried;
/// assert_eq!(carried("/v1/authorize/llm/chat"), Some("/llm/chat"));
/// assert_eq!(carried("/v1/authorize"), None);
/// assert_eq!(carried("/v1/authorized/x"), None);
/// ```
#[must_use]
pub fn carried(path: &str) -> Option<&str> {
    let rest = path.strip_prefix(AUTHORIZE)?;
    rest.starts_with('/').then_some(rest)
}

/// Every route. What is not here is not served.
pub const ROUTES: &[Route] = {
    use Access::Public;
    use Endpoint::*;
    use Method::*;
    &[
        route(Post, "/v1/check", Check, DECIDES),
        route(Post, "/v1/check/batch", CheckBatch, DECIDES),
        route(Post, "/v1/reserve", Reserve, DECIDES),
        route(Post, "/v1/settle", Settle, DECIDES),
        route(Post, "/v1/report", Report, SPEAKS),
        route(Get, AUTHORIZE, Authorize, SPEAKS),
        route(Post, AUTHORIZE, Authorize, SPEAKS),
        route(Post, "/v1/guards/{guard}/acquire", GuardAcquire, DECIDES),
        route(Post, "/v1/guards/{guard}/renew", GuardRenew, DECIDES),
        route(Post, "/v1/guards/{guard}/release", GuardRelease, DECIDES),
        route(Post, "/v1/agent/contact", AgentContact, LEASES),
        route(Get, "/v1/fairness", OwnFairness, ACCOUNTS),
        route(Get, "/metrics", Metrics, READS),
        route(Get, "/healthz", Health, Public),
        route(Head, "/healthz", Health, Public),
        route(Get, "/openapi.json", OpenApi, Public),
        route(Get, "/policy.schema.json", PolicySchema, Public),
        route(Get, "/", Console, Public),
        route(Head, "/", Console, Public),
        route(Get, "/console", Console, Public),
        route(Head, "/console", Console, Public),
        route(Get, "/operator/v1/policy", PolicyRead, READS),
        route(Put, "/operator/v1/policy", PolicySave, CHANGES),
        route(Post, "/operator/v1/policy/preview", PolicyPreview, READS),
        route(Post, "/operator/v1/replay", Replay, READS),
        route(Get, "/operator/v1/tenants", TenantsList, READS),
        route(Get, "/operator/v1/tenants/{id}", TenantRead, READS),
        route(Patch, "/operator/v1/tenants/{id}", TenantPatch, CHANGES),
        route(Delete, "/operator/v1/tenants/{id}", TenantDelete, CHANGES),
        route(Get, "/operator/v1/fairness", FairnessRead, READS),
        route(Get, "/operator/v1/budgets", BudgetsList, READS),
        route(
            Get,
            "/operator/v1/budgets/{name}/windows",
            BudgetWindows,
            READS,
        ),
        route(Get, "/operator/v1/regions", RegionsList, READS),
        route(Get, "/operator/v1/audit", AuditList, READS),
        route(Get, "/operator/v1/audit/verify", AuditVerify, READS),
        route(Get, "/operator/v1/audit/export", AuditExport, READS),
        route(Get, "/operator/v1/series", SeriesRead, READS),
        route(Get, "/operator/v1/decisions", DecisionsRead, READS),
        route(
            Get,
            "/operator/v1/decisions/{decision}",
            DecisionRead,
            READS,
        ),
        route(Get, "/operator/v1/costs", CostsRead, READS),
        route(Get, "/operator/v1/live", Live, READS),
        route(Post, "/operator/v1/reset", Reset, CHANGES),
        route(Get, "/operator/v1/tokens", TokensList, ADMINISTERS),
        route(Post, "/operator/v1/tokens", TokenCreate, ADMINISTERS),
        route(Delete, "/operator/v1/tokens/{id}", TokenRevoke, ADMINISTERS),
        route(Get, "/operator/v1/session", SessionRead, READS),
        route(Post, "/operator/v1/session", SessionOpen, Public),
        route(Delete, "/operator/v1/session", SessionClose, READS),
        route(
            Post,
            "/operator/v1/sessions/revoke",
            SessionsRevoke,
            ADMINISTERS,
        ),
    ]
};

/// A route that a request asks for, with the name that stands in its path, as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matched<'a> {
    /// The route.
    pub route: &'static Route,
    raw: Option<&'a str>,
}

/// Why no route serves a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missed {
    /// There is nothing at that path.
    Path,
    /// The path is served by other methods.
    Method {
        /// Those, for the header `Allow`.
        allow: String,
    },
}

/// The route of a request, by its method and its path as it was sent (percent-encoded). A proxy that puts its path before
/// that of the request it asks about keeps the request's method, too: it may be any.
///
/// # Errors
/// Why there is none.
///
/// ```
/// use weir_access::endpoint::{Endpoint, Missed, find};
/// let found = find("GET", "/operator/v1/tenants/enterprise%3Aalpha").unwrap();
/// assert_eq!(found.route.endpoint, Endpoint::TenantRead);
/// assert_eq!(found.name().unwrap(), "enterprise:alpha");
/// for (path, name) in [("=.", "."), ("=..", ".."), ("%3D.", "=."), ("=a", "=a")] {
///     let path = format!("/operator/v1/tenants/{path}");
///     assert_eq!(find("GET", &path).unwrap().name().unwrap(), name);
/// }
/// let allow = "GET, PATCH, DELETE".to_owned();
/// assert_eq!(find("PUT", "/operator/v1/tenants/a"), Err(Missed::Method { allow }));
/// assert_eq!(find("GET", "/operator/v1/tenants/"), Err(Missed::Path));
/// ```
pub fn find<'a>(method: &str, path: &'a str) -> Result<Matched<'a>, Missed> {
    let (method, path) = match carried(path) {
        Some(_) => (Method::Post.name(), AUTHORIZE),
        None => (method, path),
    };
    let mut allow: Vec<&str> = Vec::new();
    for route in ROUTES {
        let Some(raw) = matches(route.path, path) else {
            continue;
        };
        if route.method.name() == method {
            return Ok(Matched { route, raw });
        }
        allow.push(route.method.name());
    }
    if allow.is_empty() {
        return Err(Missed::Path);
    }
    let allow = allow.join(", ");
    Err(Missed::Method { allow })
}

impl Matched<'_> {
    /// The name in the path, decoded: 1 to 128 bytes, no control characters; or a decision id. Empty for a route without one.
    ///
    /// # Errors
    /// What is wrong with it, at the name of the parameter.
    pub fn name(&self) -> Result<String, Invalid> {
        let (Some(raw), Some(parameter)) = (self.raw, self.route.parameter()) else {
            return Ok(String::new());
        };
        let at = |fault| Invalid::new(format!("/{parameter}"), fault);
        let name = segment(raw).map_err(at)?;
        match parameter {
            "decision" => DecisionId::try_from(name.as_str()).map(|_| ()),
            _ => tenant_name(&name),
        }
        .map_err(at)?;
        Ok(name)
    }
}

fn braced(segment: &str) -> Option<&str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

/// Whether the path is of the pattern: `Some` with what stands for the braces, if there are any.
fn matches<'a>(pattern: &str, path: &'a str) -> Option<Option<&'a str>> {
    let mut raw = None;
    let mut given = path.split('/');
    for due in pattern.split('/') {
        let segment = given.next()?;
        if braced(due).is_some() {
            if segment.is_empty() {
                return None;
            }
            raw = Some(segment);
        } else if due != segment {
            return None;
        }
    }
    given.next().is_none().then_some(raw)
}

/// One segment without its percent-encoding. `.` and `..`, encoded or not, are no names in a path: every reader of URLs
/// takes them for steps. They are written with a bare `=` before them, which in a name would be `%3D`.
fn segment(raw: &str) -> Result<String, Fault> {
    if let "=." | "=.." = raw {
        return Ok(raw.trim_start_matches('=').to_owned());
    }
    decoded(raw).map_err(|miswritten| {
        let message = match miswritten {
            Miswritten::Digits => "has a % without two hexadecimal digits",
            Miswritten::Utf8 => "is not UTF-8",
        };
        Fault::Form {
            message: message.to_owned(),
        }
    })
}
