//! What the overview says: who is denied and why, in plain words, and what decisions cost.

pub mod costs;
pub mod denials;
pub mod money;
pub mod now;
pub mod verdict;
