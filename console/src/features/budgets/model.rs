//! How full budgets are, and how each is shared, in words.

pub mod utilization;
pub mod words;
