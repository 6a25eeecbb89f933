//! The ground that all of Weir's core stands on: numbers with units, names, bounds, JSON, time.

pub mod clock;
pub mod figures;
pub mod hex;
pub mod invalid;
pub mod json;
pub mod limits;
pub mod name;
pub mod name_hash;
pub mod ordered;
pub mod outlasting;
pub mod percent;
pub mod query;
pub mod trace;
pub mod units;
pub mod visible;
pub mod window;
