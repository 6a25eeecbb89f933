//! What went through over time, and what rules in shadow mode would have denied.

pub mod flow;
pub mod query;
pub mod shadow;
