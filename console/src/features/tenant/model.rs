//! One tenant: what is asked of its page, what counts for it, why it was denied, and how it is changed.

pub mod bound;
pub mod bounded_weight;
pub mod claim_change;
pub mod claims;
pub mod conflict;
pub mod counted;
pub mod denial;
pub mod draft;
pub mod effective_rows;
pub mod explanation;
pub mod file;
pub mod numbers;
pub mod override_draft;
pub mod query;
pub mod reach;
pub mod reset;
pub mod share;
pub mod totals;
pub mod when;
