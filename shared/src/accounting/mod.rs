//! Counting every decided unit once: tallies, frames that carry them, and the ledger that keeps them.

pub mod counters;
pub mod frame;
pub mod ledger;
pub mod report;
