//! The parts of the overview.

pub mod costs;
pub mod denials;
pub mod health;
pub mod rate_tiles;
