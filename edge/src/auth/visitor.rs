//! Who makes a request: by a bearer token, a session's cookie, or an identity provider's assertion, in this order.

use std::rc::Rc;

use weir_shared::access::endpoint::{Method, Route};
use weir_shared::access::grant::Principal;
use weir_shared::access::session::{Judged, Session};
use weir_shared::access::table::AccessTable;
use weir_shared::wire::access::BOOTSTRAP;
use weir_shared::wire::operator::SessionReply;
use worker::Request;

use super::bearer::{Claim, Tokens, token_of};
use super::bootstrap::{self, BootstrapToken};
use super::{provider, session};
use crate::http::failure::Failure;
use crate::isolate::access::{access_sealed, access_with};
use crate::isolate::bearer::{Bearer, nobody_knows};
use crate::isolate::place::ClientLocation;
use crate::isolate::request::RequestHandles;
use crate::isolate::{any_access, now};

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
    pub principal: Rc<Principal>,
    /// Whether a browser proves it by itself, whatever page asks.
    pub ambient: bool,
    /// Until when, for a browser.
    pub session: Option<SessionReply>,
    /// The session, where Weir opened it.
    pub opened: Option<Session>,
    /// The version of the key that sealed the session; 0 without one.
    pub sealed_by: u64,
}

impl Visitor<'_> {
    /// Who makes the request.
    ///
    /// # Errors
    /// 401 for nobody, 403 for a change that a page of another site could have asked for, 503 while it cannot be known.
    pub async fn identify(&self) -> Result<Known, Failure> {
        if let Some(text) = bearer_text(self.request)? {
            return Ok(Known {
                principal: Rc::clone(&self.bearer(&text).await?.principal),
                ambient: false,
                session: None,
                opened: None,
                sealed_by: 0,
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

    /// Whose a token is.
    ///
    /// # Errors
    /// As [`Tokens::bearer`].
    async fn bearer(&self, text: &str) -> Result<Rc<Bearer>, Failure> {
        let location = ClientLocation::of(self.request, &self.handles.env)?;
        self.tokens(&location).bearer(text).await
    }

    fn tokens<'b>(&'b self, location: &'b ClientLocation) -> Tokens<'b> {
        Tokens {
            location,
            handles: self.handles,
            route: self.route,
            request: Some(self.request),
        }
    }

    /// What a token is, before anything is compared that could be guessed.
    ///
    /// # Errors
    /// As [`Tokens::claim`].
    pub async fn claim(&self, text: &str) -> Result<Claim, Failure> {
        let location = ClientLocation::of(self.request, &self.handles.env)?;
        self.tokens(&location).claim(text).await
    }

    /// Whose a token is that was counted as its claim says.
    ///
    /// # Errors
    /// As [`Tokens::prove`].
    pub async fn prove(&self, claim: Claim, text: &str) -> Result<Rc<Bearer>, Failure> {
        let location = ClientLocation::of(self.request, &self.handles.env)?;
        self.tokens(&location).prove(claim, text).await
    }

    /// The region that knows the tokens.
    ///
    /// # Errors
    /// As [`Tokens::region`].
    pub async fn region(&self) -> Result<String, Failure> {
        let location = ClientLocation::of(self.request, &self.handles.env)?;
        self.tokens(&location).region().await
    }

    /// The tokens and keys of the deployment, as the region knows them.
    ///
    /// # Errors
    /// 503 while they cannot be known.
    pub async fn table(&self, region: &str) -> Result<Rc<AccessTable>, Failure> {
        let location = ClientLocation::of(self.request, &self.handles.env)?;
        let table = self.tokens(&location).table(region).await?;
        table.ok_or_else(nobody_knows)
    }

    /// The session of the request, if its token is still valid and still operates the deployment.
    async fn session(&self) -> Result<Option<Known>, Failure> {
        let Some(text) = session::text(self.request)? else {
            return Ok(None);
        };
        // Nobody is asked about a cookie that none of the keys has sealed.
        let known = any_access().map(|table| table.session(&text, now()));
        if known == Some(Judged::Nothing) {
            return Ok(None);
        }
        let location = ClientLocation::of(self.request, &self.handles.env)?;
        let tokens = self.tokens(&location);
        let region = tokens.region().await?;
        let mut table = tokens.table(&region).await?.ok_or_else(nobody_knows)?;
        let mut judged = table.session(&text, now());
        if let Judged::Newer { version } = judged
            && let Some(later) = access_sealed(self.handles, &region, version).await?
        {
            judged = later.session(&text, now());
            table = later;
        }
        let Judged::Open(session) = judged else {
            return Ok(None);
        };
        let principal = if session.token == BOOTSTRAP {
            let bootstrap = BootstrapToken::from_env(&self.handles.env);
            let opened = bootstrap.is_some_and(|bootstrap| bootstrap.has_opened(&session.id));
            let open = opened && tokens.bootstrap_open(&region).await?;
            open.then(bootstrap::principal)
        } else {
            match table.principal(&session.token, now()) {
                Some(principal) => Some(principal.clone()),
                None => self.newer(&region, &session.token).await?,
            }
        };
        let principal = principal.filter(|principal| principal.role.operates());
        Ok(principal.map(|principal| Known {
            session: Some(SessionReply {
                role: principal.role,
                name: principal.actor.clone(),
                expires_at: session.expires_at.0,
            }),
            principal: Rc::new(principal),
            ambient: true,
            opened: Some(session),
            sealed_by: table.seals().newest(),
        }))
    }

    /// Whose a token is that is newer than the table, if it is one.
    async fn newer(&self, region: &str, id: &str) -> Result<Option<Principal>, Failure> {
        let later = access_with(self.handles, region, id).await?;
        Ok(later.and_then(|table| table.principal(id, now()).cloned()))
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
            principal: Rc::new(principal),
            ambient: true,
            opened: None,
            sealed_by: 0,
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
}

fn bearer_text(request: &Request) -> Result<Option<String>, Failure> {
    let header = request.headers().get("authorization")?;
    Ok(header.as_deref().and_then(token_of).map(str::to_owned))
}
