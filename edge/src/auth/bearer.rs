//! Whose a bearer token is.
//!
//! Garbage is told from tokens by its MAC alone: it costs no call of any object once the isolate knows the deployment's
//! tokens.

use std::rc::Rc;

use weir_shared::access::endpoint::{Endpoint, Route};
use weir_shared::access::login::Attempt;
use weir_shared::access::table::AccessTable;
use weir_shared::access::token::{Refusal, is_token};
use weir_shared::limits::{OPERATOR_CALL_MS_MAX, TOKEN_BYTES_MAX};
use weir_shared::wire::access::BOOTSTRAP;
use worker::Request;

use super::bootstrap::{self, BootstrapToken};
use super::client_address::address_of;
use super::login::refused;
use crate::http::failure::Failure;
use crate::isolate::access::{access, access_with, used};
use crate::isolate::bearer::{Bearer, nobody_knows};
use crate::isolate::place::{ClientLocation, home};
use crate::isolate::request::RequestHandles;
use crate::isolate::{any_access, guesses, now, remember, verified, was_verified};
use crate::objects::binding::{Address, call};
use crate::objects::calls::ReadPolicy;
use crate::objects::rearm::rearmed;

/// Where tokens are looked up: by the region that decides the request.
pub struct Tokens<'a> {
    /// Where the request came from.
    pub location: &'a ClientLocation,
    /// Its handles.
    pub handles: &'a RequestHandles,
    /// What it asks for.
    pub route: &'static Route,
    /// The request, where there is one to look at: it says the address that it comes from.
    pub request: Option<&'a Request>,
}

/// What a text is, before anything is compared that could be guessed.
pub enum Claim {
    /// A token that is valid.
    Token(Rc<Bearer>),
    /// It begins as the bootstrap secret does; the rest may be anything.
    Bootstrap,
    /// A token that Weir made once, and that is not valid any more.
    Former,
    /// Nothing that Weir made.
    Nothing,
}

impl Claim {
    /// For whom it counts, by the address that it comes from.
    pub fn attempt<'c>(&'c self, address: Option<&'c str>) -> Attempt<'c> {
        match self {
            Self::Token(bearer) if bearer.id == BOOTSTRAP => Attempt::Bootstrap(address),
            Self::Token(bearer) => Attempt::Token(&bearer.id, bearer.principal.role),
            Self::Bootstrap => Attempt::Bootstrap(address),
            Self::Former | Self::Nothing => Attempt::Stranger(address),
        }
    }

    /// Whether it may be a guess.
    fn is_open(&self) -> bool {
        matches!(self, Self::Bootstrap | Self::Nothing)
    }
}

