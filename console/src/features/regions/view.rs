//! The parts of the page of the regions.

pub mod health_table;
pub mod holders;
pub mod list;
pub mod page;
pub mod place;
