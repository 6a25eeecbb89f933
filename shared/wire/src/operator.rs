//! The operator API on the wire, one file a surface. Lists are answered a page at a time.

pub mod audit;
pub mod budgets;
pub mod costs;
pub mod decisions;
pub mod explained;
pub mod fairness;
pub mod live;
pub mod live_holder;
pub mod live_lines;
pub mod own;
pub mod page;
pub mod regions;
pub mod reset;
pub mod series;
pub mod session;
pub mod tenants;
pub mod tokens;

pub use fairness::{BudgetReport, FairnessReply, RegionReport, TenantReport};
pub use session::{Role, SessionReply, SessionRequest};
