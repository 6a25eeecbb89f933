//! Gives everything that reads Weir's input what nobody meant it to read, and holds what is accepted to laws: what was
//! read and is written again reads the same, what was accepted is accepted again, what was sealed is changed by nobody.
//!
//! `cargo xtask fuzz` runs it for long; the tests run it for seconds.

pub mod driver;
pub mod mutate;
pub mod random;
pub mod targets;
