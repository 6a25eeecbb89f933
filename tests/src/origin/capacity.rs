//! An origin that serves so many requests a second.

use std::time::Instant;

/// Requests a second that are served: a bucket of one second's, so that what comes late and at once is served.
#[derive(Debug)]
pub(super) struct Capacity {
    pub(super) per_s: Option<f64>,
    pub(super) left: f64,
    pub(super) at: Instant,
}

impl Capacity {
    /// Whether one more is served.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let Some(per_s) = self.per_s else {
            return true;
        };
        let gained = now.duration_since(self.at).as_secs_f64() * per_s;
        self.left = (self.left + gained).min(per_s.max(1.0));
        self.at = now;
        let served = self.left >= 1.0;
        if served {
            self.left -= 1.0;
        }
        served
    }
}
