//! The live tail of decisions: which of them are looked at, and when the list stands still.

pub mod filter;
pub mod watch;
