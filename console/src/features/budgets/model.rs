//! How full budgets are.

pub mod utilization;
