//! Where a route finds the tenant's name.

use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::NAME_BYTES_MAX;
use weir_core::name::tenant_name;
use weir_wire::route::{AbsentTenantBody, JwtBody, RouteBody, TenantSourceBody};

use super::header::HeaderName;
use super::origin::OriginUrl;
use super::{required, text};
use crate::Policy;

/// Where a tenant's name is found, and what is put before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantSource {
    /// Where.
    pub from: TenantFrom,
    /// What is put before the name: empty for nothing.
    pub prefix: String,
}

/// Where a tenant's name is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TenantFrom {
    /// The value of a request header.
    Header(HeaderName),
    /// The tenant of the API key in a request header.
    ApiKey(HeaderName),
    /// A claim of a signed token.
    Jwt(Jwt),
    /// The address that the request comes from.
    ClientAddress,
    /// The country that it comes from.
    Country,
    /// The number of the network that it comes from.
    Asn,
    /// One tenant for all.
    Fixed(String),
}

/// A signed token (RFC 7519), and what makes it valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jwt {
    /// The request header that carries it, after `Bearer ` in `authorization`.
    pub header: HeaderName,
    /// The claim that names the tenant.
    pub claim: String,
    /// Who must have issued it.
    pub issuer: String,
    /// For whom it must be meant.
    pub audience: String,
    /// Where the issuer's keys are, over a channel that nobody can change.
    pub jwks_url: String,
}

/// What becomes of a request in which no tenant is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AbsentTenant {
    /// It is answered 401.
    Refuse,
    /// It counts as this tenant's.
    As(String),
}

impl TenantSource {
    pub(super) fn read(body: &TenantSourceBody, policy: &Policy) -> Result<Self, Invalid> {
        let prefix = body.prefix.clone().unwrap_or_default();
        if body.prefix.is_some() {
            // One byte at least is left for the name.
            text(&prefix, NAME_BYTES_MAX - 1, |c| !c.is_control(), CONTROL)
                .map_err(|fault| Invalid::new("/prefix", fault))?;
        }
        let from = from(body, policy)?;
        if let TenantFrom::Fixed(name) = &from {
            tenant_name(&format!("{prefix}{name}"))
                .map_err(|fault| Invalid::new("/fixed", fault))?;
        }
        Ok(Self { from, prefix })
    }
}

const CONTROL: &str = "all but control characters";

/// The one source that is given.
fn from(body: &TenantSourceBody, policy: &Policy) -> Result<TenantFrom, Invalid> {
    let header = || {
        body.header
            .as_deref()
            .map(|name| named(name).map(TenantFrom::Header))
    };
    let api_key = || {
        body.api_key
            .as_ref()
            .map(|key| api_key(key.header.as_deref(), policy))
    };
    let jwt = || {
        let jwt = body.jwt.as_ref();
        jwt.map(|jwt| {
            Jwt::read(jwt)
                .map(TenantFrom::Jwt)
                .map_err(|refused| refused.under("/jwt"))
        })
    };
    let fixed = || {
        let fixed = body.fixed.as_ref();
        fixed.map(|name| {
            tenant_name(name).map_err(|fault| Invalid::new("/fixed", fault))?;
            Ok(TenantFrom::Fixed(name.clone()))
        })
    };
    let given = [
        ("header", header()),
        ("api_key", api_key()),
        ("jwt", jwt()),
        (
            "client_address",
            body.client_address.map(|_| Ok(TenantFrom::ClientAddress)),
        ),
        ("country", body.country.map(|_| Ok(TenantFrom::Country))),
        ("asn", body.asn.map(|_| Ok(TenantFrom::Asn))),
        ("fixed", fixed()),
    ];
    super::one_of(given, "/header")
}

fn named(name: &str) -> Result<HeaderName, Invalid> {
    HeaderName::read(name).map_err(|fault| Invalid::new("/header", fault))
}

fn api_key(header: Option<&str>, policy: &Policy) -> Result<TenantFrom, Invalid> {
    let at = "/api_key/header";
    let header = HeaderName::read(required(header, at)?);
    let header = header.map_err(|fault| Invalid::new(at, fault))?;
    if policy.api_keys.is_empty() {
        // Every request would be without a tenant.
        let name = "api_keys".to_owned();
        let what = "list of this policy with a key";
        return Err(Invalid::new("/api_key", Fault::Unknown { name, what }));
    }
    Ok(TenantFrom::ApiKey(header))
}

impl Jwt {
    fn read(body: &JwtBody) -> Result<Self, Invalid> {
        let header = HeaderName::read(body.header.as_deref().unwrap_or("authorization"));
        let url = required(body.jwks_url.as_deref(), "/jwks_url")?;
        let jwks = OriginUrl::read(url).map_err(|fault| Invalid::new("/jwks_url", fault))?;
        if !jwks.is_private() {
            let got = "a key set over http".to_owned();
            let served = "https, and http on the same machine";
            return Err(Invalid::new("/jwks_url", Fault::Unserved { got, served }));
        }
        Ok(Self {
            header: header.map_err(|fault| Invalid::new("/header", fault))?,
            claim: word(Some(body.claim.as_deref().unwrap_or("sub")), "/claim")?,
            issuer: word(body.issuer.as_deref(), "/issuer")?,
            audience: word(body.audience.as_deref(), "/audience")?,
            jwks_url: url.to_owned(),
        })
    }
}

/// A word that a token carries: 1 to 256 bytes, no control characters.
fn word(word: Option<&str>, at: &str) -> Result<String, Invalid> {
    let word = required(word, at)?;
    text(
        word,
        weir_core::limits::PATTERN_BYTES_MAX,
        |c| !c.is_control(),
        CONTROL,
    )
    .map_err(|fault| Invalid::new(at, fault))?;
    Ok(word.to_owned())
}

/// What becomes of requests without a tenant.
pub(super) fn absent(body: &RouteBody) -> Result<AbsentTenant, Invalid> {
    let at = "/absent_tenant";
    match &body.absent_tenant {
        Some(_) if body.tenant.is_none() => {
            let to = "a route that looks for no tenant".to_owned();
            Err(Invalid::new(at, Fault::Foreign { to }))
        }
        None | Some(AbsentTenantBody::Refuse) => Ok(AbsentTenant::Refuse),
        Some(AbsentTenantBody::As(body)) => {
            let at = "/absent_tenant/as";
            let name = required(body.name.as_ref(), at)?;
            tenant_name(name).map_err(|fault| Invalid::new(at, fault))?;
            Ok(AbsentTenant::As(name.clone()))
        }
    }
}
