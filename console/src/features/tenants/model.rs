//! The list of tenants: what is asked for, which rows are on the screen, and what each has been doing.

pub mod busiest;
pub mod column;
pub mod query;
pub mod rows;
pub mod trend;
pub mod virtual_rows;