impl Tokens<'_> {
    /// Whose a token is. Who has tried many that are none waits, and so does whoever comes from the same address with the
    /// bootstrap secret; a token that Weir made is not looked up among guesses.
    ///
    /// # Errors
    /// 401 for garbage and for a token that was revoked, 429 for one guess too many, 503 while it cannot be known.
    pub async fn bearer(&self, text: &str) -> Result<Rc<Bearer>, Failure> {
        let claim = self.claim(text).await?;
        if !claim.is_open() {
            return self.prove(claim, text).await;
        }
        let address = self
            .request
            .and_then(|request| address_of(request, &self.handles.env));
        let attempt = claim.attempt(address.as_deref());
        if let Some(after_ms) = guesses(|guesses, now| guesses.shut_ms(attempt, now)) {
            let detail = refused(attempt);
            return Err(Failure::TooMany { detail, after_ms });
        }
        if matches!(claim, Claim::Bootstrap) && self.is_bootstrap(text) {
            return self.bootstrap(text).await;
        }
        guesses(|guesses, now| guesses.wrong(attempt, now));
        Err(Failure::Unauthorized)
    }

    /// What a text is. A token of this deployment that the isolate does not know is asked for once, as it may be new.
    ///
    /// # Errors
    /// 503 while it cannot be known.
    pub async fn claim(&self, text: &str) -> Result<Claim, Failure> {
        if text.len() > TOKEN_BYTES_MAX {
            return Ok(Claim::Nothing);
        }
        if was_verified(text) {
            let region = self.region().await?;
            let revision = self.table(&region).await?.map(|table| table.revision());
            let bearer = revision.and_then(|revision| verified(text, revision));
            if let Some(bearer) = bearer.filter(|bearer| !bearer.principal.has_expired(now())) {
                used(self.handles, &region, &bearer.id, now())?;
                return Ok(Claim::Token(bearer));
            }
        }
        let bootstrap = BootstrapToken::from_env(&self.handles.env);
        if bootstrap.is_some_and(|bootstrap| bootstrap.is_meant(text)) {
            return Ok(Claim::Bootstrap);
        }
        if is_garbage(text) {
            return Ok(Claim::Nothing);
        }
        self.look_up(text).await
    }

    async fn look_up(&self, text: &str) -> Result<Claim, Failure> {
        let region = self.region().await?;
        let table = self.table(&region).await?;
        let table = table.ok_or_else(nobody_knows)?;
        let opened = match table.open(text, now()) {
            Err(Refusal::Malformed | Refusal::Forged) => return Ok(Claim::Nothing),
            Err(Refusal::Unknown { id }) => {
                let later = access_with(self.handles, &region, &id).await?;
                later.as_ref().and_then(|table| bearer_of(table, text))
            }
            _ => bearer_of(&table, text),
        };
        let Some(bearer) = opened else {
            return Ok(Claim::Former);
        };
        used(self.handles, &region, &bearer.id, now())?;
        Ok(Claim::Token(bearer))
    }

    /// Whose a token is that was counted as its claim says.
    ///
    /// # Errors
    /// 401 for what is nobody's, 503 while it cannot be known.
    pub async fn prove(&self, claim: Claim, text: &str) -> Result<Rc<Bearer>, Failure> {
        match claim {
            Claim::Token(bearer) => Ok(bearer),
            Claim::Bootstrap if self.is_bootstrap(text) => self.bootstrap(text).await,
            _ => Err(Failure::Unauthorized),
        }
    }

    fn is_bootstrap(&self, text: &str) -> bool {
        let bootstrap = BootstrapToken::from_env(&self.handles.env);
        bootstrap.is_some_and(|bootstrap| bootstrap.is(text))
    }

    async fn bootstrap(&self, text: &str) -> Result<Rc<Bearer>, Failure> {
        let region = self.region().await?;
        if !self.bootstrap_open(&region).await? {
            return Err(Failure::Unauthorized);
        }
        used(self.handles, &region, BOOTSTRAP, now())?;
        let bearer = Bearer {
            id: BOOTSTRAP.to_owned(),
            principal: Rc::new(bootstrap::principal()),
        };
        Ok(match self.table(&region).await? {
            Some(table) => remember(text, bearer, table.revision()),
            None => Rc::new(bearer),
        })
    }

    /// Whether the bootstrap token is accepted: until there is another admin's. Where that is not known it is accepted to
    /// decide, as in a deployment that was never reached it is the only token there is.
    pub async fn bootstrap_open(&self, region: &str) -> Result<bool, Failure> {
        if rearmed(&self.handles.env) {
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
            Authorize, Check, CheckBatch, GuardAcquire, GuardRelease, GuardRenew, Report, Reserve,
            Settle,
        };
        matches!(
            self.route.endpoint,
            Check
                | CheckBatch
                | Reserve
                | Settle
                | Report
                | Authorize
                | GuardAcquire
                | GuardRenew
                | GuardRelease
        )
    }

    /// The region that knows the tokens. Operators are served in a deployment whose policy lost the isolate's region, too.
    pub async fn region(&self) -> Result<String, Failure> {
        match self.location.place(self.handles).await {
            Ok((region, _)) => Ok(region),
            Err(Failure::Invalid(_)) if self.route.takes_session() => home(),
            Err(failure) => Err(failure),
        }
    }

    /// The deployment's tokens. Operators are served while the region is out of reach, too: by the registry.
    pub async fn table(&self, region: &str) -> Result<Option<Rc<AccessTable>>, Failure> {
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

/// The token of an `Authorization` header.
#[must_use]
pub fn token_of(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Whether a text is no token of this deployment, as far as that can be told without asking anyone.
fn is_garbage(text: &str) -> bool {
    match any_access() {
        Some(table) => matches!(
            table.open(text, now()),
            Err(Refusal::Malformed | Refusal::Forged)
        ),
        None => !is_token(text),
    }
}

fn bearer_of(table: &AccessTable, text: &str) -> Option<Rc<Bearer>> {
    let (token, principal) = table.open(text, now()).ok()?;
    let bearer = Bearer {
        id: token.id().to_owned(),
        principal: Rc::new(principal.clone()),
    };
    Some(remember(text, bearer, table.revision()))
}
