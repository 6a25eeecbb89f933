//! What the paced rule promises, on a clock that the tests step. FAIRNESS.md has the proofs.

#![cfg(not(target_arch = "wasm32"))]

mod cost;
mod leases;
mod nested;
mod promises;
mod shares;
mod world;
