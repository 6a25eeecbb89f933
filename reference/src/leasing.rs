//! Federation by lease, reconcile, refill and release: the contract of other limiters, over Weir's rule that a unit is
//! spent only in the window that it was lent for.
//!
//! | part | what it does |
//! | --- | --- |
//! | [`Coordinator`] | lends each window's budget, one balance a key, and takes back what is left of an open window |
//! | [`RegionalEscrow`] | what one region's processes share of it |
//! | [`Engine`] | one process: decides from its own balance, asks the region and then the coordinator |
//!
//! **Safety.** Units leave a coordinator's balance before they reach an engine, and every balance names its window: the
//! coordinator lends for its open window alone, a refill or a grant that arrives after the roll is forfeited, and a
//! balance is dropped when its window is over. So what is admitted in a window is at most its budget, whichever clock
//! lags. A leftover is credited while its window is open at the coordinator, once for each region and window, and
//! never above what was lent.
//!
//! It is what Weir's own exchange is measured against: an unanswered lease is lost here, and a process that dies
//! strands what it held.

mod coordinator;
mod engine;
mod regional;

pub use coordinator::Coordinator;
pub use engine::{Engine, EngineSettings, Parents};
pub use regional::RegionalEscrow;

use weir_shared::invalid::{Fault, Invalid, within};
use weir_shared::limits::WINDOW_MS_MAX;
use weir_shared::units::EpochMs;
use weir_shared::wire::policy::{Algorithm, Cadence, LimitBody};

/// The beginning of a window, which names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WindowStart(pub EpochMs);

/// Windows of one length, which begin on its multiples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    window_ms: u64,
}

impl Windows {
    /// Windows of `window_ms`.
    ///
    /// # Errors
    /// `/window_ms` outside 1 to 400 days.
    pub fn new(window_ms: u64) -> Result<Self, Invalid> {
        let window_ms = within("/window_ms", window_ms, 1..=WINDOW_MS_MAX)?;
        Ok(Self { window_ms })
    }

    /// The windows of a limit: only one with windows can be leased, as a lease is bound to the end of one.
    ///
    /// # Errors
    /// `/algorithm` or `/cadence` that has none, or none of one length; `/anchor` other than 0; what is missing.
    ///
    /// ```
    /// use weir_reference::leasing::Windows;
    /// use weir_shared::invalid::read_json;
    /// let windows = |text: &str| Windows::of(&read_json(text.as_bytes()).unwrap());
    /// assert!(windows(r#"{"algorithm":"fixed_window","limit":10,"window_ms":1000}"#).is_ok());
    /// let refused = windows(r#"{"algorithm":"gcra","limit":10,"period_ms":1000}"#).unwrap_err();
    /// assert_eq!(refused.field, "/algorithm");
    /// ```
    pub fn of(body: &LimitBody) -> Result<Self, Invalid> {
        let length_ms = match (body.algorithm, body.cadence) {
            (Some(Algorithm::FixedWindow | Algorithm::SlidingWindow), _) => body.window_ms,
            (Some(Algorithm::Quota), Some(Cadence::Fixed | Cadence::Rolling)) => body.period_ms,
            (Some(Algorithm::Quota), _) => {
                return Err(unserved("/cadence", "fixed, rolling"));
            }
            _ => {
                return Err(unserved(
                    "/algorithm",
                    "fixed_window, sliding_window, quota",
                ));
            }
        };
        if body.anchor.is_some_and(|anchor| anchor != 0) {
            return Err(unserved("/anchor", "0"));
        }
        let field = match body.algorithm {
            Some(Algorithm::Quota) => "/period_ms",
            _ => "/window_ms",
        };
        Self::new(length_ms.ok_or_else(|| Invalid::new(field, Fault::Missing))?)
    }

    /// The window that is open at `now`.
    ///
    /// ```
    /// use weir_reference::leasing::{Windows, WindowStart};
    /// use weir_shared::units::EpochMs;
    /// let windows = Windows::new(1_000).unwrap();
    /// assert_eq!(windows.at(EpochMs(2_345)), WindowStart(EpochMs(2_000)));
    /// assert_eq!(windows.end(WindowStart(EpochMs(2_000))), EpochMs(3_000));
    /// ```
    #[must_use]
    pub fn at(self, now: EpochMs) -> WindowStart {
        let past_ms = now.0.checked_rem(self.window_ms).unwrap_or(0);
        WindowStart(EpochMs(now.0.saturating_sub(past_ms)))
    }

    /// The first millisecond after a window.
    #[must_use]
    pub fn end(self, window: WindowStart) -> EpochMs {
        window.0.plus(self.window_ms)
    }
}

fn unserved(field: &str, served: &'static str) -> Invalid {
    let got = "what has no windows of one length".to_owned();
    Invalid::new(field, Fault::Unserved { got, served })
}
