//! Whose a request is.

use std::net::IpAddr;

use weir_core::invalid::{Fault, Invalid};
use weir_core::name::tenant_name;
use weir_policy::Policy;
use weir_policy::route::{AbsentTenant, HeaderName, Jwt, Route, TenantFrom, TenantSource};

use super::address;
use super::facts::Facts;
use super::problem::Refusal;

/// What a request says of its tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tenant<'a> {
    /// Its name.
    Found(String),
    /// Nothing.
    Absent,
    /// Something that is no tenant's name.
    Malformed(Invalid),
    /// A token that is still to be verified; its claim then goes to [`of_claim`].
    Jwt {
        /// What makes it valid.
        source: &'a Jwt,
        /// The token.
        token: String,
    },
}

/// Whose a request is, as far as that can be told without asking anyone. `client` is [`address::client`].
#[must_use]
pub fn find<'a>(
    source: &'a TenantSource,
    policy: &Policy,
    facts: &Facts<'_>,
    client: Option<IpAddr>,
) -> Tenant<'a> {
    match &source.from {
        TenantFrom::Header(name) => header(source, name, facts),
        TenantFrom::ApiKey(name) => {
            let tenant = credential(name, facts).and_then(|key| {
                let tenant = policy.api_keys.tenant(&key)?;
                Some(tenant.to_owned())
            });
            named(source, tenant, "/tenant")
        }
        TenantFrom::Jwt(jwt) => match credential(&jwt.header, facts) {
            Some(token) => Tenant::Jwt { source: jwt, token },
            None => Tenant::Absent,
        },
        TenantFrom::ClientAddress => named(source, client.map(address::name), "/tenant"),
        TenantFrom::Country => {
            let country = facts.country.map(str::to_ascii_uppercase);
            named(
                source,
                country.filter(|country| !country.is_empty()),
                "/tenant",
            )
        }
        TenantFrom::Asn => named(source, facts.asn.map(|asn| asn.to_string()), "/tenant"),
        TenantFrom::Fixed(name) => named(source, Some(name.clone()), "/tenant"),
    }
}

/// Whose a request is by the claim of its token; `None` for a token that is not valid or has no such claim.
#[must_use]
pub fn of_claim<'a>(source: &TenantSource, claim: Option<&str>) -> Tenant<'a> {
    let claim = claim.map(str::to_owned);
    named(source, claim.filter(|claim| !claim.is_empty()), "/tenant")
}

/// The tenant that a request is decided for; `None` on a route that looks for none.
///
/// # Errors
/// 401 when none is found and the route refuses that, 400 for what is no tenant's name.
pub fn settled(route: &Route, tenant: Tenant<'_>) -> Result<Option<String>, Refusal> {
    if route.tenant.is_none() {
        return Ok(None);
    }
    match (tenant, &route.absent_tenant) {
        (Tenant::Found(name), _) => Ok(Some(name)),
        (Tenant::Malformed(invalid), _) => Err(Refusal::invalid(&invalid)),
        // A token that nobody has verified says nothing.
        (Tenant::Absent | Tenant::Jwt { .. }, AbsentTenant::As(name)) => Ok(Some(name.clone())),
        (Tenant::Absent | Tenant::Jwt { .. }, AbsentTenant::Refuse) => Err(Refusal::no_tenant()),
    }
}

/// Whether a credential says that a request on the route is the tenant's, and not the client alone, or nobody.
#[must_use]
pub fn is_vouched(route: &Route, tenant: Option<&str>) -> bool {
    let source = route.tenant.as_ref().map(|source| &source.from);
    let credential = matches!(source, Some(TenantFrom::ApiKey(_) | TenantFrom::Jwt(_)));
    let absent = match &route.absent_tenant {
        AbsentTenant::As(name) => Some(name.as_str()),
        AbsentTenant::Refuse => None,
    };
    credential && tenant.is_some() && tenant != absent
}

/// The name with what is put before it. `at`: where it was found.
fn named<'a>(source: &TenantSource, found: Option<String>, at: &str) -> Tenant<'a> {
    let Some(found) = found else {
        return Tenant::Absent;
    };
    let name = format!("{}{found}", source.prefix);
    match tenant_name(&name) {
        Ok(()) => Tenant::Found(name),
        Err(fault) => Tenant::Malformed(Invalid::new(at, fault)),
    }
}

/// A name that a header says. One with a comma is refused: it may as well be two fields, of which a client added one.
fn header<'a>(source: &TenantSource, name: &HeaderName, facts: &Facts<'_>) -> Tenant<'a> {
    let at = format!("/headers/{}", name.as_str());
    let value = facts.value(name.as_str());
    if value.as_ref().is_some_and(|value| value.contains(',')) {
        let allowed = "those of one tenant's name, without a comma";
        let fault = Fault::Character { got: ',', allowed };
        return Tenant::Malformed(Invalid::new(at, fault));
    }
    named(source, value, &at)
}

/// What a header carries as a credential: in `authorization` what follows `Bearer` (RFC 6750, section 2.1).
fn credential(name: &HeaderName, facts: &Facts<'_>) -> Option<String> {
    let value = facts.value(name.as_str())?;
    if name.as_str() != "authorization" {
        return Some(value);
    }
    let (scheme, credential) = value.split_once(' ')?;
    let credential = credential.trim_start_matches(' ');
    let bearer = scheme.eq_ignore_ascii_case("bearer") && !credential.is_empty();
    bearer.then(|| credential.to_owned())
}
