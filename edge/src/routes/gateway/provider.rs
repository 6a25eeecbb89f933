//! What a provider tells of its own limits, for the overload resource that follows them.

use weir_shared::gateway::provider_limits::ProviderLimits;
use weir_shared::gateway::usage::reader::UsageReader;
use weir_shared::policy::route::OriginLimits;
use worker::console_error;

use super::ticket::Desk;
use crate::isolate::now;
use crate::isolate::overload::{told, took};

/// Hears what the head of an answer tells.
pub fn hear_head(desk: &Desk, limits: &OriginLimits, response: &web_sys::Response) {
    let headers = response.headers();
    let header = |name: &str| headers.get(name).ok().flatten();
    let read = ProviderLimits::read(limits.format, response.status(), &header, now());
    if let Err(failure) = told(&desk.region, &desk.loaded, &limits.overload, &read) {
        console_error!("limits: {failure:?}");
    }
}

/// Hears what an answer that has ended tells of what its request took.
pub fn hear_usage(desk: &Desk, limits: &OriginLimits, answer: &UsageReader) {
    let tokens = answer.tokens(0).filter(|_| answer.tells());
    if let Some(tokens) = tokens
        && let Err(failure) = took(&desk.region, &limits.overload, &tokens)
    {
        console_error!("limits: {failure:?}");
    }
}
