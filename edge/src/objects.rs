//! The Durable Objects: each loads its state, calls a machine of `weir_shared`, persists, and replies.

mod alarm;
pub mod binding;
pub mod calls;
pub mod coordinator;
pub mod deadline;
mod hubs;
mod keys;
pub mod ledger;
mod pool_rows;
pub mod rearm;
pub mod region;
pub mod registry;
pub mod server;
pub mod storage;
pub mod telemetry;
pub mod trace;
pub mod usage;
