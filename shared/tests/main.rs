//! The promises of the pure core, as one program: it is compiled and linked once.
//!
//! In a browser only the digests run; everything else needs what exists natively alone.

mod digest;
mod random;

#[cfg(not(target_arch = "wasm32"))]
mod access_routes;
#[cfg(not(target_arch = "wasm32"))]
mod agent;
#[cfg(not(target_arch = "wasm32"))]
mod algorithms;
#[cfg(not(target_arch = "wasm32"))]
mod allocations;
#[cfg(not(target_arch = "wasm32"))]
mod assertion;
#[cfg(not(target_arch = "wasm32"))]
mod audit;
#[cfg(not(target_arch = "wasm32"))]
mod audit_changes;
#[cfg(not(target_arch = "wasm32"))]
mod audit_summary;
#[cfg(not(target_arch = "wasm32"))]
mod book;
#[cfg(not(target_arch = "wasm32"))]
mod bounds_leased;
#[cfg(not(target_arch = "wasm32"))]
mod broken_rules;
#[cfg(not(target_arch = "wasm32"))]
mod calendar;
#[cfg(not(target_arch = "wasm32"))]
mod cap;
#[cfg(not(target_arch = "wasm32"))]
mod changed_algorithms;
#[cfg(not(target_arch = "wasm32"))]
mod check;
#[cfg(not(target_arch = "wasm32"))]
mod check_calls;
#[cfg(not(target_arch = "wasm32"))]
mod check_metering;
#[cfg(not(target_arch = "wasm32"))]
mod check_short;
#[cfg(not(target_arch = "wasm32"))]
mod composite;
#[cfg(not(target_arch = "wasm32"))]
mod composite_refused;
#[cfg(not(target_arch = "wasm32"))]
mod count;
#[cfg(not(target_arch = "wasm32"))]
mod deployment;
#[cfg(not(target_arch = "wasm32"))]
mod descriptors;
#[cfg(not(target_arch = "wasm32"))]
mod document;
#[cfg(not(target_arch = "wasm32"))]
mod doors;
#[cfg(not(target_arch = "wasm32"))]
mod drawn;
#[cfg(not(target_arch = "wasm32"))]
mod dual_token_bucket;
#[cfg(not(target_arch = "wasm32"))]
mod edited_slices;
#[cfg(not(target_arch = "wasm32"))]
mod edited_windows;
#[cfg(not(target_arch = "wasm32"))]
mod fairness;
#[cfg(not(target_arch = "wasm32"))]
mod federated;
#[cfg(not(target_arch = "wasm32"))]
mod federated_leasing;
#[cfg(not(target_arch = "wasm32"))]
mod federated_region_pool;
#[cfg(not(target_arch = "wasm32"))]
mod federated_sizer;
#[cfg(not(target_arch = "wasm32"))]
mod federated_world;
#[cfg(not(target_arch = "wasm32"))]
mod federation;
#[cfg(not(target_arch = "wasm32"))]
mod fixed_window;
#[cfg(not(target_arch = "wasm32"))]
mod frames;
#[cfg(not(target_arch = "wasm32"))]
mod gateway;
#[cfg(not(target_arch = "wasm32"))]
mod gcra;
#[cfg(not(target_arch = "wasm32"))]
mod holdings;
#[cfg(not(target_arch = "wasm32"))]
mod json;
#[cfg(not(target_arch = "wasm32"))]
mod leaky_bucket;
#[cfg(not(target_arch = "wasm32"))]
mod leaky_places;
#[cfg(not(target_arch = "wasm32"))]
mod lease_costs;
#[cfg(not(target_arch = "wasm32"))]
mod ledger;
#[cfg(not(target_arch = "wasm32"))]
mod limit;
#[cfg(not(target_arch = "wasm32"))]
mod limit_refused;
#[cfg(not(target_arch = "wasm32"))]
mod machines;
#[cfg(not(target_arch = "wasm32"))]
mod memory;
#[cfg(not(target_arch = "wasm32"))]
mod messages;
#[cfg(not(target_arch = "wasm32"))]
mod metering;
#[cfg(not(target_arch = "wasm32"))]
mod model;
#[cfg(not(target_arch = "wasm32"))]
mod nodes;
#[cfg(not(target_arch = "wasm32"))]
mod numbers;
#[cfg(not(target_arch = "wasm32"))]
mod outage;
#[cfg(not(target_arch = "wasm32"))]
mod overload;
#[cfg(not(target_arch = "wasm32"))]
mod overload_blue;
#[cfg(not(target_arch = "wasm32"))]
mod overload_blue_shared;
#[cfg(not(target_arch = "wasm32"))]
mod overload_fairness;
#[cfg(not(target_arch = "wasm32"))]
mod overload_placement;
#[cfg(not(target_arch = "wasm32"))]
mod overload_scenarios;
#[cfg(not(target_arch = "wasm32"))]
mod overload_simulation;
#[cfg(not(target_arch = "wasm32"))]
mod own_paths;
#[cfg(not(target_arch = "wasm32"))]
mod owners;
#[cfg(not(target_arch = "wasm32"))]
mod paced;
#[cfg(not(target_arch = "wasm32"))]
mod partition_changes;
#[cfg(not(target_arch = "wasm32"))]
mod policy;
#[cfg(not(target_arch = "wasm32"))]
mod policy_bounds;
#[cfg(not(target_arch = "wasm32"))]
mod policy_changes;
#[cfg(not(target_arch = "wasm32"))]
mod policy_effective;
#[cfg(not(target_arch = "wasm32"))]
mod policy_metering;
#[cfg(not(target_arch = "wasm32"))]
mod policy_overrides;
#[cfg(not(target_arch = "wasm32"))]
mod policy_overrides_refused;
#[cfg(not(target_arch = "wasm32"))]
mod policy_overrides_terms;
#[cfg(not(target_arch = "wasm32"))]
mod policy_patch;
#[cfg(not(target_arch = "wasm32"))]
#[cfg(not(target_arch = "wasm32"))]
mod policy_refused;
#[cfg(not(target_arch = "wasm32"))]
mod policy_sharing;
#[cfg(not(target_arch = "wasm32"))]
mod policy_tenants;
#[cfg(not(target_arch = "wasm32"))]
mod pooled;
#[cfg(not(target_arch = "wasm32"))]
mod preview;
#[cfg(not(target_arch = "wasm32"))]
mod quota;
#[cfg(not(target_arch = "wasm32"))]
mod refresh;
#[cfg(not(target_arch = "wasm32"))]
mod refund;
#[cfg(not(target_arch = "wasm32"))]
mod refusal;
#[cfg(not(target_arch = "wasm32"))]
mod registry;
#[cfg(not(target_arch = "wasm32"))]
mod replay;
#[cfg(not(target_arch = "wasm32"))]
mod repository;
#[cfg(not(target_arch = "wasm32"))]
mod rolling;
#[cfg(not(target_arch = "wasm32"))]
mod scale;
#[cfg(not(target_arch = "wasm32"))]
mod sessions;
#[cfg(not(target_arch = "wasm32"))]
mod shard;
#[cfg(not(target_arch = "wasm32"))]
mod shard_reset;
#[cfg(not(target_arch = "wasm32"))]
mod shares;
#[cfg(not(target_arch = "wasm32"))]
mod simulator;
#[cfg(not(target_arch = "wasm32"))]
mod sliding_log;
#[cfg(not(target_arch = "wasm32"))]
mod sliding_window;
#[cfg(not(target_arch = "wasm32"))]
mod soak;
#[cfg(not(target_arch = "wasm32"))]
mod spare_slots;
#[cfg(not(target_arch = "wasm32"))]
mod standings;
#[cfg(not(target_arch = "wasm32"))]
mod time_zones;
#[cfg(not(target_arch = "wasm32"))]
mod token_bucket;
#[cfg(not(target_arch = "wasm32"))]
mod tokens;
#[cfg(not(target_arch = "wasm32"))]
mod trace_replay;
#[cfg(not(target_arch = "wasm32"))]
mod vectors;
#[cfg(not(target_arch = "wasm32"))]
mod wire;
#[cfg(not(target_arch = "wasm32"))]
mod wire_access;
#[cfg(not(target_arch = "wasm32"))]
mod wire_claims;
#[cfg(not(target_arch = "wasm32"))]
mod wire_internal;
#[cfg(not(target_arch = "wasm32"))]
mod wire_keys;
#[cfg(not(target_arch = "wasm32"))]
mod wire_operator;
#[cfg(not(target_arch = "wasm32"))]
mod wire_registry;
#[cfg(not(target_arch = "wasm32"))]
mod wire_shares;
#[cfg(not(target_arch = "wasm32"))]
mod wire_sharing;
#[cfg(not(target_arch = "wasm32"))]
mod wire_versions;
#[cfg(not(target_arch = "wasm32"))]
mod worked_examples;
