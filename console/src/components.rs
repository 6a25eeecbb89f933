//! The parts of pages. They show and pass on; what they show is worked out elsewhere.

pub mod announcer;
pub mod counts;
pub mod header;
pub mod live_control;
pub mod login_form;
pub mod notice;
pub mod regions;
pub mod tenant_detail;
pub mod tenant_row;
pub mod tenant_table;
pub mod tenants;
pub mod totals;
