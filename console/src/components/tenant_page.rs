//! The page of one tenant, in parts.

mod accounting;
mod choose;
mod edit;
mod facts;
mod form;
mod numbers;
mod overrides;
mod policy;
mod reset;
mod totals;
mod view;
mod why;

pub use view::{DenialView, TenantView};
