//! What the words of the console mean.

#[cfg(target_arch = "wasm32")]
pub mod view;
