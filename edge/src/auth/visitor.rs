//! Who makes a request: by a bearer token, a session's cookie, or an identity provider's assertion, in this order.
//!
//! Garbage is told from tokens by its MAC alone: it costs no call of any object once the isolate knows the deployment's
//! tokens.

use std::rc::Rc;

use weir_shared::access::endpoint::{Endpoint, Method, Route};
use weir_shared::access::grant::Principal;
use weir_shared::access::table::AccessTable;
use weir_shared::access::token::{Refusal, is_token};
use weir_shared::limits::{OPERATOR_CALL_MS_MAX, TOKEN_BYTES_MAX};
use weir_shared::wire::access::BOOTSTRAP;
use weir_shared::wire::operator::SessionReply;
use worker::Request;

use super::bootstrap::{self, BootstrapToken};
use super::secrets::Secrets;
use super::{provider, session};
use crate::http::failure::Failure;
use crate::isolate::access::{access, access_with, used};
use crate::isolate::request::RequestHandles;
use crate::isolate::{any_access, now};
use crate::objects::binding::{Address, call};
use crate::objects::calls::ReadPolicy;
use crate::routes::place::{home, place};

/// The header that a page of another site cannot send along with a cookie.
const CSRF_HEADER: &str = "weir-csrf";

/// A request whose maker is not known yet.
pub struct Visitor<'a> {
    /// The request.
    pub request: &'a Request,
    /// Its handles.
    pub handles: &'a RequestHandles,
    /// What it asks for.
    pub route: &'static Route,
}

/// Who makes a request.
pub struct Known {
    /// Who it is.
    pub principal: Principal,
    /// Whether a browser proves it by itself, whatever page asks.
    pub ambient: bool,
    /// Until when, for a browser.
    pub session: Option<SessionReply>,
}

/// A token that somebody brought, and whose it is.
pub struct Bearer {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub principal: Principal,
}

