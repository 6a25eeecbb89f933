//! How the deployment stands: who is denied and why, in plain words, and what went through over time.

pub mod flow;
pub mod query;
pub mod shadow;
pub mod verdict;
