//! FAIR (github.com/satmihir/fair), decision for decision: for comparison with it, and for whoever moves from it.
//!
//! It keeps what was measured of it, faults included: two clients that share two buckets share all of them, a client
//! at probability 1 reports nothing, and what is denied teaches nobody. Weir's own steering is [`weir_shared::overload::blue`].
//! Only in time it differs: a clock that steps back stands still here.

pub mod config;
pub mod structure;
pub mod tracker;
pub mod tuned;

pub use config::{Config, Fault};
pub use structure::Structure;
pub use tracker::Tracker;
