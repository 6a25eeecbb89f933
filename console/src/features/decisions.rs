//! Decisions as they happen.

pub mod model;
#[cfg(target_arch = "wasm32")]
pub mod view;
