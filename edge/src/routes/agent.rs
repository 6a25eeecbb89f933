//! `POST /v1/agent/contact`: units of budgets for a program that decides beside a proxy.

use weir_shared::agent::Speaker;
use weir_shared::invalid::{Fault, Invalid};
use weir_shared::limits::{AGENT_CONTACT_BYTES_MAX, CALL_MS_MAX};
use weir_shared::wire::agent::AgentContactBody;
use worker::{Request, Response, console_error};

use crate::auth::caller::Caller;
use crate::http::failure::Failure;
use crate::http::{body, reply};
use crate::isolate::contact::policy;
use crate::isolate::loaded::Loaded;
use crate::isolate::now;
use crate::isolate::place::place;
use crate::isolate::request::RequestHandles;
use crate::objects::binding::{Address, call};

/// Hands a contact on to the region, as far as an agent may say it.
///
/// # Errors
/// 400, 413 or 415, with the field at fault; 503 while the region is out of reach.
pub async fn contact(
    request: &mut Request,
    handles: &RequestHandles,
    caller: &Caller,
) -> Result<Response, Failure> {
    let told: AgentContactBody = body::json(request, AGENT_CONTACT_BYTES_MAX).await?;
    let (region, loaded) = region_of(request, handles, told.region.as_deref()).await?;
    let speaker = Speaker {
        // Only a token has the role.
        token: caller.principal.token.as_deref().unwrap_or_default(),
        region: &region,
        policy: &loaded.policy,
        revision: loaded.revision,
        now: now(),
    };
    let admitted = speaker.admit(told)?;
    let address = Address::region(&region);
    let answered = call(&handles.env, address, &admitted.contact, CALL_MS_MAX).await;
    let answered = answered.map_err(|error| {
        console_error!("region {region}: {error}");
        Failure::Unavailable {
            what: "the region".to_owned(),
        }
    })?;
    reply::json(200, &admitted.answer(answered)?)
}

/// The region that the agent names, if the policy has it; else the nearest. No object is called by a name that the policy
/// does not have.
async fn region_of(
    request: &Request,
    handles: &RequestHandles,
    named: Option<&str>,
) -> Result<(String, Loaded), Failure> {
    let (nearest, loaded) = place(request, handles).await?;
    match named {
        None => Ok((nearest, loaded)),
        Some(named) if loaded.policy.regions.iter().any(|region| region == named) => {
            let loaded = policy(handles, named).await?;
            Ok((named.to_owned(), loaded))
        }
        Some(named) => {
            let fault = Fault::Unknown {
                name: named.to_owned(),
                what: "region of the policy",
            };
            Err(Invalid::new("/region", fault).into())
        }
    }
}
