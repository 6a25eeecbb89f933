//! The parts of the activity page.

pub mod filters;
pub mod log;
pub mod page;
pub mod record;
pub mod records;
pub mod revert;
pub mod verify;
