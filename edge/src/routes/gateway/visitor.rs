//! Whose a request is, as the route says: what the rules find in it, with the signature verified where it is a token.

use std::net::IpAddr;

use weir_shared::access::jwt::{Assertion, Expected};
use weir_shared::gateway::facts::Facts;
use weir_shared::gateway::problem::Refusal;
use weir_shared::gateway::tenant::{Tenant, find, of_claim, settled};
use weir_shared::policy::Policy;
use weir_shared::policy::route::{Jwt, Route};

use super::Refused;
use crate::auth::provider::is_signed;
use crate::isolate::now;
use crate::isolate::request::RequestHandles;

/// The tenant of a request; `None` for one that the route lets through without.
///
/// # Errors
/// 401 where the route needs a tenant and the request has none, 400 for a name that is none, 503 while the keys of a
/// token's issuer cannot be had.
pub async fn tenant(
    handles: &RequestHandles,
    policy: &Policy,
    route: &Route,
    facts: &Facts<'_>,
    address: Option<IpAddr>,
) -> Result<Option<String>, Refused> {
    let Some(source) = &route.tenant else {
        return Ok(None);
    };
    let found = match find(source, policy, facts, address) {
        Tenant::Jwt { source: jwt, token } => {
            let claim = verified(handles, jwt, &token).await?;
            of_claim(source, claim.as_deref())
        }
        found => found,
    };
    settled(route, found).map_err(|refusal: Refusal| Refused::of(refusal))
}

/// What a token claims; `None` for one that does not hold.
async fn verified(
    handles: &RequestHandles,
    jwt: &Jwt,
    token: &str,
) -> Result<Option<String>, Refused> {
    let expected = Expected {
        issuer: &jwt.issuer,
        audience: &jwt.audience,
    };
    let Some(assertion) = Assertion::read(token) else {
        return Ok(None);
    };
    // What is not meant for this route, or is over, is not worth a key.
    let Some(claim) = assertion.claim(&expected, &jwt.claim, now()) else {
        return Ok(None);
    };
    let signed = is_signed(handles, &jwt.jwks_url, &assertion).await?;
    Ok(signed.then_some(claim))
}
