//! Tokens and roles: what each role permits, which tokens are listed, and what a new one is to be.

pub mod draft;
pub mod query;
pub mod roles;
pub mod row;
