//! One denial, by its id.

#[cfg(target_arch = "wasm32")]
pub mod view;
