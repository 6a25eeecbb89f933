//! The gateway's decisions: which route takes a request, whose it is, what it is charged, how its end counts, and what
//! of it is forwarded. What it knows of a request is [`facts::Facts`]; nothing here sends or reads anything.

pub mod address;
pub mod client_address;
pub mod cost;
pub mod described;
pub mod error_form;
pub mod facts;
pub mod fallback;
pub mod forwarding;
pub mod models;
pub mod outcome;
pub mod path;
pub mod problem;
pub mod provider_limits;
pub mod question;
pub mod router;
pub mod seats;
pub mod tenant;
pub mod usage;
pub mod verdict;
pub mod waiters;
pub mod websocket;
