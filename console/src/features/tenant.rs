//! One tenant.

pub mod model;
#[cfg(target_arch = "wasm32")]
pub mod view;
