//! Leasing a window's units down a tree of holders, such that what is admitted under one window label never exceeds
//! the limit, whatever is lost, repeated, delayed, reordered or killed. Each budget is one pool of units, and so is
//! each key of a global limit.
//!
//! | machine | where it runs | what it is |
//! | --- | --- | --- |
//! | [`holder::Holder`] | isolate, `Region` | the child's side of one pool: what it holds, its one message in flight |
//! | [`lender::Lender`] | `Region`, `Coordinator` | the parent's side: a row a holder, the watermark |
//! | [`escrow::Escrow`] | `Region` | a holder that lends on |
//! | [`parent_status::ParentStatus`] | isolate, `Region` | what its parent said last of a tenant |
//! | [`tenant_balance::TenantBalance`] | isolate, `Region` | what a holder has of one tenant's units |
//! | [`ahead::Ahead`] | isolate, `Region` | what a holder has of a window to come |
//! | [`attribution::Attribution`] | `Region`, `Coordinator` | which tenants hold what of the units lent |
//! | [`pool::Pool`] | `Coordinator`; `Region` for its own budgets | the window and the whole limit, lent from |
//! | [`divide::Divide`] | `Region`, `Coordinator` | to whom a lender lends: whoever comes first, a share, or as was decided above |
//! | [`schedule::Schedule`] | `Coordinator` | how windows follow each other |
//! | [`history::History`] | `Coordinator` | what earlier parts of a rolling window lent |
//! | [`branch::Branches`] | `Region` | how many objects lie between a busy region's own and its isolates |
//! | [`partition::Partition`] | `Region` | static partition: an equal slice of the limit for each region |

pub mod ahead;
pub mod attribution;
pub mod branch;
pub mod closed;
pub mod divide;
pub mod escrow;
pub mod handover;
pub mod history;
pub mod holder;
pub mod lease_size;
pub mod lender;
pub mod message;
pub mod pace;
pub mod parent_status;
pub mod partition;
pub mod party;
pub mod pool;
pub mod pool_name;
pub mod schedule;
pub mod stored;
pub mod tenant_balance;
mod tenant_balances;
pub mod waiting;
