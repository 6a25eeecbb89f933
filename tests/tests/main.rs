//! What the built Worker and its console promise, on the real runtime and in a real browser, as one program: it is
//! compiled and linked once.

mod agent;
mod authorize;
mod bad_input;
mod book;
mod branches;
mod check;
mod cli;
mod clients;
mod console;
mod containers;
mod corruption;
mod crash;
mod documented;
mod federation;
mod gateway;
mod harness;
mod idempotency;
mod ledger;
mod limits;
mod metering;
mod operator;
mod outage;
mod overload;
mod package;
mod prometheus;
mod registry;
mod security;
mod service_binding;
mod shares;
mod start;
mod traces;
mod upgrade;
mod weight;
