//! The parts of the simulator page.

pub mod outcome;
pub mod page;
pub mod shares;
pub mod source;
pub mod trace_field;
