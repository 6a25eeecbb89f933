//! Fairness without quotas: who is denied while a resource is overloaded. Nothing is denied until it fails.

pub mod blue;
pub mod combine;
pub mod config;
pub mod decay;
pub mod fair_rate;
pub mod hub;
pub mod merging;
pub mod outbox;
pub mod packed;
mod placed;
pub mod placement;
pub mod resource;
pub mod slots;
pub mod steering;
pub mod tuning;
pub mod usage;
