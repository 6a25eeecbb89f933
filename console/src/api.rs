//! The operator API as the console sees it: one method an endpoint, one error type.

pub mod error;

#[cfg(target_arch = "wasm32")]
mod client;
#[cfg(target_arch = "wasm32")]
pub use client::{Client, DEADLINE_MS};
