//! What another policy would have done: what is played, against which two policies, and what came of it.

pub mod against;
pub mod query;
pub mod question;
pub mod results;
pub mod share;
pub mod unplayed;
