//! The gateway: what a policy may say of it, which requests its routes take, whose they are, what they are charged, and
//! what of them is forwarded.

mod addresses;
mod answers;
mod costs;
mod described;
mod document;
mod fallback;
mod headers;
mod models;
mod operators;
mod origin_headers;
mod paths;
mod provider_limits;
mod refused;
mod refused_forms;
mod round_trip;
mod routing;
mod slots;
mod tenants;
mod usage;
mod waiters;
mod websocket;
