//! Who may do what: roles, and the one table of all routes.

pub mod endpoint;
pub mod grant;
pub mod jwt;
pub mod login;
pub mod refresh;
pub mod role;
pub mod table;
pub mod token;
pub mod uses;
pub mod verified;
pub mod wanted;
