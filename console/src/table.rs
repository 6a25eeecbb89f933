//! The table of tenants: which columns there are, what the operator asked for, and in which order the rows stand.

pub mod column;
pub mod order;
pub mod query;
