//! Weir's core: pure state machines, `(state, event, now) -> (state, effects)`.
//!
//! Nothing here reads a clock, a socket, storage or a random source. The same code runs in the Worker, in the
//! Durable Objects, in the browser and in the native tests.

pub mod access;
pub mod accounting;
pub mod agent;
pub mod algorithms;
pub mod audit;
pub mod check;
pub mod clock;
pub mod contact;
pub mod decision;
pub mod export;
pub mod fairness;
pub mod federation;
pub mod figures;
pub mod gateway;
pub mod hex;
pub mod invalid;
pub mod json;
pub mod limiting;
pub mod limits;
pub mod name;
mod name_hash;
pub mod node;
pub mod openapi;
pub mod ordered;
pub mod outlasting;
pub mod overload;
pub mod paging;
pub mod percent;
pub mod policy;
pub mod preview;
pub mod query;
pub mod replay;
pub mod report;
pub mod trace;
pub mod units;
pub mod visible;
pub mod window;
pub mod wire;
