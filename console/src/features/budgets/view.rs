//! The page of the budgets, and their table.

pub mod page;
pub mod table;
