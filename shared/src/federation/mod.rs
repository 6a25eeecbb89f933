//! Leasing a window's budget down a tree of holders, such that what is admitted under one window label never
//! exceeds the limit, whatever is lost, repeated, delayed, reordered or killed.
//!
//! | machine | where it runs | what it is |
//! | --- | --- | --- |
//! | [`holder::Holder`] | isolate, `Region` | the child's side of one budget: what it holds, its one message in flight |
//! | [`lender::Lender`] | `Region`, `Coordinator` | the parent's side: a row a holder, the watermark |
//! | [`escrow::Escrow`] | `Region` | a holder that lends on |
//! | [`pool::Pool`] | `Coordinator` | the window and the whole limit, lent from |

pub mod escrow;
pub mod holder;
pub mod lease_size;
pub mod lender;
pub mod message;
pub mod pool;
pub mod waiting;
pub mod window;
