//! The command palette, over every page.

pub mod model;
#[cfg(target_arch = "wasm32")]
pub mod view;
