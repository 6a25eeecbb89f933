//! The registry: the order in which it writes, tells and answers, and what it decides on rows as they are.

mod deaths;
mod log;
mod order;
mod policies;
mod sessions;
mod table;
mod tokens;
mod world;
