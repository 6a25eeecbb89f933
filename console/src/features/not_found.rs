//! An address without a page.

#[cfg(target_arch = "wasm32")]
pub mod view;
