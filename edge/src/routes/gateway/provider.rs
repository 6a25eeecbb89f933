//! What a provider tells of its own limits, for the overload resource that follows them; and whether one that is not the first
//! of its route has room for a request.

use weir_shared::check::{Check, Item, Target};
use weir_shared::gateway::provider_limits::ProviderLimits;
use weir_shared::gateway::usage::reader::UsageReader;
use weir_shared::limiting::owner::Asking;
use weir_shared::policy::route::OriginLimits;
use worker::console_error;

use super::ticket::Desk;
use crate::http::answered::Answered;
use crate::isolate::answer::Asker;
use crate::isolate::now;
use crate::isolate::overload::{told, took};

/// Whether a request may go to an origin.
pub enum Room {
    /// It may.
    Left,
    /// Its tenant is above its share there, as this decision says.
    None(Box<Answered>),
}

/// Asks the resource that follows the limits of an origin for one request of a tenant, and counts the answer.
pub async fn room(desk: &Desk, route: &str, limits: &OriginLimits, tenant: &str) -> Room {
    let asker = Asker {
        handles: &desk.handles,
        region: &desk.region,
        loaded: &desk.loaded,
        asking: Asking::Route {
            name: route,
            from: None,
            vouched: false,
        },
        shadow: false,
        forwards: false,
    };
    let item = Item {
        target: Target::Overload(limits.overload.clone()),
        cost: 1,
        at: String::new(),
    };
    let check = Check {
        tenant: Some(tenant.to_owned()),
        items: vec![item],
        reserve: false,
    };
    match asker.admit(&check, &[], None).await {
        Ok(Some(admission)) if !admission.answered.body.allowed => {
            Room::None(Box::new(admission.answered))
        }
        Ok(_) => Room::Left,
        // What cannot be asked denies nobody.
        Err(failure) => {
            console_error!("limits: {failure:?}");
            Room::Left
        }
    }
}

/// Hears what the head of an answer tells.
pub fn record_head(desk: &Desk, limits: &OriginLimits, response: &web_sys::Response) {
    let headers = response.headers();
    let header = |name: &str| headers.get(name).ok().flatten();
    let read = ProviderLimits::read(limits.format, response.status(), &header, now());
    if let Err(failure) = told(&desk.region, &desk.loaded, &limits.overload, &read) {
        console_error!("limits: {failure:?}");
    }
}

/// Hears what an answer that has ended tells of what its request took.
pub fn record_usage(desk: &Desk, limits: &OriginLimits, answer: &UsageReader) {
    let tokens = answer.tokens(0).filter(|_| answer.tells());
    if let Some(tokens) = tokens
        && let Err(failure) = took(&desk.region, &limits.overload, &tokens)
    {
        console_error!("limits: {failure:?}");
    }
}
