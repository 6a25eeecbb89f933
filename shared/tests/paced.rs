//! What the paced rule promises, on a clock that the tests step. `docs/src/explanation/fairness.md` has the proofs.

mod cost;
mod leases;
mod mixed_costs;
mod nested;
mod promises;
mod shares;
mod world;
