//! What travels: plain serde types, one file a surface. Nothing here decides anything; domain types are built
//! from these by `TryFrom`, so that the browser and the edge refuse the same input with the same error.

pub mod accounting;
pub mod amount;
pub mod batch;
pub mod check;
pub mod count;
pub mod decimal;
pub mod exchange;
pub mod keys;
pub mod lease_sizes;
pub mod operator;
pub mod policy;
pub mod problem;
pub mod region;
pub mod region_pool;
pub mod reserve;
pub mod settle;
pub mod settlement;
pub mod stored;
pub mod unique_map;
