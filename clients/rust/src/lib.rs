//! A client of Weir, a fair rate limiter: a decision by HTTP, and an explicit one while Weir is out of reach.
//!
//! ```no_run
//! # async fn example(url: &str, token: &str) -> Result<(), Box<dyn std::error::Error>> {
//! use weir_client::{Fail, Item, Options, Weir};
//!
//! let weir = Weir::new(Options::new(url, token, Fail::Open))?;
//! let decision = weir.check(Item::budget("tokens").cost(3).tenant("acme")).await?;
//! println!("{} left", decision.remaining);
//! # Ok(())
//! # }
//! ```

#![allow(
    clippy::result_large_err,
    reason = "a call over the network is none the slower for an error of 144 bytes, and plain fields are easier to match"
)]
#![forbid(unsafe_code)]

mod answer;
mod batch;
mod clock;
mod coalescer;
mod error;
mod hooks;
#[cfg(feature = "tower")]
mod layer;
mod options;
mod question;
mod reservation;
mod schedule;
mod scope;
mod slot;
mod transport;
mod unreachable;
mod weir;

pub use answer::{Decision, Place, Reason, Settled, SlotState};
pub use error::WeirError;
pub use hooks::{Hooks, RequestEvent, ResponseEvent};
#[cfg(feature = "tower")]
pub use layer::{Holding, WeirLayer, WeirService};
pub use options::{CallOptions, Fail, OptionError, Options};
pub use question::{Item, Question, ReportedOutcome};
pub use reservation::Reservation;
pub use scope::Outcome;
pub use slot::{Slot, SlotLost};
pub use weir::Weir;
