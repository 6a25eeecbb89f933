//! Times that are exact where a millisecond is not: whole milliseconds, and ticks of which each limit has its own number
//! in a millisecond.
//!
//! Sums and differences carry between the two, as hours and minutes do. So they need no division, and 64 bits are
//! enough for each at any rate.

use weir_core::units::EpochMs;

/// A point in time or a length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FineMs {
    /// Whole milliseconds.
    pub ms: u64,
    /// The rest: fewer ticks than a millisecond has.
    pub ticks: u64,
}

impl FineMs {
    /// A whole millisecond.
    #[inline]
    pub fn whole(at: EpochMs) -> Self {
        Self { ms: at.0, ticks: 0 }
    }

    /// This and `other` together, where a millisecond has `ticks_per_ms`. `other` may have a full one in its ticks.
    #[inline]
    pub fn plus(self, other: Self, ticks_per_ms: u64) -> Self {
        let ms = self.ms.saturating_add(other.ms);
        let missing = ticks_per_ms.saturating_sub(other.ticks);
        match self.ticks.checked_sub(missing) {
            Some(ticks) => Self {
                ms: ms.saturating_add(1),
                ticks,
            },
            // They are short of a millisecond, so that this is no overflow.
            None => Self {
                ms,
                ticks: self.ticks + other.ticks,
            },
        }
    }

    /// Whether this comes after `other`.
    #[inline]
    pub fn is_after(self, other: Self) -> bool {
        let order = |time: Self| u128::from(time.ms) << 64 | u128::from(time.ticks);
        order(self) > order(other)
    }

    /// The first whole millisecond that does not come before this.
    #[inline]
    pub fn ceil(self) -> EpochMs {
        EpochMs(self.ms.saturating_add(u64::from(self.ticks > 0)))
    }

    /// Milliseconds from `earlier` to this, rounded up; 0 when `earlier` is not earlier.
    #[inline]
    pub fn ms_since(self, earlier: Self) -> u64 {
        let started = u64::from(self.ticks > earlier.ticks);
        self.ms.saturating_add(started).saturating_sub(earlier.ms)
    }

    /// Ticks from `earlier` to this; 0 when `earlier` is not earlier.
    #[inline]
    pub fn ticks_since(self, earlier: Self, ticks_per_ms: u64) -> u128 {
        let Some(ms) = self.ms.checked_sub(earlier.ms) else {
            return 0;
        };
        let to = u128::from(ms) * u128::from(ticks_per_ms) + u128::from(self.ticks);
        to.saturating_sub(u128::from(earlier.ticks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PER_MS: [u64; 4] = [1, 3, 1_000, u64::MAX];

    fn fine(ms: u64, ticks: u64) -> FineMs {
        FineMs { ms, ticks }
    }

    /// Pairs of times around a carry.
    fn pairs(ticks_per_ms: u64) -> Vec<(FineMs, FineMs)> {
        let last = ticks_per_ms - 1;
        let ticks = [0, 1, last / 2, last.saturating_sub(1), last];
        let ticks = ticks.into_iter().filter(|ticks| *ticks < ticks_per_ms);
        let times: Vec<_> = ticks
            .flat_map(|ticks| [fine(0, ticks), fine(7, ticks), fine(8, ticks)])
            .collect();
        let pair = |one: &FineMs| times.iter().map(|other| (*one, *other)).collect::<Vec<_>>();
        times.iter().flat_map(pair).collect()
    }

    fn ticks(time: FineMs, ticks_per_ms: u64) -> u128 {
        u128::from(time.ms) * u128::from(ticks_per_ms) + u128::from(time.ticks)
    }

    #[test]
    fn it_counts_like_one_number_of_ticks() {
        for per_ms in PER_MS {
            for (one, other) in pairs(per_ms) {
                let (a, b) = (ticks(one, per_ms), ticks(other, per_ms));
                let sum = one.plus(other, per_ms);
                assert_eq!(ticks(sum, per_ms), a + b, "{one:?} + {other:?}, {per_ms}");
                assert!(sum.ticks < per_ms);
                assert_eq!(one.is_after(other), a > b);
                assert_eq!(one.ticks_since(other, per_ms), a.saturating_sub(b));
                let ms = a.saturating_sub(b).div_ceil(u128::from(per_ms));
                assert_eq!(u128::from(one.ms_since(other)), ms, "{one:?} - {other:?}");
                let ceil = a.div_ceil(u128::from(per_ms));
                assert_eq!(u128::from(one.ceil().0), ceil);
            }
        }
    }

    #[test]
    fn a_full_millisecond_of_ticks_carries() {
        assert_eq!(fine(5, 0).plus(fine(0, 3), 3), fine(6, 0));
        assert_eq!(fine(5, 2).plus(fine(1, 3), 3), fine(7, 2));
    }

    #[test]
    fn the_end_of_time_is_no_overflow() {
        let end = fine(u64::MAX, 2);
        assert_eq!(end.plus(fine(1, 2), 3).ms, u64::MAX);
        assert_eq!(end.ceil(), EpochMs(u64::MAX));
        assert_eq!(end.ms_since(fine(0, 0)), u64::MAX);
    }
}
