//! The pages, one file each.

pub mod login;
pub mod not_found;
pub mod overview;
