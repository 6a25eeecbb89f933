//! What fair sharing promises, over drawn tenants, weights and requests.

mod bounds;
mod bounds_drawn;
mod complexity;
mod local;
mod max_min;
mod names;
mod promises;
mod scan;
mod tree;
mod world;
