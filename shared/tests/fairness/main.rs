//! What fair sharing promises, over drawn tenants, weights and requests.

#![cfg(not(target_arch = "wasm32"))]

mod complexity;
mod local;
mod max_min;
mod names;
mod promises;
mod scan;
mod tree;
mod world;
