//! What happens, as it happens: one socket a region, what came over them, and how alive it all is.

pub mod feed;
pub mod link;
pub mod machine;
pub mod message;
pub mod rates;
pub mod skew;
pub mod state;
pub mod tail;

pub use state::{LiveState, Phase};
