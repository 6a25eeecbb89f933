//! The page of one region.

pub mod one;
pub mod page;
