//! Units of windows to come: lent before a window opens, so that nobody waits at its beginning, and standing slices
//! for the time in which a coordinator is out of reach.
//!
//! They are one number a window for the whole holder. The parent counts them as lent in their window from the moment
//! they are promised.

use serde::{Deserialize, Serialize};
use weir_core::limits::EARLY_MS_MAX;
use weir_core::units::{EpochMs, WindowLabel};
use weir_wire::exchange::AheadBody;

/// Units of one window to come, on the holder's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ahead {
    /// The window.
    pub label: WindowLabel,
    /// When it opens: at most so much before it truly does as [`Ahead::told`] says.
    pub starts_at: EpochMs,
    /// When it ends, never after its true end.
    pub ends_at: EpochMs,
    /// Units of it that the holder has.
    pub units: u64,
    /// Units of those that it has lent on.
    pub lent: u64,
}

impl Ahead {
    /// As a parent told it at some time between `sent_at`, when it was asked, and `now`.
    ///
    /// Its end is counted from the sending: it is never after the true end. Its beginning would be never before the true
    /// one if it were counted from the receipt; but then every holder would have to wait a round trip between two
    /// windows. So it is counted earlier, by the round trip, but by no more than [`EARLY_MS_MAX`] and a sixteenth of the
    /// window. A parent that has a parent itself tells a window that is longer by as much as it begins too early there:
    /// at most by a sixteenth. A seventeenth of that is a sixteenth of the window.
    #[must_use]
    pub fn told(body: &AheadBody, sent_at: EpochMs, now: EpochMs) -> Self {
        let span_ms = body.ends_ms.saturating_sub(body.starts_ms);
        let early_ms = now.since(sent_at).min(EARLY_MS_MAX).min(span_ms / 17);
        Self {
            label: body.label,
            starts_at: EpochMs(now.plus(body.starts_ms).0.saturating_sub(early_ms)),
            ends_at: sent_at.plus(body.ends_ms),
            units: body.units,
            lent: 0,
        }
    }

    /// Whether its window is open.
    #[must_use]
    pub fn open(&self, now: EpochMs) -> bool {
        self.starts_at <= now && now < self.ends_at
    }

    /// Its length.
    #[must_use]
    pub fn span_ms(&self) -> u64 {
        self.ends_at.since(self.starts_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_to_come_is_open_from_its_beginning_until_its_end() {
        let ahead = Ahead {
            label: WindowLabel(8),
            starts_at: EpochMs(60_000),
            ends_at: EpochMs(120_000),
            units: 5,
            lent: 0,
        };
        assert_eq!(ahead.span_ms(), 60_000);
        let open = |now| ahead.open(EpochMs(now));
        assert_eq!(
            [59_999, 60_000, 119_999, 120_000].map(open),
            [false, true, true, false]
        );
    }

    #[test]
    fn a_window_is_told_to_begin_earlier_by_the_round_trip_within_its_bounds() {
        let told = |length_ms: u64, round_trip_ms: u64| {
            let body = AheadBody {
                label: WindowLabel(8),
                starts_ms: 1_000,
                ends_ms: 1_000 + length_ms,
                units: 5,
            };
            let now = EpochMs(10_000 + round_trip_ms);
            let ahead = Ahead::told(&body, EpochMs(10_000), now);
            // Its end is counted from the sending.
            assert_eq!(ahead.ends_at, EpochMs(11_000 + length_ms));
            now.plus(1_000).since(ahead.starts_at)
        };
        let round_trips = [0, 100, EARLY_MS_MAX, EARLY_MS_MAX + 1];
        assert_eq!(
            round_trips.map(|ms| told(60_000, ms)),
            [0, 100, EARLY_MS_MAX, EARLY_MS_MAX]
        );
        // A seventeenth of 170 ms.
        assert_eq!([9, 10, 11].map(|ms| told(170, ms)), [9, 10, 10]);
    }

    #[test]
    fn at_two_depths_a_window_begins_too_early_by_two_sixteenths_of_it_at_most() {
        for length_ms in [160, 1_500, 2_000, 3_000, 60_000] {
            let late_ms = 10 * length_ms;
            let told = |body: &AheadBody| Ahead::told(body, EpochMs(0), EpochMs(late_ms));
            let starts_ms = 1_000;
            let truly = AheadBody {
                label: WindowLabel(8),
                starts_ms,
                ends_ms: starts_ms + length_ms,
                units: 5,
            };
            let region = told(&truly);
            let early_ms = late_ms + starts_ms - region.starts_at.0;
            let isolate = told(&AheadBody {
                starts_ms: starts_ms - early_ms,
                ..truly
            });
            let early_ms = late_ms + starts_ms - isolate.starts_at.0;
            assert!(
                early_ms <= 2 * (length_ms / 16).min(EARLY_MS_MAX),
                "{early_ms} of {length_ms}"
            );
        }
    }
}
