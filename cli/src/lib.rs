//! The command `weir`: a policy as code (validate, plan, apply, drift, export, import, replay, agreement), and a look at what a deployment
//! decides (tail, top), with its tokens.
//!
//! What is told is worked out by plain functions; what asks, reads and writes is thin.

pub mod agreement;
pub mod apply;
pub mod client;
pub mod clock;
pub mod completions;
pub mod credentials;
pub mod difference;
pub mod document;
pub mod drift;
pub mod ending;
pub mod export;
pub mod failure;
pub mod figures;
pub mod import;
pub mod lines;
pub mod log_line;
pub mod login;
pub mod man;
pub mod options;
pub mod output;
pub mod plan;
pub mod policy;
pub mod progress;
pub mod replay;
pub mod rollout;
pub mod run;
pub mod starvation;
pub mod table;
pub mod tail;
pub mod token;
pub mod top;
pub mod validate;
