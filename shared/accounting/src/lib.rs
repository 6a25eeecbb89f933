//! Counting every decided unit once: tallies, frames that carry them, and the ledger that keeps them.

pub mod books;
pub mod counters;
pub mod demand;
pub mod fairness_index;
pub mod frame;
pub mod guarantee;
pub mod interval;
pub mod ledger;
pub mod lost;
pub mod pending;
pub mod pick;
pub mod reservations;
pub mod reserved;
pub mod settled;
pub mod windows;
