//! Tokens, roles and sessions.

pub mod model;
#[cfg(target_arch = "wasm32")]
pub mod view;
