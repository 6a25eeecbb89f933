//! The page of one tenant, in parts.

mod accounting;
mod choose;
mod edit;
mod facts;
mod form;
mod numbers;
mod overrides;
pub mod page;
mod policy;
mod reset;
mod tenant;
mod totals;
mod why;

pub use tenant::{DenialView, TenantView};
