//! The limiting algorithms, one file each, as pure transitions `(state, cost, now) -> (decision, state)`.

pub mod gcra;
