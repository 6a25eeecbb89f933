//! What operators and tenants read: the counters of all regions put beside the policy. Pure: whoever asks the regions
//! brings their answers, and the time.

pub mod budgets;
pub mod costs;
pub mod decisions;
pub mod explained;
pub mod fairness;
pub mod feed;
pub mod guarantee;
pub mod lines;
pub mod metrics;
pub mod own;
pub mod regions;
pub mod series;
pub mod tenants;
pub mod tokens;
pub mod windows;
