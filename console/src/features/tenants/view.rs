//! The list of tenants.

mod feed;
mod filters;
mod head;
mod list;
pub mod page;
mod rows;

pub use list::TenantList;
