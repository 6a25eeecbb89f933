//! The parts of a budget's page.

pub mod facts;
pub mod history;
pub mod holdings;
pub mod page;
pub mod portions;
pub mod water_fill;
pub mod window;
