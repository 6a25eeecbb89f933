//! What the page of the regions shows: what is wrong, and where the units of each budget are.

pub mod place;
pub mod query;
pub mod trouble;
