//! The page of one decision.

pub mod explained;
pub mod page;
