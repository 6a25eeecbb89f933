//! HTTP: bounded bodies, addresses, problem answers, rate-limit headers.

pub mod answered;
pub mod body;
pub mod failure;
pub mod location;
pub mod ratelimit;
pub mod reply;
