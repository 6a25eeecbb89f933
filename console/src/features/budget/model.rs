//! What is shown of budgets: how full they are, who has what of a window, and where its units are.

pub mod history;
pub mod holdings;
pub mod pick;
pub mod query;
pub mod water_fill;
