//! The program `weir-agent` decides beside a proxy. To a deployment of Weir it is what an isolate is to its region: it
//! leases units of budgets, decides from them without asking anybody, and hands over what it has counted. What decides and
//! what exchanges are the machines of `weir_shared`, as in the Worker.
//!
//! One thread does everything, as in an isolate: its state needs no lock, and the other cores are the proxy's.

pub mod agent;
pub mod charge;
pub mod check;
pub mod clock;
pub mod contact;
pub mod deployment;
pub mod envoy;
pub mod listen;
pub mod options;
pub mod report;
pub mod run;
pub mod serve;
pub mod state;
