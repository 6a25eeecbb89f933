//! The operator console. What is shown is worked out by plain modules, which compile and are tested anywhere;
//! the components, which exist in a browser only, put it on the page.

pub mod announce;
pub mod api;
pub mod format;
pub mod live;
pub mod overview;
pub mod rates;
pub mod session;
pub mod table;
pub mod tenant_name;

#[cfg(target_arch = "wasm32")]
pub mod app;
#[cfg(target_arch = "wasm32")]
pub mod clock;
#[cfg(target_arch = "wasm32")]
pub mod components;
#[cfg(target_arch = "wasm32")]
pub mod feed;
#[cfg(target_arch = "wasm32")]
pub mod pages;
