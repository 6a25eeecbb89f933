//! Who an identity provider says it is: Cloudflare Access, which stands before the Worker and adds an assertion to each
//! request. Off unless the deployment names its team's domain and the application's audience tag.

use weir_shared::access::grant::Principal;
use weir_shared::access::jwt::{Assertion, Expected};
use weir_shared::units::EpochMs;
use weir_shared::wire::role::Role;
use worker::{Env, Request, console_error};

use super::{certs, signature};
use crate::http::failure::Failure;
use crate::isolate::now;
use crate::isolate::request::RequestHandles;

const ASSERTION_HEADER: &str = "cf-access-jwt-assertion";

/// Where Cloudflare Access publishes its keys.
const KEYS_PATH: &str = "/cdn-cgi/access/certs";

/// The variable that names the team's domain, such as `example.cloudflareaccess.com`.
const TEAM_DOMAIN: &str = "WEIR_ACCESS_TEAM_DOMAIN";
/// The variable that names the application: its audience tag.
const AUDIENCE: &str = "WEIR_ACCESS_AUD";
/// The variable that says what whoever the provider lets through may do; a viewer unless it says more.
const ROLE: &str = "WEIR_ACCESS_ROLE";

struct Provider {
    issuer: String,
    audience: String,
    role: Role,
}

impl Provider {
    fn from_env(env: &Env) -> Option<Self> {
        let variable = |name: &str| {
            let value = env.var(name).ok()?.to_string();
            (!value.is_empty()).then_some(value)
        };
        let domain = variable(TEAM_DOMAIN)?;
        let domain = domain.trim_end_matches('/');
        let issuer = if domain.contains("://") {
            domain.to_owned()
        } else {
            format!("https://{domain}")
        };
        let role = match variable(ROLE) {
            None => Role::Viewer,
            Some(name) => match Role::named(&name).filter(|role| role.operates()) {
                Some(role) => role,
                None => {
                    console_error!("{ROLE} is not viewer, editor or admin: taken as viewer");
                    Role::Viewer
                }
            },
        };
        Some(Self {
            issuer,
            audience: variable(AUDIENCE)?,
            role,
        })
    }
}

/// Who the provider says makes the request, and until when; `None` without a provider, or without an assertion that
/// holds.
///
/// # Errors
/// 503 while the provider's keys cannot be had.
pub async fn identity(
    request: &Request,
    handles: &RequestHandles,
) -> Result<Option<(Principal, EpochMs)>, Failure> {
    let Some(provider) = Provider::from_env(&handles.env) else {
        return Ok(None);
    };
    let header = request.headers().get(ASSERTION_HEADER)?;
    let Some(assertion) = header.and_then(|text| Assertion::read(&text)) else {
        return Ok(None);
    };
    let expected = Expected {
        issuer: &provider.issuer,
        audience: &provider.audience,
    };
    // What is not meant for this deployment, or is over, is not worth a key.
    let Some(identity) = assertion.identity(&expected, now()) else {
        return Ok(None);
    };
    let url = format!("{}{KEYS_PATH}", provider.issuer);
    if !is_signed(handles, &url, &assertion).await? {
        return Ok(None);
    }
    let principal = Principal::new(&identity.actor, provider.role);
    Ok(Some((principal, identity.expires_at)))
}

/// Whether an assertion is signed with the key that it names, of the key set at `url`.
///
/// # Errors
/// 503 while the keys cannot be had.
pub async fn is_signed(
    handles: &RequestHandles,
    url: &str,
    assertion: &Assertion,
) -> Result<bool, Failure> {
    match certs::key(handles, url, &assertion.key_id).await? {
        Some(key) if key.verifies(assertion.algorithm) => signature::holds(&key, assertion).await,
        _ => Ok(false),
    }
}
