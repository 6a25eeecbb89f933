//! HTTP: bounded bodies, addresses, problem answers, files, rate-limit headers.

pub mod answered;
pub mod body;
pub mod failure;
pub mod file;
pub mod held;
pub mod location;
pub mod ratelimit;
pub mod reply;
pub mod websocket;
