//! The operator console. What is shown is worked out by plain modules, which compile and are tested anywhere;
//! the components, which exist in a browser only, put it on the page.

pub mod access;
pub mod activity;
pub mod address;
pub mod announce;
pub mod api;
pub mod budget;
pub mod chart;
pub mod decisions;
pub mod difference;
pub mod format;
pub mod health;
pub mod instant;
pub mod json;
pub mod live;
pub mod loaded;
pub mod overview;
pub mod policy;
pub mod preferences;
pub mod preview_rows;
pub mod reason;
pub mod rebase;
pub mod regions;
pub mod session;
pub mod shortcut;
pub mod tenant;
pub mod tenant_name;
pub mod tenants;
pub mod time_range;
pub mod toast;
pub mod visible;

#[cfg(target_arch = "wasm32")]
pub mod app;
#[cfg(target_arch = "wasm32")]
pub mod clock;
#[cfg(target_arch = "wasm32")]
pub mod components;
#[cfg(target_arch = "wasm32")]
pub mod fetched;
#[cfg(target_arch = "wasm32")]
pub mod live_hub;
#[cfg(target_arch = "wasm32")]
pub mod pages;
#[cfg(target_arch = "wasm32")]
pub mod query_address;
