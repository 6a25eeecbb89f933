//! The operator API as the console sees it: one method an endpoint, one error type.

pub mod ask;
pub mod error;
pub mod tagged;

#[cfg(target_arch = "wasm32")]
mod client;
#[cfg(target_arch = "wasm32")]
pub use client::{Client, DEADLINE_MS, SLOW_DEADLINE_MS, refusals};
