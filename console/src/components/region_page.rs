//! The parts of the page of the regions.

pub mod health_table;
pub mod holders;
pub mod one;
pub mod place;
pub mod view;
