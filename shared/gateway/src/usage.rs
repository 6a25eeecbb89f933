//! What an answer says was used, read while it passes by ([`reader`]), or the messages of a conversation ([`session`]), what a
//! request may use ([`request`]), and what that costs ([`tokens`]).

pub mod event_stream;
mod format;
pub mod json_scanner;
pub mod reader;
pub mod request;
pub mod session;
pub mod tokens;