impl Visitor<'_> {
    /// Who makes the request.
    ///
    /// # Errors
    /// 401 for nobody, 403 for a change that a page of another site could have asked for, 503 while it cannot be known.
    pub async fn identify(&self) -> Result<Known, Failure> {
        if let Some(text) = bearer_text(self.request)? {
            return Ok(Known {
                principal: self.bearer(&text).await?.principal,
                ambient: false,
                session: None,
            });
        }
        if !self.route.takes_session() {
            return Err(Failure::Unauthorized);
        }
        let known = match self.session().await? {
            Some(known) => known,
            None => self.provided().await?.ok_or(Failure::Unauthorized)?,
        };
        self.same_site()?;
        Ok(known)
    }

    /// Whose a token is. A token of this deployment that the isolate does not know is asked for once, as it may be new.
    ///
    /// # Errors
    /// 401 for garbage and for a token that was revoked, 503 while it cannot be known.
    pub async fn bearer(&self, text: &str) -> Result<Bearer, Failure> {
        if text.len() > TOKEN_BYTES_MAX {
            return Err(Failure::Unauthorized);
        }
        let bootstrap = BootstrapToken::from_env(&self.handles.env);
        if bootstrap.is_some_and(|bootstrap| bootstrap.is(text)) {
            return self.bootstrap().await;
        }
        if is_garbage(text) {
            return Err(Failure::Unauthorized);
        }
        let region = self.region().await?;
        let table = self.table(&region).await?;
        let table = table.ok_or_else(nobody_knows)?;
        let opened = match table.open(text) {
            Err(Refusal::Unknown { id }) => {
                let later = access_with(self.handles, &region, &id).await?;
                later.as_ref().and_then(|table| bearer_of(table, text))
            }
            _ => bearer_of(&table, text),
        };
        let bearer = opened.ok_or(Failure::Unauthorized)?;
        used(self.handles, &region, &bearer.id, now())?;
        Ok(bearer)
    }

    async fn bootstrap(&self) -> Result<Bearer, Failure> {
        let region = self.region().await?;
        if !self.bootstrap_open(&region).await? {
            return Err(Failure::Unauthorized);
        }
        used(self.handles, &region, BOOTSTRAP, now())?;
        Ok(Bearer {
            id: BOOTSTRAP.to_owned(),
            principal: bootstrap::principal(),
        })
    }

    /// Whether the bootstrap token is accepted: until there is another admin's. Where that is not known it is accepted to
    /// decide, as in a deployment that was never reached it is the only token there is.
    async fn bootstrap_open(&self, region: &str) -> Result<bool, Failure> {
        if bootstrap::rearmed(&self.handles.env) {
            return Ok(true);
        }
        match self.table(region).await? {
            Some(table) => Ok(table.bootstrap()),
            None if self.decides() => Ok(true),
            None => Err(nobody_knows()),
        }
    }

    fn decides(&self) -> bool {
        use Endpoint::{
            Check, CheckBatch, GuardAcquire, GuardRelease, GuardRenew, Report, Reserve, Settle,
        };
        matches!(
            self.route.endpoint,
            Check
                | CheckBatch
                | Reserve
                | Settle
                | Report
                | GuardAcquire
                | GuardRenew
                | GuardRelease
        )
    }

    /// The session of the request, if its token is still valid and still operates the deployment.
    async fn session(&self) -> Result<Option<Known>, Failure> {
        if self.request.headers().get("cookie")?.is_none() {
            return Ok(None);
        }
        let read = || session::of(self.request, &Secrets::of(&self.handles.env), now());
        // Nobody is asked about a cookie that none of the secrets has signed.
        let known = any_access().is_some();
        if known && read()?.is_none() {
            return Ok(None);
        }
        let region = self.region().await?;
        let table = self.table(&region).await?;
        let Some(session) = read()? else {
            return Ok(None);
        };
        let principal = if session.id == BOOTSTRAP {
            let open = self.bootstrap_open(&region).await?;
            open.then(bootstrap::principal)
        } else {
            let table = table.ok_or_else(nobody_knows)?;
            match table.principal(&session.id) {
                Some(principal) => Some(principal.clone()),
                None => self.newer(&region, &session.id).await?,
            }
        };
        let principal = principal.filter(|principal| principal.role.operates());
        Ok(principal.map(|principal| Known {
            session: Some(SessionReply {
                role: principal.role,
                name: principal.actor.clone(),
                expires_at: session.expires_at.0,
            }),
            principal,
            ambient: true,
        }))
    }

    /// Whose a token is that is newer than the table, if it is one.
    async fn newer(&self, region: &str, id: &str) -> Result<Option<Principal>, Failure> {
        let later = access_with(self.handles, region, id).await?;
        Ok(later.and_then(|table| table.principal(id).cloned()))
    }

    /// Who an identity provider says it is.
    async fn provided(&self) -> Result<Option<Known>, Failure> {
        let provided = provider::identity(self.request, self.handles).await?;
        Ok(provided.map(|(principal, expires_at)| Known {
            session: Some(SessionReply {
                role: principal.role,
                name: principal.actor.clone(),
                expires_at: expires_at.0,
            }),
            principal,
            ambient: true,
        }))
    }

    /// What a browser proves by itself changes nothing without the header that another site's page cannot send.
    fn same_site(&self) -> Result<(), Failure> {
        let safe = matches!(self.route.method, Method::Get | Method::Head);
        if safe || self.request.headers().get(CSRF_HEADER)?.as_deref() == Some("1") {
            return Ok(());
        }
        Err(Failure::CrossSite {
            detail: "With a session cookie, send the header `weir-csrf: 1`.",
        })
    }

    /// The region that knows the tokens. Operators are served in a deployment whose policy lost the isolate's region, too.
    pub async fn region(&self) -> Result<String, Failure> {
        match place(self.request, self.handles).await {
            Ok((region, _)) => Ok(region),
            Err(Failure::Invalid(_)) if self.route.takes_session() => home(),
            Err(failure) => Err(failure),
        }
    }

    /// The deployment's tokens. Operators are served while the region is out of reach, too: by the registry.
    async fn table(&self, region: &str) -> Result<Option<Rc<AccessTable>>, Failure> {
        let known = access(self.handles, region).await?;
        if known.is_some() || self.decides() {
            return Ok(known);
        }
        let home = home()?;
        let ask = ReadPolicy::default();
        let address = Address::registry(&home);
        match call(&self.handles.env, address, &ask, OPERATOR_CALL_MS_MAX).await {
            Ok(rules) => {
                let saved = rules.access.as_ref();
                let table = saved.and_then(|saved| AccessTable::try_from(saved).ok());
                Ok(table.map(Rc::new))
            }
            Err(error) => Err(Failure::Unavailable {
                what: error.to_string(),
            }),
        }
    }
}

/// Whether a text is no token of this deployment, as far as that can be told without asking anyone.
fn is_garbage(text: &str) -> bool {
    match any_access() {
        Some(table) => matches!(table.open(text), Err(Refusal::Malformed | Refusal::Forged)),
        None => !is_token(text),
    }
}

fn bearer_of(table: &AccessTable, text: &str) -> Option<Bearer> {
    let (token, principal) = table.open(text).ok()?;
    Some(Bearer {
        id: token.id().to_owned(),
        principal: principal.clone(),
    })
}

fn nobody_knows() -> Failure {
    Failure::Unavailable {
        what: "the tokens of the deployment".to_owned(),
    }
}

fn bearer_text(request: &Request) -> Result<Option<String>, Failure> {
    let Some(value) = request.headers().get("authorization")? else {
        return Ok(None);
    };
    let Some((scheme, token)) = value.split_once(' ') else {
        return Ok(None);
    };
    Ok(scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim().to_owned()))
}
