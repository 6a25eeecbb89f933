//! HTTP: bounded bodies, problem answers, rate-limit headers.

pub mod body;
pub mod failure;
pub mod ratelimit;
pub mod reply;
