//! How a sliding window is cut into sub-buckets that are aligned to the epoch.
//!
//! A sub-bucket is `window_ms / buckets` long, which need not be whole milliseconds. Time is therefore counted in
//! `1 / buckets` of a millisecond: its position, of which each sub-bucket has `window_ms`.

use serde::{Deserialize, Serialize};
use weir_core::limits::{SLIDING_BUCKETS_MAX, WINDOW_MS_MAX};
use weir_core::units::EpochMs;

use super::meter::saturated;
use super::runs::{Excess, Runs};

/// `buckets` (1 to 100,000) parts of a window of `window_ms` (1 ms to 400 days).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; 2]", into = "[u64; 2]")]
pub(super) struct Slots {
    pub window_ms: u64,
    pub buckets: u64,
}

impl Slots {
    /// The number of the sub-bucket that `at` lies in.
    pub fn bucket(self, at: EpochMs) -> u64 {
        saturated(self.position(at) / u128::from(self.window_ms))
    }

    /// The millisecond that a sub-bucket starts in.
    pub fn start_ms(self, bucket: u64) -> i64 {
        let ms = self.start(u128::from(bucket)) / u128::from(self.buckets);
        i64::try_from(ms).unwrap_or(i64::MAX)
    }

    /// The first millisecond after a sub-bucket.
    pub fn end(self, bucket: u64) -> EpochMs {
        self.ms(self.start(u128::from(bucket) + 1))
    }

    /// The first millisecond at which nothing of a sub-bucket counts any more.
    pub fn left_at(self, bucket: u64) -> EpochMs {
        self.end(bucket).plus(self.window_ms)
    }

    /// What the trailing window still covers of `units` in the oldest sub-bucket, rounded up.
    pub fn covered(self, units: u64, at: EpochMs) -> u64 {
        let window = u128::from(self.window_ms);
        let elapsed = self.position(at) % window;
        saturated((u128::from(units) * (window - elapsed)).div_ceil(window))
    }

    /// The first millisecond at which at most `room` of `counts` count.
    pub fn free_at(self, counts: &Runs, room: u64) -> EpochMs {
        let Some(Excess { run, stay }) = counts.excess(room) else {
            return EpochMs(0);
        };
        // Of this sub-bucket, `stay` may count: units * (window - elapsed) <= stay * window.
        let window = u128::from(self.window_ms);
        let elapsed = window - u128::from(stay) * window / u128::from(run.units);
        let oldest_from = self.start(u128::from(run.mark) + u128::from(self.buckets));
        self.ms(oldest_from + elapsed)
    }

    /// Time in `1 / buckets` of a millisecond.
    fn position(self, at: EpochMs) -> u128 {
        u128::from(at.0) * u128::from(self.buckets)
    }

    /// Where a sub-bucket starts.
    fn start(self, bucket: u128) -> u128 {
        bucket * u128::from(self.window_ms)
    }

    /// The first millisecond at or after a position.
    fn ms(self, position: u128) -> EpochMs {
        EpochMs(saturated(position.div_ceil(u128::from(self.buckets))))
    }
}

impl From<[u64; 2]> for Slots {
    /// Both are within their bounds, whatever was stored: the arithmetic above relies on it.
    fn from([window_ms, buckets]: [u64; 2]) -> Self {
        Self {
            window_ms: window_ms.clamp(1, WINDOW_MS_MAX),
            buckets: buckets.clamp(1, SLIDING_BUCKETS_MAX),
        }
    }
}

impl From<Slots> for [u64; 2] {
    fn from(slots: Slots) -> Self {
        [slots.window_ms, slots.buckets]
    }
}
