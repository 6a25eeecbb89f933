//! What fair sharing promises, over drawn tenants, weights and requests.

mod complexity;
mod local;
mod max_min;
mod names;
mod promises;
mod scan;
mod tree;
mod world;
