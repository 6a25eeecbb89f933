//! The list of tenants.

mod feed;
mod filters;
mod head;
mod rows;
mod view;

pub use view::TenantList;
