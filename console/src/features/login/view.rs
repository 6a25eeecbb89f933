//! The login.

pub mod login_form;
pub mod page;
