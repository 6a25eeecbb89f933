//! What travels: plain serde types, one file a surface. Nothing here decides anything; domain types are built
//! from these by `TryFrom`, so that the browser and the edge refuse the same input with the same error.
//!
//! | who reads it | modules |
//! | --- | --- |
//! | callers and agents | [`agent`], [`batch`], [`check`], [`guard`], [`health`], [`problem`], [`report`], [`reserve`], [`settle`] |
//! | operators | [`audit`], [`effective`], [`operator`], [`overrides`], [`preview`], [`replay`] |
//! | whoever writes a policy | [`changes`], [`descriptor`], [`lease_sizes`], [`metering`], [`numbers`], [`overload`], [`policy`], [`route`], [`tenant`] |
//! | another object | [`accounting`], [`exchange`], [`holdings`], [`limit_terms`], [`registry`], [`series`], [`shares`], [`telemetry`], [`usage`] |
//! | the same object, from its rows | [`access`], [`cells`], [`saved_policy`], [`stored`], [`windows`] |
//! | all of these | [`amount`], [`by_name`], [`count`], [`decimal`], [`either`], [`role`], [`rule_kind`], [`shard_key`], [`token_usage`], [`unique_map`] |

pub mod access;
pub mod accounting;
pub mod agent;
pub mod amount;
pub mod audit;
pub mod batch;
pub mod by_name;
pub mod cells;
pub mod changes;
pub mod check;
pub mod count;
pub mod decimal;
pub mod descriptor;
pub mod effective;
pub mod either;
pub mod exchange;
pub mod guard;
pub mod health;
pub mod holdings;
pub mod lease_sizes;
pub mod limit_terms;
pub mod metering;
pub mod numbers;
pub mod operator;
pub mod overload;
pub mod overrides;
pub mod policy;
pub mod preview;
pub mod problem;
pub mod registry;
pub mod replay;
pub mod report;
pub mod reserve;
pub mod role;
pub mod route;
pub mod rule_kind;
pub mod saved_policy;
mod section;
pub mod series;
pub mod settle;
pub mod shard_key;
pub mod shares;
pub mod stored;
pub mod telemetry;
pub mod tenant;
pub mod token_usage;
pub mod unique_map;
pub mod usage;
pub mod windows;
