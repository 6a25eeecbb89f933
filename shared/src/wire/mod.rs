//! What travels: plain serde types, one file a surface. Nothing here decides anything; domain types are built
//! from these by `TryFrom`, so that the browser and the edge refuse the same input with the same error.

pub mod access;
pub mod accounting;
pub mod amount;
pub mod audit;
pub mod batch;
pub mod cells;
pub mod check;
pub mod count;
pub mod decimal;
pub mod effective;
pub mod exchange;
pub mod guard;
pub mod keys;
pub mod lease_sizes;
pub mod metering;
pub mod operator;
pub mod overrides;
pub mod policy;
pub mod preview;
pub mod problem;
pub mod region;
pub mod region_pool;
pub mod reserve;
pub mod series;
pub mod settle;
pub mod settlement;
pub mod stored;
pub mod stored_access;
pub mod tenant;
pub mod unique_map;
pub mod usage;
pub mod windows;
