//! The parts of the overview.

pub mod costs;
pub mod denials;
pub mod flow;
pub mod health;
pub mod page;
pub mod rate_tiles;
pub mod verdict;
