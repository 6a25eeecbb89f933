//! Who may do what: roles, the one table of all routes, tokens and sessions.

pub mod attendance;
pub mod bootstrap_secret;
pub mod credential;
pub mod ended;
pub mod endpoint;
pub mod grant;
pub mod guesses;
pub mod jwt;
pub mod login;
pub mod own_path;
pub mod refresh;
pub mod seal;
pub mod session;
pub mod stored;
pub mod table;
pub mod token;
pub mod turnstile;
pub mod uses;
pub mod verified;
pub mod wanted;
