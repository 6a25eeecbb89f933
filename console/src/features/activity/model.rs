//! The audit log: what of it is looked at, what a record says, and how a change is taken back.

pub mod actions;
pub mod noise;
pub mod query;
pub mod revert;
pub mod verdict;
