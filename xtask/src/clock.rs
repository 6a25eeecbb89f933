//! The clock of this crate: it runs natively, where the monotonic clock is at hand.

use std::fmt;
use std::time::{Duration, Instant, SystemTime};

/// The time of day, as files have it.
#[expect(
    clippy::disallowed_methods,
    reason = "the ban is for wasm32; this crate runs natively only"
)]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

/// Measures how long something took.
#[derive(Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(
        clippy::disallowed_methods,
        reason = "the ban is for wasm32; this crate runs natively only"
    )]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Elapsed {
        Elapsed(self.0.elapsed())
    }
}

/// A duration as a person reads it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Elapsed(pub(crate) Duration);

impl fmt::Display for Elapsed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let text = if seconds < 60 {
            format!("{:.1} s", self.0.as_secs_f64())
        } else {
            format!("{} min {:02} s", seconds / 60, seconds % 60)
        };
        out.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        let check = |millis, expected: &str| {
            assert_eq!(Elapsed(Duration::from_millis(millis)).to_string(), expected);
        };
        check(0, "0.0 s");
        check(1_240, "1.2 s");
        check(60_000, "1 min 00 s");
        check(252_900, "4 min 12 s");
    }

    #[test]
    fn durations_align() {
        let second = Elapsed(Duration::from_secs(1));
        assert_eq!(format!("{second:>8}"), "   1.0 s");
    }
}
