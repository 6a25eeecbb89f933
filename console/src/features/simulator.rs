//! What another policy would have done.

pub mod model;
#[cfg(target_arch = "wasm32")]
pub mod view;
