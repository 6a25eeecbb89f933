//! Leasing a window's units down a tree of holders, such that what is admitted under one window label never exceeds
//! the limit, whatever is lost, repeated, delayed, reordered or killed. Each budget is one pool of units, and so is
//! each key of a global limit.
//!
//! | machine | where it runs | what it is |
//! | --- | --- | --- |
//! | [`holder::Holder`] | isolate, `Region` | the child's side of one pool: what it holds, its one message in flight |
//! | [`lender::Lender`] | `Region`, `Coordinator` | the parent's side: a row a holder, the watermark |
//! | [`escrow::Escrow`] | `Region` | a holder that lends on |
//! | [`pool::Pool`] | `Coordinator` | the window and the whole limit, lent from |
//! | [`schedule::Schedule`] | `Coordinator` | how windows follow each other |
//! | [`history::History`] | `Coordinator` | what earlier parts of a rolling window lent |

pub mod escrow;
pub mod history;
pub mod holder;
pub mod lease_size;
pub mod lender;
pub mod message;
pub mod pool;
pub mod pool_name;
pub mod schedule;
pub mod waiting;
pub mod window;
