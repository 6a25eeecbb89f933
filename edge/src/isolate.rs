//! An isolate: what it remembers, and how a request is decided by that.
//!
//! A request that waits never waits for another request's future: it sleeps on its own timer and looks again.

pub mod access;
pub mod admit;
pub mod answer;
pub mod bearer;
pub mod budget_plans;
pub mod budget_question;
pub mod client;
pub mod contact;
mod kept;
pub mod key;
pub mod lease;
pub mod loaded;
pub mod local;
pub mod local_budget;
pub mod look;
mod memory;
mod metering;
pub mod overload;
mod overload_check;
pub mod parts;
pub mod patience;
pub mod place;
pub mod plan;
pub mod prepared;
pub mod question;
mod random;
pub mod region;
pub mod request;
mod resources;
pub mod sealed;
pub mod settle;
pub mod shape;
pub mod shard;
pub mod slot;
mod spare;
mod tokens;
pub mod turn;

pub use memory::{
    adopt_everywhere, any_access, any_policy, at_one_instant, guesses, is_known, known, now,
    regions, remember, seats, turnstiles, verified, was_verified, with,
};
